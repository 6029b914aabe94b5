//! How long pieces are written where ranks share processors, for readers of whom one is far.
//!
//! Past the caches they come from memory to all readers alike; by ordinary stores readers on the writer's
//! own processor find them in its cache, but lines that a far one holds have to be taken from it first. Which
//! of both is cheaper differs between machines, for the writer by a third in the one direction (256 KiB
//! for seven readers, second-level caches far from each other: 44 µs past the caches, 31 ordinary) or by
//! three times in the other (processors with a last-level cache each). So both are timed now and then.

use std::time::Instant;

use mpi_core::datatype::Packer;

use crate::cost::Cost;
use crate::shm::Reach;
use crate::stores::{self, Ground};

/// One in so many long pieces is written the way that seems dearer; every fourth as many is timed.
const TRIED: u32 = 32;
const TIMED: u32 = 4;

/// What is known of the two ways.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pieces: u32,
    ordinary: Cost,
    past: Cost,
}

impl Copies {
    /// Copies the next `len` bytes of `source` to `to`, where those who have this `reach` will read them.
    ///
    /// # Safety
    /// As [`stores::pack`].
    pub(super) unsafe fn pack(
        &mut self,
        reach: &mut Reach,
        source: &mut Packer,
        to: *mut u8,
        len: usize,
    ) {
        if !reach.goes_past(len) {
            // SAFETY: by the caller's promise.
            unsafe { stores::pack(source, to, len, false, Ground::Known) };
            return;
        }
        let past = self.next_goes_past();
        let timed = self.pieces.is_multiple_of(TIMED) || self.is_in_doubt();
        let begin = timed.then(Instant::now);
        // SAFETY: by the caller's promise.
        unsafe { stores::pack(source, to, len, past, Ground::Known) };
        if let Some(begin) = begin {
            self.learn(past, begin.elapsed().as_nanos() as u64, len);
        }
    }

    /// Whether one of them has not been tried.
    fn is_in_doubt(&self) -> bool {
        self.past.is_unknown() || self.ordinary.is_unknown()
    }

    /// Counts a piece; whether it goes past the caches.
    fn next_goes_past(&mut self) -> bool {
        self.pieces = self.pieces.wrapping_add(1);
        match (self.past.is_unknown(), self.ordinary.is_unknown()) {
            (true, _) => true,
            (_, true) => false,
            _ => self.past.is_well_below(self.ordinary) != self.pieces.is_multiple_of(TRIED),
        }
    }

    fn learn(&mut self, past: bool, nanos: u64, len: usize) {
        if past { &mut self.past } else { &mut self.ordinary }.learn(nanos, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many pieces go past the caches, where those take `past` and others `ordinary`.
    fn run(copies: &mut Copies, pieces: u32, past: u64, ordinary: u64) -> u32 {
        let one = |_: &u32| {
            let goes = copies.next_goes_past();
            copies.learn(goes, if goes { past } else { ordinary }, 1 << 16);
            goes
        };
        (0..pieces).filter(one).count() as u32
    }

    #[test]
    fn pieces_go_the_cheaper_way_but_for_trials_and_change_with_the_machine() {
        let mut copies = Copies::default();
        run(&mut copies, 10, 5000, 4000);
        assert!(copies.pieces == 10 && !copies.is_in_doubt());
        assert_eq!(run(&mut copies, 10 * TRIED, 5000, 4000), 10);
        run(&mut copies, 10 * TRIED, 5000, 15_000);
        assert_eq!(run(&mut copies, 10 * TRIED, 5000, 15_000), 10 * TRIED - 10);
        assert!(run(&mut copies, 20 * TRIED, 15_000, 5000) < 10 * TRIED);
    }

    #[test]
    fn what_goes_nowhere_far_is_not_timed() {
        let (bytes, mut room) = ([7u8; 8192], [0u8; 8192]);
        let user = mpi_core::buffer::UserBuffer(bytes.as_ptr().cast_mut());
        let (mut copies, mut reach) = (Copies::default(), Reach::default());
        for _ in 0..100 {
            let mut source = Packer::contiguous(user, 8192);
            // SAFETY: the room has as many bytes.
            unsafe { copies.pack(&mut reach, &mut source, room.as_mut_ptr(), 8192) };
        }
        assert!(copies.is_in_doubt() && room == bytes);
    }
}
