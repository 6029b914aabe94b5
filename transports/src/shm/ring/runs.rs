//! The ring of the own arena that bodies too long for a slot pass through.
//!
//! A body takes as many whole units as it needs, side by side, behind those taken last, so that a place comes round
//! again only after all others: by then its lines have left both processors' own caches for the shared one, which makes
//! them cheap to write and read again. Far processors write past their caches anyway (see `reach`). It begins with less
//! (see `working_set`).
//!
//! Readers give places back in any order: one that does not read for long keeps its own places and nobody else's.

use mpi_core::tuning::{
    FRAGMENT_BYTES, PIPELINE_FRAGMENTS, RING_UNIT_BYTES, RING_WORKING_SET_BYTES,
};

use crate::working_set::WorkingSet;

/// Equal units of memory at known offsets, of which runs are taken.
#[derive(Debug)]
pub(in crate::shm) struct Ring {
    base: u64,
    units: u32,
    /// One bit for each unit, set while it is taken.
    taken: Vec<u64>,
    free: u32,
    cursor: u32,
    /// Where the cursor begins again.
    working_set: WorkingSet,
}

/// Units that hold so many bytes.
#[inline]
fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(RING_UNIT_BYTES)).unwrap_or(u32::MAX)
}

impl Ring {
    /// A ring of `bytes` from offset `base`, rounded down to whole units.
    pub(in crate::shm) fn new(base: u64, bytes: u64) -> Ring {
        let units = u32::try_from(bytes / RING_UNIT_BYTES).unwrap_or(u32::MAX);
        let taken = vec![0; units.div_ceil(64) as usize];
        let working_set =
            WorkingSet::new(RING_WORKING_SET_BYTES.min(u64::from(units) * RING_UNIT_BYTES));
        Ring { base, units, taken, free: units, cursor: 0, working_set }
    }

    /// The longest chunk of which a pipeline goes round, at least a fragment, which is worth its cost: longer ones
    /// would each be on new pages.
    #[inline]
    pub(in crate::shm) fn chunk_most(&self) -> u64 {
        (self.working_set.bytes() / PIPELINE_FRAGMENTS as u64).max(FRAGMENT_BYTES as u64)
    }

    /// Whether so many bytes are free, if perhaps not side by side.
    #[inline]
    pub(in crate::shm) fn may_have(&self, bytes: u64) -> bool {
        units(bytes) <= self.free
    }

    /// The offset of room for `bytes`, if there is such a run on the way round.
    #[inline]
    pub(in crate::shm) fn take_near(&mut self, bytes: u64) -> Option<u64> {
        self.take_within(bytes, (self.working_set.bytes() / RING_UNIT_BYTES) as u32)
    }

    /// The offset of room for `bytes`, if there is such a run anywhere.
    #[inline]
    pub(in crate::shm) fn take(&mut self, bytes: u64) -> Option<u64> {
        self.take_within(bytes, self.units)
    }

    #[inline]
    fn take_within(&mut self, bytes: u64, end: u32) -> Option<u64> {
        let wanted = units(bytes);
        if wanted > self.free {
            return None;
        }
        let at = match self.run_from(self.cursor, wanted, end) {
            Some(at) => at,
            None => self.run_from(0, wanted, self.cursor.saturating_add(wanted).min(end))?,
        };
        self.mark(at, wanted, true);
        self.free -= wanted;
        let (next, working_set) =
            (u64::from(at + wanted) * RING_UNIT_BYTES, self.working_set.bytes());
        self.cursor = if next < working_set { at + wanted } else { 0 };
        self.working_set.carry(bytes);
        Some(self.base + u64::from(at) * RING_UNIT_BYTES)
    }

    /// Takes back the room for `bytes` that [`Ring::take`] gave.
    #[inline]
    pub(in crate::shm) fn give(&mut self, offset: u64, bytes: u64) {
        let (at, count) = (((offset - self.base) / RING_UNIT_BYTES) as u32, units(bytes));
        self.mark(at, count, false);
        self.free += count;
    }

    /// The first run of `wanted` free units in `from..to`.
    #[inline]
    fn run_from(&self, from: u32, wanted: u32, to: u32) -> Option<u32> {
        let mut at = from;
        while at.checked_add(wanted)? <= to {
            match self.last_taken(at, wanted) {
                None => return Some(at),
                Some(last) => at = last + 1,
            }
        }
        None
    }

