//! Large messages fetched by their receiver: in place when they lie in the sender's arena, else
//! out of the sender's address space, if the kernel lets it and that costs less than the ring (see `protocol`).

use std::io;

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::port::{Offer, PeerId, Pulled};
use mpi_core::tuning::{COPIED_AT_ONCE_BYTES, FETCHED_BYTES};

use super::protocol::{self, Message, Protocol};
use super::{Bulk, Shm};
use crate::copy;
use crate::offers::SHARED_MEMORY;
use crate::profile::Profile;
use crate::segment::Location;
use crate::sys::cma;

impl Shm {
    /// Whether a message of `len` bytes in one run is better announced to `peer`, which fetches it, than sent.
    #[inline]
    pub(super) fn is_better_announced(&self, peer: PeerId, len: u64) -> bool {
        len >= FETCHED_BYTES && self.is_fetched(peer, len, true)
    }

    /// Whether a message between this process and `peer` is fetched out of its sender's memory.
    fn is_fetched(&self, peer: PeerId, len: u64, one_run: bool) -> bool {
        let known = &self.contacts.peers[peer.0 as usize];
        match self.contacts.config.shm.bulk {
            Bulk::Pipeline => false,
            Bulk::CrossMemory => known.readable.is_some(),
            Bulk::Auto => {
                let message = Message {
                    bytes: len,
                    class: known.reach.class(),
                    oversubscribed: self.waiter.is_oversubscribed(),
                    one_run,
                    readable: known.readable.is_some(),
                };
                protocol::cheapest(Profile::of_this_machine(), &message) == Protocol::CrossMemory
            }
        }
    }

    /// Fetches what a peer offered (see [`mpi_core::port::Transport::pull`]).
    pub(super) fn pull_bytes(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
    ) -> Pulled {
        if offer.kind != SHARED_MEMORY || peer.0 as usize >= self.contacts.peers.len() {
            return Pulled::Unavailable;
        }
        let [address, arena] = offer.words;
        let at = Location { address, offset: arena };
        if self.pull_in_place(peer, at, len, false, to) {
            return Pulled::Done;
        }
        let one_run = to.as_contiguous().is_some_and(|(_, room)| room >= len);
        match address != 0 && self.is_fetched(peer, len, one_run) {
            true => self.pull_by_kernel(peer, address, len, to),
            false => Pulled::Unavailable,
        }
    }

    /// Copies bytes of `peer` that are mapped here, perhaps past the caches; whether they are.
    pub(super) fn pull_in_place(
        &mut self,
        peer: PeerId,
        at: Location,
        len: u64,
        past: bool,
        to: &mut Unpacker,
    ) -> bool {
        let from = &mut self.contacts.peers[peer.0 as usize];
        let Some(bytes) = from.in_place(at, len) else { return false };
        // SAFETY: the range was checked against the mapping; the destination is the caller's, who owns the request.
        unsafe {
            let bytes = RawBytes::new(bytes, len as usize);
            if past {
                copy::unpack_past(bytes, to)
            } else {
                to.unpack_from(bytes)
            };
        }
        self.counters.bytes_in_place += len;
        true
    }

    /// Has the kernel copy bytes out of the memory of `peer`.
    pub(super) fn pull_by_kernel(
        &mut self,
        peer: PeerId,
        from: u64,
        len: u64,
        to: &mut Unpacker,
    ) -> Pulled {
        let known = &self.contacts.peers[peer.0 as usize];
        let (rank, Some(pid)) = (known.rank, known.readable) else { return Pulled::Unavailable };
        let mut trial = to.clone();
        match self.read_across(pid, from, len, &mut trial) {
            Ok(()) => {
                *to = trial;
                self.counters.bytes_cross_memory += len;
                Pulled::Done
            }
            Err(error) => {
                tracing::info!(rank, %error, "cross-memory copy failed");
                self.contacts.peers[peer.0 as usize].readable = None;
                Pulled::Unavailable
            }
        }
    }

    /// Copies up to `len` bytes at an address of another process.
    pub(super) fn read_across(
        &mut self,
        pid: i32,
        from: u64,
        len: u64,
        to: &mut Unpacker,
    ) -> io::Result<()> {
        let len = len.min(to.remaining());
        if let Some((at, room)) = to.as_contiguous() {
            let len = len.min(room) as usize;
            // SAFETY: the request's memory is writable for `room` bytes.
            unsafe { cma::read_exact(pid, from, at, len)? };
            to.skip(len as u64);
            return Ok(());
        }
        self.bounce.resize(COPIED_AT_ONCE_BYTES, 0);
        let mut done = 0;
        while done < len {
            let n = (len - done).min(COPIED_AT_ONCE_BYTES as u64) as usize;
            // SAFETY: the bounce buffer has `COPIED_AT_ONCE_BYTES` bytes.
            unsafe { cma::read_exact(pid, from + done, self.bounce.as_mut_ptr(), n)? };
            // SAFETY: the request's memory is writable.
            unsafe { to.unpack_from(RawBytes::from(&self.bounce[..n])) };
            done += n as u64;
        }
        Ok(())
    }
}
