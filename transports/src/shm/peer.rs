//! What this process knows of one peer.

use std::collections::VecDeque;

use super::arena::Remote;
use super::ring::exchange::{EXCHANGE, Exchange};
use super::ring::lane::{CELLS_MAX, Impossible, Reader, Writer};
use super::ring::pool::{Held, Pool};
use super::ring::runs::Ring;
use super::transfers::{Arriving, Incoming, Outgoing};
use crate::reach::Reach;
use crate::segment::Location;
use crate::sync::{AtomicU32, Ordering};
use crate::sys::socket::Name;

/// How far the acquaintance goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// No name yet, or nothing was sent.
    Unmet,
    /// Its card is not published yet.
    Wanted,
    /// This process has sent its hello and waits for the peer's.
    Greeted,
    /// Both lanes are open.
    Open,
    /// Nothing goes there any more.
    Down,
}

/// What is said of a peer whose count cannot be.
pub(super) const IMPOSSIBLE_COUNT: &str = "its count of consumed cells is impossible";

/// One peer. What a small message touches comes first.
#[repr(C, align(128))]
pub(super) struct Peer {
    pub writer: Writer,
    /// The end of the lane that the peer writes; closed until open.
    pub reader: Reader,
    /// The peer's parked word; null until its arena is mapped.
    pub parked: *const AtomicU32,
    /// The last parked word that was answered by a bell.
    pub rung: u32,
    /// How many of its next frames may carry a count older than what was looked up.
    pub stale: u32,
    pub held: Held,
    pub exchange: Exchange,
    pub reach: Reach,
    pub bulk_out: VecDeque<Outgoing>,
    pub bulk_in: Vec<Incoming>,
    pub bulk_next: u32,
    /// The eager message of several fragments that is coming in.
    pub arriving: Option<Arriving>,
    pub state: State,
    pub rank: u32,
    /// Whether it was sent a hello.
    pub greeted: bool,
    pub name: Option<Name>,
    /// Its process id; 0 until met.
    pub pid: i32,
    /// The same, if its memory can be read across.
    pub readable: Option<i32>,
    /// Whether fences reach it.
    pub fences: bool,
    // Last, so that the pointers into it go first.
    pub remote: Option<Remote>,
}

// SAFETY: `parked` points into the mapping that `remote` keeps; any thread may load it.
unsafe impl Send for Peer {}

impl Peer {
    /// A peer about whom nothing is known.
    pub(super) fn unmet() -> Peer {
        Peer {
            writer: Writer::closed(),
            reader: Reader::closed(),
            parked: std::ptr::null(),
            rung: 0,
            stale: 0,
            held: Held::default(),
            exchange: Exchange::none(),
            reach: Reach::default(),
            bulk_out: VecDeque::new(),
            bulk_in: Vec::new(),
            bulk_next: 0,
            arriving: None,
            state: State::Unmet,
            rank: u32::MAX,
            greeted: false,
            name: None,
            pid: 0,
            readable: None,
            fences: true,
            remote: None,
        }
    }

    /// Whether it has left in good order.
    pub(super) fn has_left(&self) -> bool {
        self.remote.as_ref().is_some_and(Remote::has_left)
    }

    /// Whether it may still hear of this process.
    pub(super) fn is_there(&self) -> bool {
        self.state != State::Down && !self.has_left()
    }

    /// Whether more of a long message of the peer is to come.
    #[inline]
    pub(super) fn is_amid(&self) -> bool {
        self.arriving.is_some() || !self.bulk_in.is_empty()
    }

    /// The address of a body of `len` bytes that the peer's frame names: in the exchange buffer, its slots or its ring.
    #[inline(always)]
    pub(super) fn body(&mut self, offset: u64, len: u64) -> Option<*const u8> {
        if offset >= EXCHANGE {
            return self.exchange.body(offset, len);
        }
        let remote = self.remote.as_mut()?;
        let at = remote.body(offset, len)?;
        remote.approach(offset, len);
        Some(at)
    }

    /// Where `len` bytes at an offset of its arena lie in this address space; `None` when not connected or outside the
    /// memory for programs.
    pub(super) fn memory(&mut self, offset: u64, len: u64) -> Option<*mut u8> {
        let at = self.remote.as_mut()?.allocated(offset, len);
        at.inspect_err(|error| tracing::debug!(%error, "memory of a peer cannot be seen")).ok()
    }

    /// The address here of `len` bytes of it, if they lie in memory that is mapped here.
    pub(super) fn in_place(&mut self, at: Location, len: u64) -> Option<*mut u8> {
        self.memory(at.offset.checked_sub(1)?, len)
    }

    /// The parked word of a peer that sleeps unrung. A plain load: the sleeper pays for the order (see `park`).
    #[inline]
    pub(super) fn sleeps(&self) -> Option<u32> {
        crate::sync::compiler_fence(Ordering::SeqCst);
        // SAFETY: only called for open peers, whose `remote` keeps the word mapped.
        let word = unsafe { (*self.parked).load(Ordering::Relaxed) };
        (word != 0 && word != self.rung).then_some(word)
    }

    /// Takes in the count that rode back on a frame, and the buffers that it frees. Counts ride modulo 256, so an old
    /// one must not be taken for a new one: after a look, frames that may have been written before it are passed over.
    #[inline(always)]
    pub(super) fn learn(
        &mut self,
        ride: u8,
        slots: &mut Pool,
        ring: &mut Ring,
    ) -> Result<(), Impossible> {
        if self.stale > 0 {
            self.stale -= 1;
            return Ok(());
        }
        if self.writer.learn(ride).is_err() && self.state != State::Down {
            return Err(Impossible);
        }
        if !self.held.is_empty() {
            self.held.give_back(self.writer.consumed(), slots, ring);
        }
        Ok(())
    }

    /// Looks up how far the peer has read, and takes back the buffers that this frees.
    pub(super) fn look(&mut self, slots: &mut Pool, ring: &mut Ring) -> Result<(), Impossible> {
        let writer = &mut self.writer;
        self.reach.look(|| {
            let looked = writer.look();
            (looked, looked == Ok(true))
        })?;
        self.stale = CELLS_MAX;
        self.held.give_back(self.writer.consumed(), slots, ring);
        Ok(())
    }
}
