//! What the reader of userfaultfd tells the owner of a cache: ranges that are gone, in a ring of one writer and one
//! reader, and whether it has more in hand.
//!
//! A thread whose `munmap` has returned knows that the reader has *read* the event, not that it has written it down.
//! So the reader makes its turn odd before it reads, and even when all that it has read is here, and who looks
//! something up waits while the turn that it sees is odd.
//!
//! Why nothing is missed. Let an event be read in turn `t`, and a look-up begin after the call that caused it has
//! returned (in that thread, or in one that has heard of it, or in one for which the kernel has seen to it: see
//! `Userfault::is_changing`). The reader's store of `t` comes before its `read`, which takes and gives back the
//! lock of the descriptor's queue; the unmapping thread takes this lock afterwards, finds its event taken, and
//! returns. So the look-up's load sees `t` or what was stored later. If that is `t`, it waits until it is not,
//! which is when `t + 1` was stored. What is stored after `t` was stored after the event was written down, with
//! release, and the load acquires: the range is in the ring, or the mark that the ring was full is set.

use std::ops::Range;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Ranges that the ring holds (16 bytes each): what an allocator may give back between two look-ups. If it is more,
/// everything is registered anew.
#[cfg(not(loom))]
const ROOM: usize = 4096;
#[cfg(loom)]
const ROOM: usize = 2;

/// What both share.
#[derive(Debug)]
pub(super) struct Notices {
    /// Odd while the reader may have read what is not here yet. Odd at first, until it is at work.
    turn: AtomicU64,
    /// Ranges written and taken since the beginning.
    written: AtomicU64,
    taken: AtomicU64,
    ranges: [[AtomicU64; 2]; ROOM],
    /// 1 when there was no room for a range.
    everything: AtomicU32,
}

/// What has gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Gone {
    /// These addresses.
    Range(Range<usize>),
    /// Perhaps all that is watched.
    Everything,
}

impl Notices {
    pub(super) fn new() -> Notices {
        Notices {
            turn: AtomicU64::new(1),
            written: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            ranges: std::array::from_fn(|_| [AtomicU64::new(0), AtomicU64::new(0)]),
            everything: AtomicU32::new(0),
        }
    }

    /// The reader is about to read.
    pub(super) fn begin(&self) {
        self.turn.store(self.turn.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// The reader has written down what it has read.
    pub(super) fn rest(&self) {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store(turn + (turn & 1), Ordering::Release);
    }

    /// The reader writes down what has gone.
    pub(super) fn note(&self, gone: &Range<u64>) {
        let written = self.written.load(Ordering::Relaxed);
        // With acquire, since what lies in that place was read before it was counted as taken.
        if written - self.taken.load(Ordering::Acquire) == ROOM as u64 {
            // Whoever waits for the turn sees this with it.
            self.everything.store(1, Ordering::Relaxed);
            return;
        }
        let [start, end] = &self.ranges[written as usize % ROOM];
        start.store(gone.start, Ordering::Relaxed);
        end.store(gone.end, Ordering::Relaxed);
        self.written.store(written + 1, Ordering::Release);
    }

    /// Waits until all that was read before this call is here; `give_way` is called meanwhile, and says false when it
    /// has been too long. Whether it is so.
    pub(super) fn settle(&self, mut give_way: impl FnMut() -> bool) -> bool {
        let turn = self.turn.load(Ordering::Acquire);
        while turn & 1 == 1 && self.turn.load(Ordering::Acquire) == turn {
            if !give_way() {
                return false;
            }
        }
        true
    }

    /// The owner takes what is here, one at a time.
    pub(super) fn take(&self) -> Option<Gone> {
        // What was marked before is gone with everything; what is marked after this is taken the next time.
        if self.everything.load(Ordering::Relaxed) == 1 {
            self.everything.swap(0, Ordering::Relaxed);
            self.taken.store(self.written.load(Ordering::Acquire), Ordering::Release);
            return Some(Gone::Everything);
        }
        let taken = self.taken.load(Ordering::Relaxed);
        if taken == self.written.load(Ordering::Acquire) {
            return None;
        }
        let [start, end] = &self.ranges[taken as usize % ROOM];
        let [start, end] = [start, end].map(|word| word.load(Ordering::Relaxed) as usize);
        self.taken.store(taken + 1, Ordering::Release);
        Some(Gone::Range(start..end))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn all(notices: &Notices) -> Vec<Gone> {
        std::iter::from_fn(|| notices.take()).collect()
    }

    #[test]
    fn ranges_come_in_order_and_too_many_are_everything() {
        let notices = Notices::new();
        assert!(!notices.settle(|| false), "the reader is not at work yet");
        notices.rest();
        assert!(notices.settle(|| false) && all(&notices).is_empty());
        notices.begin();
        notices.note(&(1..2));
        notices.note(&(3..4));
        assert!(!notices.settle(|| false));
        notices.rest();
        assert!(notices.settle(|| false));
        assert_eq!(all(&notices), [Gone::Range(1..2), Gone::Range(3..4)]);
        for _ in 0..=ROOM {
            notices.note(&(5..6));
        }
        assert_eq!(all(&notices), [Gone::Everything]);
        for round in 0..3 * ROOM as u64 {
            notices.note(&(round..round + 1));
            let round = round as usize;
            assert_eq!(all(&notices), [Gone::Range(round..round + 1)]);
        }
    }
}
