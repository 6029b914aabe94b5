//! Large messages fetched by their receiver: in place when they lie in the sender's arena, else
//! out of the sender's address space, with the sender's help or alone, if the kernel lets it.

use std::io;

use mpi_core::boards::Mover;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::port::{Offer, PeerId, Pulled, Token};

use super::joint::Crossing;
use super::ways::{ACROSS_BYTES, is_wanted};
use super::{Bulk, Shm};
use crate::board::Lies;
use crate::copy;
use crate::offers::SHARED_MEMORY;
use crate::sys::cma;

/// Bytes fetched at a time for a destination that is not one run of memory.
const BOUNCE_BYTES: usize = 64 << 10;

/// How announced bytes are fetched.
enum Fetching {
    /// Not at all: they are asked for.
    Never,
    /// By the receiver.
    Alone,
    /// By both ends.
    Jointly,
}

impl Shm {
    /// Where bytes of this process lie, as its peers call it.
    pub(super) fn lies(&self, address: *const u8, len: u64) -> Lies {
        let offset = self.arena.offset_of(address, len).map_or(0, |offset| offset + 1);
        Lies { address: address.expose_provenance() as u64, offset }
    }

    /// The address here of `len` bytes of `peer`, if they lie in memory that is mapped here.
    pub(super) fn in_place(&mut self, peer: PeerId, at: Lies, len: u64) -> Option<*mut u8> {
        self.peer_memory(peer, at.offset.checked_sub(1)?, len)
    }

    /// How a peer could fetch bytes of this process. Whether it may, and whether that is the
    /// cheaper way, is for the peer to find out.
    pub(super) fn offer_bytes(&mut self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        let Lies { offset: arena, .. } = self.lies(address, len);
        let crowded = self.waiter.is_crowded();
        let cross = match self.config.shm.bulk {
            Bulk::Auto => crowded || len >= ACROSS_BYTES,
            Bulk::CrossMemory | Bulk::Joint => true,
            Bulk::Pipeline => false,
        };
        if cross
            && !crowded
            && let Some(to) = self.peers.get_mut(peer.0 as usize)
        {
            to.across.helps.offer(address as u64, len);
        }
        match (cross, arena) {
            (false, 0) => Offer::default(),
            (false, _) => Offer { kind: SHARED_MEMORY, words: [0, arena] },
            (true, _) => Offer { kind: SHARED_MEMORY, words: [address as u64, arena] },
        }
    }

    /// Whether a message of `len` bytes in one run is better announced to `peer` than sent, since it
    /// goes across then.
    #[inline]
    pub(super) fn is_better_announced(&self, peer: PeerId, len: u64) -> bool {
        if len < ACROSS_BYTES || self.waiter.is_crowded() {
            return false;
        }
        let to = &self.peers[peer.0 as usize];
        match self.config.shm.bulk {
            Bulk::Auto if to.readable.is_some() => is_wanted(to.ledger_out.told(), len),
            _ => false,
        }
    }

    /// Fetches what a peer offered (see [`mpi_core::port::Transport::pull`]).
    pub(super) fn pull_bytes(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        token: Token,
    ) -> Pulled {
        if offer.kind != SHARED_MEMORY {
            return Pulled::Unavailable;
        }
        let [address, arena] = offer.words;
        let at = Lies { address, offset: arena };
        if self.pull_in_place(peer, at, len, false, to) {
            return Pulled::Done;
        }
        let Some(from) = self.peers.get(peer.0 as usize) else { return Pulled::Unavailable };
        if from.readable.is_none() || address == 0 {
            return Pulled::Unavailable;
        }
        let run = to.as_contiguous().filter(|(_, room)| *room >= len).map(|(at, _)| at);
        let joined = match (self.fetching(peer, len, run.is_some()), run) {
            (Fetching::Never, _) => return Pulled::Unavailable,
            (Fetching::Jointly, Some(to)) => {
                self.join(peer, Crossing { from: address, to, len, token }, Mover::Both)
            }
            _ => None,
        };
        joined.unwrap_or_else(|| self.pull_alone(peer, address, len, to))
    }

    /// Copies bytes of `peer` that are mapped here, perhaps past the caches; whether they are.
    pub(super) fn pull_in_place(
        &mut self,
        peer: PeerId,
        at: Lies,
        len: u64,
        past: bool,
        to: &mut Unpacker,
    ) -> bool {
        let Some(bytes) = self.in_place(peer, at, len) else { return false };
        // SAFETY: the range was checked against the mapping; the destination is the caller's, who owns the
        // request.
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

    /// How `len` bytes of `peer` are fetched, into one run of memory or several.
    fn fetching(&mut self, peer: PeerId, len: u64, one_run: bool) -> Fetching {
        let shm = &self.config.shm;
        match shm.bulk {
            Bulk::Pipeline => Fetching::Never,
            Bulk::CrossMemory => Fetching::Alone,
            Bulk::Joint => Fetching::Jointly,
            Bulk::Auto if self.waiter.is_crowded() => Fetching::Alone,
            Bulk::Auto if !one_run && len >= shm.cross_memory_bytes => Fetching::Alone,
            Bulk::Auto if one_run => {
                let from = &mut self.peers[peer.0 as usize];
                let across = from.ways.goes_across(len);
                from.tell_ways();
                if across { Fetching::Jointly } else { Fetching::Never }
            }
            Bulk::Auto => Fetching::Never,
        }
    }

    /// Fetches bytes of `peer` without its help.
    pub(super) fn pull_alone(
        &mut self,
        peer: PeerId,
        from: u64,
        len: u64,
        to: &mut Unpacker,
    ) -> Pulled {
        let known = &self.peers[peer.0 as usize];
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
                self.peers[peer.0 as usize].readable = None;
                Pulled::Unavailable
            }
        }
    }

    /// Copies bytes to an address of `peer`, without its help; whether the kernel let it.
    pub(super) fn push_alone(&mut self, peer: PeerId, to: u64, bytes: RawBytes<'_>) -> bool {
        let known = &self.peers[peer.0 as usize];
        let (rank, Some(pid)) = (known.rank, known.readable) else { return false };
        let written = cma::write_exact(pid, bytes.as_ptr().addr() as u64, to, bytes.len());
        if let Err(error) = &written {
            tracing::info!(rank, %error, "cross-memory copy failed");
            self.peers[peer.0 as usize].readable = None;
        }
        self.counters.bytes_cross_memory += bytes.len() as u64;
        written.is_ok()
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
