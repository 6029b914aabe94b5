//! Where the bodies of a stream lie, and of how much memory the stream makes use.
//!
//! In: lengths of bodies, and how far they have been read. Out: places, whose pages are there.

use mpi_core::boards::LONG_PIECE;

use super::readers::Readers;
use super::{MAPPED_FROM, Room};
use crate::board::layout::CELLS;
use crate::lap::{Lap, Worn};
use crate::sys::memory::populate;

/// Short bodies, and all while the way round is short, go round in so many times their length, and
/// at least in so many bytes, so that they stay in the cache and few pages are touched.
const WINDOW: usize = 8;
const WINDOW_MIN: usize = 4 << 10;
/// Bodies from this length on go round in all the room that they may use: a line that both processors still
/// hold is dearer to write and to read again than one that has left their own caches.
const LONG_BODY: usize = LONG_PIECE;
/// While the way round is short they are written past the caches instead. Two bare threads that share a
/// last-level cache take 64 KiB in two pieces through 128 KiB in 7.8 µs, and in 4.0 so; through 2 MiB
/// in 2.2 by ordinary copies.
const STREAMED_BODY: usize = LONG_BODY;
/// Pieces that a stream has carried before it gets all its pages at once: who has sent so many will send as many
/// more, of which long ones save 2 µs each of the 1.3 ms that the pages cost. NPB's IS sends 40.
const PROVEN: u64 = 256;
/// Where ranks share processors and so many streams are written at the same time that each has no more than this of
/// the caches, it has all of that from the first long body on: 1.3 ms for all streams together.
const SHORT_ROUND: usize = 256 << 10;
/// Where ranks share processors, messages for one reader of up to a quarter of so many bytes are fetched until so many
/// were, or eight of them, even if that costs the kernel more than two copies, rather than that the ring gets pages
/// for them: 64 KiB of those cost 60 µs, on a Zen 4 where fetching 64 KiB takes 8 µs and two copies 3.3, and NPB's IS.W
/// and FT.S on 8 ranks send 11 and 8 such messages, FT.S on 4 eight of 256 KiB. Longer ones get their pages at once,
/// before a program has got going: IS.A on 8 ranks, all-to-alls of 512 KiB of which the first is not timed, reaches 517
/// Mop/s so, and 491 with two of them fetched.
const FETCHED_FIRST: u64 = 1 << 20;

/// The room for bodies of one stream.
pub(super) struct Bodies {
    memory: *mut u8,
    room: Room,
    /// Long bodies go round in so many bytes.
    lap: Lap,
    worn: Worn,
    /// Where the next body begins.
    at: usize,
    /// Where the bodies of the last pieces lie.
    lie: [(usize, usize); CELLS],
    /// Bytes of messages that were shown instead.
    apart: u64,
    /// Ranks share processors.
    crowded: bool,
    /// All pages are got for the first long body that a near reader is to have behind [`PROVEN`] pieces.
    prompt: bool,
}

// SAFETY: as for `Readers`.
unsafe impl Send for Bodies {}

impl Bodies {
    /// No bodies yet, in this memory.
    pub(super) fn new(memory: *mut u8, room: Room) -> Bodies {
        Bodies {
            memory,
            room,
            lap: Lap::at_once(room.usual as u64),
            worn: Worn::new(0),
            at: 0,
            lie: [(0, 0); CELLS],
            apart: 0,
            crowded: false,
            prompt: false,
        }
    }

    pub(super) fn room(&self) -> usize {
        self.room.usual
    }

    /// Lets long bodies go round in half the room at most: where ranks share processors, those
    /// that come one after the other on one find more in its caches.
    pub(super) fn narrow(&mut self, crowded: bool) {
        let room = self.room.usual as u64;
        self.crowded = crowded;
        self.lap = if crowded { Lap::crowded(room / 2) } else { Lap::at_once(room) };
    }

    /// Lets all pages be got as soon as they are of use.
    pub(super) fn be_prompt(&mut self) {
        self.prompt = !self.crowded;
    }

    /// Whether ranks share processors.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Where the body at this offset lies.
    #[inline]
    pub(super) fn address(&self, at: usize) -> *mut u8 {
        self.memory.wrapping_add(at)
    }

    /// Says that the piece of this number has none.
    #[inline]
    pub(super) fn pass(&mut self, piece: u64) {
        self.lie[(piece % CELLS as u64) as usize] = (0, 0);
    }

    /// A place with all its pages for the body of `len` bytes of the piece of this number, which is to be
    /// written at once, as an offset; long ones go round in `round` bytes where ranks share processors,
    /// as far as readers keep up.
    #[inline]
    pub(super) fn take(
        &mut self,
        len: usize,
        round: usize,
        piece: u64,
        readers: &mut Readers,
    ) -> Option<usize> {
        if self.is_prompt(piece) && len >= LONG_BODY && readers.reach.is_near() {
            self.widen();
        }
        let at = self.find(len, round, piece, readers)?;
        self.lie[(piece % CELLS as u64) as usize] = (at, at + len);
        self.at = (at + len).next_multiple_of(64);
        if self.worn.ends_before((at + len) as u64) {
            self.get(at, len, self.window(len, round, readers));
        }
        if len >= LONG_BODY {
            self.lap.carry(len as u64);
        }
        Some(at)
    }

    /// Whether a body of this length is to be written past the caches.
    #[inline]
    pub(super) fn is_streamed(&self, len: usize) -> bool {
        self.lap.is_short() && len >= STREAMED_BODY
    }