    /// The last unit of a run that is taken.
    #[inline]
    fn last_taken(&self, at: u32, count: u32) -> Option<u32> {
        let words = at / 64..(at + count).div_ceil(64);
        words.rev().find_map(|word| {
            let bits = self.taken[word as usize] & mask(word, at, count);
            (bits != 0).then(|| word * 64 + 63 - bits.leading_zeros())
        })
    }

    #[inline]
    fn mark(&mut self, at: u32, count: u32, taken: bool) {
        for word in at / 64..(at + count).div_ceil(64) {
            let bits = mask(word, at, count);
            let now = &mut self.taken[word as usize];
            debug_assert_eq!(*now & bits, if taken { 0 } else { bits });
            *now ^= bits;
        }
    }
}

/// The bits of `word` that stand for the units from `at` on.
#[inline]
fn mask(word: u32, at: u32, count: u32) -> u64 {
    let first = at.saturating_sub(word * 64).min(64);
    let end = (at + count).saturating_sub(word * 64).min(64);
    let below = |n: u32| if n == 64 { u64::MAX } else { (1 << n) - 1 };
    below(end) & !below(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of what is taken: runs never overlap, lie inside, are refused only
        /// when there is none, and all comes back.
        #[test]
        fn runs_are_disjoint_and_found_when_there_is_one(size in 1u32..300,
                steps in prop::collection::vec((any::<bool>(), 1u64..90_000), 1..300)) {
            let base = 4096;
            let mut ring = Ring::new(base, u64::from(size) * RING_UNIT_BYTES + 7);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (take, n) in steps {
                if !take && !live.is_empty() {
                    let (at, bytes) = live.swap_remove(n as usize % live.len());
                    ring.give(at, bytes);
                    continue;
                }
                let is_free = |unit: u32| {
                    let at = base + u64::from(unit) * RING_UNIT_BYTES;
                    live.iter().all(|&(b, l)| at + RING_UNIT_BYTES <= b || b + l <= at)
                };
                let longest = (0..size).fold((0, 0), |(best, run), unit| {
                    let run = if is_free(unit) { run + 1 } else { 0 };
                    (best.max(run), run)
                }).0;
                match ring.take(n) {
                    Some(at) => {
                        prop_assert!(at >= base && at + n <= base + u64::from(size) * RING_UNIT_BYTES);
                        prop_assert!(live.iter().all(|&(b, l)| at + n <= b || b + l <= at));
                        live.push((at, n));
                    }
                    None => prop_assert!(units(n) > longest),
                }
            }
            for (at, bytes) in live {
                ring.give(at, bytes);
            }
            prop_assert_eq!(ring.take(u64::from(size) * RING_UNIT_BYTES), Some(base));
        }
    }

    #[test]
    fn a_place_comes_round_after_all_others() {
        let mut ring = Ring::new(0, 8 * RING_UNIT_BYTES);
        let mut order = Vec::new();
        for _ in 0..6 {
            let at = ring.take(RING_UNIT_BYTES + 1).unwrap();
            order.push(at / RING_UNIT_BYTES);
            ring.give(at, RING_UNIT_BYTES + 1);
        }
        assert_eq!(order, [0, 2, 4, 6, 0, 2]);
    }

    #[test]
    fn what_lies_beyond_a_working_set_is_for_when_the_working_set_is_full() {
        let mut ring = Ring::new(0, 2 * RING_WORKING_SET_BYTES);
        let working_set = ring.working_set.bytes();
        let first = ring.take_near(working_set - RING_UNIT_BYTES).unwrap();
        assert_eq!(ring.take_near(RING_UNIT_BYTES), Some(working_set - RING_UNIT_BYTES));
        assert_eq!(ring.take_near(RING_UNIT_BYTES), None);
        assert_eq!(ring.take(RING_UNIT_BYTES), Some(working_set));
        ring.give(first, working_set - RING_UNIT_BYTES);
        assert_eq!(ring.take_near(RING_UNIT_BYTES), Some(0));
    }

    #[test]
    fn the_way_round_becomes_as_long_as_it_may() {
        let mut ring = Ring::new(0, 2 * RING_WORKING_SET_BYTES);
        let mut furthest = 0;
        for _ in 0..(64 * RING_WORKING_SET_BYTES) / 5000 {
            let at = ring.take_near(5000).unwrap();
            ring.give(at, 5000);
            furthest = furthest.max(at + 5000);
        }
        assert!(
            furthest <= RING_WORKING_SET_BYTES && furthest > RING_WORKING_SET_BYTES - 2 * 5120,
            "{furthest}"
        );
    }
}
