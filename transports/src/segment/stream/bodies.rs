//! Where the bodies of a stream lie.
//!
//! In: lengths of bodies, and how far they have been read. Out: places, whose pages are there.

use mpi_core::tuning::{LONG_BODY_BYTES, ROUND_LEAST_BYTES};

use super::Room;
use super::pages::{Got, Pages};
use super::readers::Readers;
use crate::segment::layout::CELLS;
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
    /// Where the bodies of the last fragments lie.
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

    /// Says that the fragment of this number has none.
    #[inline]
    pub(super) fn pass(&mut self, fragment: u64) {
        self.lie[(fragment % CELLS as u64) as usize] = (0, 0);
    }

    /// A place with all its pages for the body of `len` bytes of the fragment of this number, which is to be written at
    /// once, as an offset; long ones go round in `round` bytes where ranks share processors, as far as readers keep up.
    #[inline]
    pub(super) fn take(
        &mut self,
        len: usize,
        round: usize,
        fragment: u64,
        readers: &mut Readers,
    ) -> Option<usize> {
        let at = match self.is_clear(len, round) {
            true => self.at,
            false => {
                let at = self.find(len, round, fragment, readers)?;
                if at != self.at || at + len > self.clear {
                    self.clear = self.obstacle(at, fragment, readers);
                }
                at
            }
        };
        self.lie[(fragment % CELLS as u64) as usize] = (at, at + len);
        self.at = (at + len).next_multiple_of(64);
        if self.pages.end_before(at + len) {
            let window = self.pages.window(len, round);
            let got = self.pages.get(at, len, window);
            self.populate(got);
        }
        self.pages.carry(len);
        Some(at)
    }

    /// Whether a body has its place behind the last one, as most have: nothing there is still read.
    #[inline]
    fn is_clear(&self, len: usize, round: usize) -> bool {
        let end = self.at + len;
        let is_within = || end <= self.pages.window(len, round);
        // No way round is shorter: most short bodies need not know theirs.
        end <= self.clear && (end <= ROUND_LEAST_BYTES || is_within())
    }

    /// Makes pages be there: their readers find them too.
    #[cold]
    #[inline(never)]
    fn populate(&self, got: Option<Got>) {
        if let Some(Got { at, len }) = got {
            let at = self.address(at);
            match self.backing {
                // SAFETY: the file lives as long as the segment; nothing lay in these bytes yet, and no fragment names
                // them.
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
        fragment: u64,
        readers: &mut Readers,
    ) -> Option<usize> {
        let window = self.pages.window(len, round);
        let place = self.find_within(window, len, fragment, readers);
        if place.is_some() || !self.pages.are_oversubscribed() || len < LONG_BODY_BYTES {
            return place;
        }
        let usual = self.room.usual / 2;
        self.find_within(usual, len, fragment, readers)
            .or_else(|| self.find_behind(len, fragment, readers))
    }

    /// Where a body of `len` bytes can lie within so many.
    fn find_within(
        &self,
        window: usize,
        len: usize,
        fragment: u64,
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
        match readers.unread(fragment).rev().find(overlaps) {
            Some(earlier) if !readers.have_read(earlier, fragment) => None,
            _ => Some(at),
        }
    }

    /// Where the first body begins from there on that is still read.
    fn obstacle(&self, at: usize, fragment: u64, readers: &Readers) -> usize {
        let lie =
            readers.unread(fragment).map(|fragment| self.lie[(fragment % CELLS as u64) as usize]);
        let behind = lie.filter(|(_, end)| *end > at).map(|(begin, _)| begin);
        behind.min().unwrap_or(self.room.all)
    }

    /// Where it can lie behind all that are still read.
    #[cold]
    fn find_behind(&self, len: usize, fragment: u64, readers: &Readers) -> Option<usize> {
        let ends =
            readers.unread(fragment).map(|fragment| self.lie[(fragment % CELLS as u64) as usize].1);
        let at = ends.max().unwrap_or(0).next_multiple_of(64);
        (at + len <= self.room.all).then_some(at)
    }
}
