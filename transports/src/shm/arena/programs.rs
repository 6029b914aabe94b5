//! Memory that the library allocates for programs.

use super::Arena;
use super::alloc::ALIGN;
use crate::segment::Location;
use crate::sys::memory::PAGE;

impl Arena {
    /// Memory for the program that peers can read in place, at a multiple of 64 bytes and of `align`, a power of
    /// two, or `None` if the arena has no room for it, or begins at no such multiple itself.
    pub(crate) fn allocate(&mut self, len: usize, align: usize) -> Option<*mut u8> {
        if align > PAGE {
            return None;
        }
        let (len, align) = (len as u64, ALIGN.max(align as u64));
        let mut offset = self.allocator.take(len, align);
        if offset.is_none() && self.give_back_parts() {
            offset = self.allocator.take(len, align);
        }
        let offset = offset?;
        match self.allocated(offset, len) {
            Ok(at) => Some(at),
            Err(error) => {
                tracing::debug!(%error, len, "memory for the program cannot be shared");
                self.give_back(offset);
                None
            }
        }
    }

    /// The bytes that [`Arena::allocate`] has set aside there, which are at least as many as were asked for.
    pub(crate) fn allocated_len(&self, address: *const u8) -> Option<usize> {
        let offset = self.offset_of(address, 0)?;
        self.allocator.len_of(offset).map(|len| len as usize)
    }

    /// Takes back what [`Arena::allocate`] gave. Whether it was such memory.
    pub(crate) fn free(&mut self, address: *mut u8) -> bool {
        self.offset_of(address, 0).is_some_and(|offset| self.give_back(offset))
    }

    /// Takes back memory for programs; whether any begins at this offset.
    pub(super) fn give_back(&mut self, offset: u64) -> bool {
        let Some((from, len)) = self.allocator.give(offset) else { return false };
        self.release(from, len);
        true
    }

    /// Where bytes of this process lie, as its peers call it.
    pub(in crate::shm) fn location(&self, address: *const u8, len: u64) -> Location {
        let offset = self.offset_of(address, len).map_or(0, |offset| offset + 1);
        Location { address: address.expose_provenance() as u64, offset }
    }
}