    /// Counts a message that is shown instead. What a near reader fetches earns the ring the pages with which it
    /// would be the better way: 1.3 ms by some 40 µs a MiB.
    pub(super) fn spare(&mut self, len: u64, is_near: bool) {
        self.apart = self.apart.saturating_add(len);
        if is_near && !self.crowded {
            self.lap.carry(len / 2);
        }
    }

    /// Whether they have all the way round, or get it for the next piece, of this number, if that is of use.
    pub(super) fn are_wide(&self, piece: u64) -> bool {
        self.is_prompt(piece) || !self.lap.is_short()
    }

    fn is_prompt(&self, piece: u64) -> bool {
        self.prompt && piece >= PROVEN
    }

    /// Gets all pages, so that long bodies go all the way round.
    #[cold]
    #[inline(never)]
    fn widen(&mut self) {
        self.prompt = false;
        while self.lap.grow() {}
        self.get(0, self.room.usual, self.room.usual);
        self.at = MAPPED_FROM;
    }

    /// Whether a message of so many bytes would need pages that are not there, nor earned.
    pub(super) fn lack_pages(&self, len: u64) -> bool {
        let is_first = len <= FETCHED_FIRST / 4 && self.apart < FETCHED_FIRST.max(8 * len);
        is_first && self.worn.ends_before(len)
    }

    /// Where a body of `len` bytes can lie without harm to one that is still read. Where ranks share
    /// processors a long one may lie beyond the way round, since waiting for a reader costs a turn
    /// of each of them, which is more than new pages do.
    #[inline]
    pub(super) fn find(
        &self,
        len: usize,
        round: usize,
        piece: u64,
        readers: &mut Readers,
    ) -> Option<usize> {
        let place = self.find_within(self.window(len, round, readers), len, piece, readers);
        if place.is_some() || !self.crowded || len < LONG_BODY {
            return place;
        }
        let usual = self.room.usual / 2;
        self.find_within(usual, len, piece, readers)
            .or_else(|| self.find_behind(len, piece, readers))
    }

    /// Bodies of this length go round in so many bytes.
    #[inline]
    fn window(&self, len: usize, round: usize, readers: &Readers) -> usize {
        let lap = self.lap.bytes() as usize;
        if len < LONG_BODY || self.lap.is_short() {
            return (WINDOW * len).next_power_of_two().clamp(WINDOW_MIN, lap);
        }
        match self.crowded && !readers.reach.is_far() {
            true if round <= SHORT_ROUND => round.min(self.room.usual).max(len),
            true => lap.min(round).max(len),
            false => lap,
        }
    }

    /// Where a body of `len` bytes can lie within so many.
    fn find_within(
        &self,
        window: usize,
        len: usize,
        piece: u64,
        readers: &mut Readers,
    ) -> Option<usize> {
        if len > window {
            return None;
        }
        let at = if self.at + len <= window { self.at } else { 0 };
        let overlaps = |earlier: &u64| {
            let (begin, end) = self.lie[(earlier % CELLS as u64) as usize];
            begin < at + len && at < end
        };
        match readers.unread(piece).rev().find(overlaps) {
            Some(earlier) if !readers.have_read(earlier, piece) => None,
            _ => Some(at),
        }
    }

    /// Where it can lie behind all that are still read.
    #[cold]
    fn find_behind(&self, len: usize, piece: u64, readers: &Readers) -> Option<usize> {
        let ends = readers.unread(piece).map(|piece| self.lie[(piece % CELLS as u64) as usize].1);
        let at = ends.max().unwrap_or(0).next_multiple_of(64);
        (at + len <= self.room.all).then_some(at)
    }

    /// Gets the pages that a body is the first to use, and some that others will: its readers find them too.
    #[cold]
    #[inline(never)]
    fn get(&mut self, at: usize, len: usize, window: usize) {
        let limit = window.max(at + len);
        let wanted = if self.crowded && limit <= SHORT_ROUND { limit - at } else { len };
        if let Some((from, len)) = self.worn.step(at as u64, wanted as u64, limit as u64) {
            populate(self.address(from as usize), len as usize, true);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn long_bodies_go_round_in_their_share_of_the_caches_where_ranks_share_processors() {
        let room = Room { usual: 1 << 20, all: 2 << 20 };
        let mut bodies = Bodies::new(ptr::null_mut(), room);
        // SAFETY: there is nothing to look at.
        let readers = unsafe { Readers::new(vec![], 0) };
        let (long, short) = (16 << 10, 1000);
        bodies.narrow(true);
        let short_rounds = [100_000, SHORT_ROUND, SHORT_ROUND + 1];
        let at_first = short_rounds.map(|round| bodies.window(long, round, &readers));
        assert_eq!(at_first, [100_000, SHORT_ROUND, 32 << 10]);
        while bodies.lap.grow() {}
        assert_eq!(bodies.window(long, 100_000, &readers), 100_000);
        assert_eq!(bodies.window(200_000, 100_000, &readers), 200_000);
        assert_eq!(
            bodies.window(long, 1 << 21, &readers),
            512 << 10,
            "half of the room is the most"
        );
        assert_eq!(bodies.window(short, 5000, &readers), 8192);
        bodies.narrow(false);
        while bodies.lap.grow() {}
        assert_eq!(bodies.window(long, 100_000, &readers), 1 << 20);
    }
}
