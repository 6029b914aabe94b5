//! Large messages fetched by their receiver: in place when they lie in the sender's arena, else
//! out of the sender's address space, if the kernel lets it.

use std::io;

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::port::{Offer, PeerId, Pulled};

use super::{Bulk, Shm};
use crate::sys::cma;

/// Bytes fetched at a time for a destination that is not one run of memory.
const BOUNCE_BYTES: usize = 64 << 10;

impl Shm {
    /// How a peer could fetch bytes of this process. Whether it may is for the peer to find
    /// out; what is slower than the pipeline is not offered.
    pub(super) fn offer_bytes(&self, address: *const u8, len: u64) -> Offer {
        let arena = self.arena.offset_of(address, len).map_or(0, |offset| offset + 1);
        let shm = &self.config.shm;
        let cross = match shm.bulk {
            Bulk::Auto => self.waiter.is_crowded() || len >= shm.cross_memory_bytes,
            Bulk::CrossMemory => true,
            Bulk::Pipeline => false,
        };
        Offer { address: if cross { address as u64 } else { 0 }, arena }
    }

    /// Fetches what a peer offered (see [`mpi_core::port::Transport::pull`]).
    pub(super) fn pull_bytes(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
    ) -> Pulled {
        let Some(from) = self.peers.get(peer.0 as usize) else { return Pulled::Unavailable };
        let Some(remote) = &from.remote else { return Pulled::Unavailable };
        if let Some(offset) = offer.arena.checked_sub(1)
            && let Some(bytes) = remote.allocated(offset, len)
        {
            // SAFETY: `allocated` checked the range against the mapping; the destination is the
            // caller's, who owns the request.
            unsafe { to.unpack_from(RawBytes::new(bytes, len as usize)) };
            self.counters.bytes_in_place += len;
            return Pulled::Done;
        }
        let Some(pid) = from.readable else { return Pulled::Unavailable };
        if offer.address == 0 || self.config.shm.bulk == Bulk::Pipeline {
            return Pulled::Unavailable;
        }
        let mut trial = to.clone();
        match self.read_across(pid, offer.address, len, &mut trial) {
            Ok(()) => {
                *to = trial;
                self.counters.bytes_cross_memory += len;
                Pulled::Done
            }
            Err(error) => {
                tracing::info!(rank = from_rank(self, peer), %error, "cross-memory copy failed");
                self.peers[peer.0 as usize].readable = None;
                Pulled::Unavailable
            }
        }
    }

    fn read_across(&mut self, pid: i32, from: u64, len: u64, to: &mut Unpacker) -> io::Result<()> {
        let len = len.min(to.remaining());
        if let Some((at, room)) = to.as_contiguous() {
            let len = len.min(room) as usize;
            // SAFETY: the request's memory is writable for `room` bytes.
            return unsafe { cma::read_exact(pid, from, at, len) };
        }
        self.bounce.resize(BOUNCE_BYTES, 0);
        let mut done = 0;
        while done < len {
            let n = (len - done).min(BOUNCE_BYTES as u64) as usize;
            // SAFETY: the bounce buffer has `BOUNCE_BYTES` bytes.
            unsafe { cma::read_exact(pid, from + done, self.bounce.as_mut_ptr(), n)? };
            // SAFETY: the request's memory is writable.
            unsafe { to.unpack_from(RawBytes::from(&self.bounce[..n])) };
            done += n as u64;
        }
        Ok(())
    }
}

fn from_rank(shm: &Shm, peer: PeerId) -> u32 {
    shm.peers[peer.0 as usize].rank
}
