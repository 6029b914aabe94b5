//! How long pieces are written where ranks share processors.
//!
//! Past the caches they come from memory to all readers alike; by ordinary stores readers on the writer's
//! own processor find them in its cache, but lines that a far one holds have to be taken from it first. Which
//! of both is cheaper differs between machines, for the writer by a third in the one direction (256 KiB
//! for seven readers, second-level caches far from each other: 44 µs past the caches, 31 ordinary) or by
//! three times in the other (processors with a last-level cache each). So both are timed now and then.
//!
//! Of a reader who is alone nothing else need be known. What a look at its count takes (see [`crate::shm::Reach`])
//! tells little here, since it is often here already: perhaps as writers on one processor look by turns at counts in
//! one page, and the processor comes to fetch the next one by itself. (Zen 3, 8 ranks, processors far from each other:
//! 8 to 16 of the 32 streams between both were found far. All-to-all of as many, by looks and by costs: 32 KiB 152 and
//! 125 µs, 64 KiB 284 and 219; near each other as long.)
//!
//! In: the pieces of one stream. Out: the same, stored, one way or the other.

use std::time::Instant;

use mpi_core::datatype::Packer;

use crate::cost::Cost;
use crate::stores::{self, Ground};

/// Bytes from one piece that is timed to the next: four pieces of 64 KiB, and short ones are not for the clock's sake.
const BYTES_PER_LOOK: usize = 256 << 10;
/// So many pieces are timed until one goes the way that seems dearer: past the caches, or through them, where
/// whatever is near again loses more.
const LOOKS_THROUGH: u32 = 128;
const LOOKS_PAST: u32 = 16;

/// What is known of the two ways.
#[derive(Debug, Default)]
pub(super) struct Copies {
    ordinary: Cost,
    past: Cost,
    /// Bytes until a piece is timed.
    until_look: usize,
    /// Pieces that will be timed until one goes the other way.
    until_trial: u32,
    /// The last piece went the other way, and so does the next one, which is timed: the first finds caches as the
    /// better way left them.
    is_trial: bool,
}

/// How a piece goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Course {
    past: bool,
    timed: bool,
}

impl Copies {
    /// Copies the next `len` bytes of `source` to `to`, which is such ground.
    ///
    /// # Safety
    /// As [`stores::pack`].
    pub(super) unsafe fn pack(
        &mut self,
        source: &mut Packer,
        to: *mut u8,
        len: usize,
        ground: Ground,
    ) {
        let Course { past, timed } = match ground {
            Ground::Known => self.next(len),
            Ground::New => Course { past: self.past_is_better(), timed: false },
        };
        let begin = timed.then(Instant::now);
        // SAFETY: by the caller's promise.
        unsafe { stores::pack(source, to, len, past, ground) };
        if let Some(begin) = begin {
            self.learn(past, begin.elapsed().as_nanos() as u64, len);
        }
    }

    /// Whether what goes past the caches costs less, as far as is known.
    fn past_is_better(&self) -> bool {
        self.past.is_well_below(self.ordinary)
    }

    /// Counts a piece of `len` bytes, and says how it goes.
    fn next(&mut self, len: usize) -> Course {
        let better = self.past_is_better();
        if self.ordinary.is_unknown() || self.past.is_unknown() {
            return Course { past: !self.ordinary.is_unknown(), timed: true };
        }
        if std::mem::take(&mut self.is_trial) {
            return Course { past: !better, timed: true };
        }
        self.until_look = self.until_look.saturating_sub(len);
        if self.until_look > 0 {
            return Course { past: better, timed: false };
        }
        self.until_look = BYTES_PER_LOOK;
        self.is_trial = self.until_trial == 0;
        self.until_trial = match self.until_trial {
            0 if better => LOOKS_PAST,
            0 => LOOKS_THROUGH,
            looks => looks - 1,
        };
        Course { past: better != self.is_trial, timed: !self.is_trial }
    }

    /// A piece of `len` bytes took so long. If pieces go past the caches from now on, that is doubted soon.
    fn learn(&mut self, past: bool, nanos: u64, len: usize) {
        if past { &mut self.past } else { &mut self.ordinary }.learn(nanos, len);
        if self.past_is_better() {
            self.until_trial = self.until_trial.min(LOOKS_PAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 64 << 10;
    /// What both ways take to store as much for a near reader and for a far one, ordinary and past the caches.
    const NEAR: [u64; 2] = [2000, 4900];
    const FAR: [u64; 2] = [12_000, 4500];

    /// How many of so many pieces go past the caches, where the ways take so long.
    fn run(copies: &mut Copies, pieces: usize, [ordinary, past]: [u64; 2]) -> usize {
        let one = |_: &usize| {
            let course = copies.next(LEN);
            if course.timed {
                copies.learn(course.past, if course.past { past } else { ordinary }, LEN);
            }
            course.past
        };
        (0..pieces).filter(one).count()
    }

    #[test]
    fn pieces_go_the_cheaper_way_but_for_few() {
        let mut copies = Copies::default();
        assert_eq!(run(&mut copies, 2, NEAR), 1, "one of each at first");
        let past = run(&mut copies, 10_000, NEAR);
        assert!((10..=50).contains(&past), "{past}");
        let mut copies = Copies::default();
        run(&mut copies, 2, FAR);
        let ordinary = 10_000 - run(&mut copies, 10_000, FAR);
        assert!((100..=320).contains(&ordinary), "{ordinary}");
    }

    #[test]
    fn the_machine_may_change_at_any_time() {
        for before in [3, 50, 500, 5000] {
            let mut copies = Copies::default();
            run(&mut copies, before, NEAR);
            assert!(run(&mut copies, 200, FAR) > 170, "{before} pieces for a near reader");
            run(&mut copies, before, FAR);
            let past = run(&mut copies, 200, NEAR);
            assert!(past < 80, "{past} of 200 after {before} pieces for a far reader");
        }
    }

    #[test]
    fn an_interrupt_is_soon_got_over() {
        let mut copies = Copies::default();
        run(&mut copies, 1000, NEAR);
        copies.learn(false, 1_000_000, LEN);
        assert!(run(&mut copies, 40, NEAR) <= 20);
        let mut copies = Copies::default();
        run(&mut copies, 1000, FAR);
        copies.learn(true, 1_000_000, LEN);
        assert!(run(&mut copies, 40, FAR) >= 20);
    }

    #[test]
    fn short_pieces_are_not_timed_as_often() {
        let mut copies = Copies::default();
        run(&mut copies, 2, NEAR);
        let timed = (0..6400).filter(|_| copies.next(4096).timed).count();
        assert!((95..=101).contains(&timed), "{timed}");
    }

    #[repr(align(64))]
    struct Room([u8; 8192]);

    #[test]
    fn all_is_copied_and_new_ground_teaches_nothing() {
        let (bytes, mut room) = ([7u8; 8192], Room([0; 8192]));
        let user = mpi_core::buffer::UserBuffer(bytes.as_ptr().cast_mut());
        let mut copies = Copies::default();
        let mut pack = |ground, Room(room): &mut Room| {
            room.fill(0);
            let mut source = Packer::contiguous(user, 8192);
            // SAFETY: the room has as many bytes and begins on a line.
            unsafe { copies.pack(&mut source, room.as_mut_ptr(), 8192, ground) };
            assert!(*room == bytes);
            !copies.ordinary.is_unknown()
        };
        assert!((0..5).all(|_| !pack(Ground::New, &mut room)));
        assert!((0..100).all(|_| pack(Ground::Known, &mut room)));
    }
}
