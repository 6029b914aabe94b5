//! Memory that the library allocates for programs, in its own arena and in those of peers.

use mpi_core::port::PeerId;

use super::alloc::ALIGN;
use crate::shm::Shm;
use crate::sys::memory::PAGE;

impl Shm {
    /// Memory for the program that peers can read in place, at a multiple of 64 bytes and of `align`, a power of
    /// two, or `None` if the arena has no room for it, or begins at no such multiple itself.
    pub fn allocate(&mut self, len: usize, align: usize) -> Option<*mut u8> {
        if align > PAGE {
            return None;
        }
        let (len, align) = (len as u64, ALIGN.max(align as u64));
        let mut offset = self.allocator.take(len, align);
        if offset.is_none() && self.give_back_parts() {
            offset = self.allocator.take(len, align);
        }
        let offset = offset?;
        match self.arena.allocated(offset, len) {
            Ok(at) => Some(at),
            Err(error) => {
                tracing::debug!(%error, len, "memory for the program cannot be shared");
                self.give_back(offset);
                None
            }
        }
    }

    /// The bytes that [`Shm::allocate`] has set aside there, which are at least as many as were asked for.
    pub fn allocated_len(&self, address: *const u8) -> Option<usize> {
        let offset = self.arena.offset_of(address, 0)?;
        self.allocator.len_of(offset).map(|len| len as usize)
    }

    /// Takes back what [`Shm::allocate`] gave. Whether it was such memory.
    pub fn free(&mut self, address: *mut u8) -> bool {
        self.arena.offset_of(address, 0).is_some_and(|offset| self.give_back(offset))
    }

    /// Takes back memory for programs; whether any begins at this offset.
    pub(super) fn give_back(&mut self, offset: u64) -> bool {
        let Some((from, len)) = self.allocator.give(offset) else { return false };
        self.arena.release(from, len);
        true
    }

    /// The offset of `len` bytes at `address` in the arena, if they are memory that
    /// [`Shm::allocate`] gave: what a peer can name in [`Shm::peer_memory`].
    pub fn offset_of(&self, address: *const u8, len: u64) -> Option<u64> {
        self.arena.offset_of(address, len)
    }

    /// Where `len` bytes at an offset of `peer`'s arena lie in this address space; `None` when
    /// not connected or outside the memory for programs.
    pub fn peer_memory(&mut self, peer: PeerId, offset: u64, len: u64) -> Option<*mut u8> {
        let remote = self.peers.get_mut(peer.0 as usize)?.remote.as_mut()?;
        let at = remote.allocated(offset, len);
        at.inspect_err(|error| tracing::debug!(%error, "memory of a peer cannot be seen")).ok()
    }
}
