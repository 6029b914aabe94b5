//! Where the bodies of a stream lie.
//!
//! In: lengths of bodies, and how far they have been read. Out: places, whose pages are there.

use mpi_core::boards::LONG_PIECE;

use super::pages::{Got, Pages};
use super::readers::Readers;
use super::{MAPPED_FROM, Room, WINDOW_MIN};
use crate::board::layout::CELLS;
use crate::stores::Ground;
use crate::sys::memory::{Backing, populate};

/// The room for bodies of one stream.
pub(super) struct Bodies {
    memory: *mut u8,
    room: Room,
    /// The file of which it is a part, where pages are better got from there.
    backing: Option<Backing>,
    /// Which of its pages are there.
    pub(super) pages: Pages,
    /// Where the next body begins.
    at: usize,
    /// Up to where nothing from there on is still read.
    clear: usize,
    /// Up to where long ones have lain.
    stored: usize,
    /// Where the bodies of the last pieces lie.
    lie: [(usize, usize); CELLS],
}

// SAFETY: as for `Readers`.
unsafe impl Send for Bodies {}

impl Bodies {
    /// No bodies yet, in this memory.
    pub(super) fn new(memory: *mut u8, room: Room) -> Bodies {
        Bodies {
            memory,
            room,
            backing: None,
            pages: Pages::new(room.usual),
            at: 0,
            clear: 0,
            stored: 0,
            lie: [(0, 0); CELLS],
        }
    }

    /// Says of which file the memory is a part.
    pub(super) fn be_backed(&mut self, backing: Backing) {
        self.backing = Some(backing);
    }

    pub(super) fn room(&self) -> usize {
        self.room.usual
    }

    /// Where the body at this offset lies.
    #[inline]
    pub(super) fn address(&self, at: usize) -> *mut u8 {
        self.memory.wrapping_add(at)
    }

    /// What is known of the place of a long body. Behind the short way round pages are got together, and all are new
    /// alike.
    #[inline]
    pub(super) fn ground(&mut self, to: *mut u8, len: usize) -> Ground {
        let end = to.addr() - self.memory.addr() + len;
        let is_new = end > self.stored;
        self.stored = self.stored.max(end);
        if is_new && end <= MAPPED_FROM { Ground::New } else { Ground::Known }
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
        if self.pages.are_due(len, piece) && (readers.reach.is_cheap() || self.pages.are_favoured())
        {
            let rest = self.pages.widen(&readers.reach);
            self.populate(rest);
            (self.at, self.clear) = (MAPPED_FROM, 0);
        }
        let at = match self.is_clear(len, round, readers) {
            true => self.at,
            false => {
                let at = self.find(len, round, piece, readers)?;
                if at != self.at || at + len > self.clear {
                    self.clear = self.obstacle(at, piece, readers);
                }
                at
            }
        };
        self.lie[(piece % CELLS as u64) as usize] = (at, at + len);
        self.at = (at + len).next_multiple_of(64);
        if self.pages.end_before(at + len) {
            let window = self.pages.window(len, round, &readers.reach);
            let got = self.pages.get(at, len, window);
            self.populate(got);
        }
        self.pages.carry(len);
        Some(at)
    }

    /// Whether a body has its place behind the last one, as most have: nothing there is still read.
    #[inline]
    fn is_clear(&self, len: usize, round: usize, readers: &Readers) -> bool {
        let end = self.at + len;
        let is_within = || end <= self.pages.window(len, round, &readers.reach);
        // No way round is shorter: most short bodies need not know theirs.
        end <= self.clear && (end <= WINDOW_MIN || is_within())
    }

    /// Makes pages be there: their readers find them too.
    #[cold]
    #[inline(never)]
    fn populate(&self, got: Option<Got>) {
        if let Some(Got { at, len }) = got {
            let at = self.address(at);
            match self.backing {
                // SAFETY: the file is there as long as the board; nothing has lain in these bytes yet, and no piece
                // tells readers of them.
                Some(backing) => unsafe { backing.get_pages(at, len) },
                None => populate(at, len, true),
            }
        }
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
        let window = self.pages.window(len, round, &readers.reach);
        let place = self.find_within(window, len, piece, readers);
        if place.is_some() || !self.pages.are_crowded() || len < LONG_PIECE {
            return place;
        }
        let usual = self.room.usual / 2;
        self.find_within(usual, len, piece, readers)
            .or_else(|| self.find_behind(len, piece, readers))
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
        if at == self.at && at + len <= self.clear {
            return Some(at);
        }
        let overlaps = |earlier: &u64| {
            let (begin, end) = self.lie[(earlier % CELLS as u64) as usize];
            begin < at + len && at < end
        };
        match readers.unread(piece).rev().find(overlaps) {
            Some(earlier) if !readers.have_read(earlier, piece) => None,
            _ => Some(at),
        }
    }

    /// Where the first body begins from there on that is still read.
    fn obstacle(&self, at: usize, piece: u64, readers: &Readers) -> usize {
        let lie = readers.unread(piece).map(|piece| self.lie[(piece % CELLS as u64) as usize]);
        let behind = lie.filter(|(_, end)| *end > at).map(|(begin, _)| begin);
        behind.min().unwrap_or(self.room.all)
    }

    /// Where it can lie behind all that are still read.
    #[cold]
    fn find_behind(&self, len: usize, piece: u64, readers: &Readers) -> Option<usize> {
        let ends = readers.unread(piece).map(|piece| self.lie[(piece % CELLS as u64) as usize].1);
        let at = ends.max().unwrap_or(0).next_multiple_of(64);
        (at + len <= self.room.all).then_some(at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ground_is_new_where_no_long_body_has_lain_in_the_short_way_round() {
        let mut memory = vec![0u8; 2 * MAPPED_FROM];
        let at = memory.as_mut_ptr();
        let mut bodies = Bodies::new(at, Room { usual: memory.len(), all: memory.len() });
        let long = 4096;
        for (place, ground) in [
            (0, Ground::New),
            (0, Ground::Known),
            (long / 2, Ground::New),
            (3 * long, Ground::New),
            (long, Ground::Known),
            (MAPPED_FROM - long, Ground::New),
            (MAPPED_FROM, Ground::Known),
        ] {
            assert_eq!(bodies.ground(at.wrapping_add(place), long), ground, "at {place}");
        }
    }
}
