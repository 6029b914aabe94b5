//! A set of numbers that fills up from below: one prefix, and ranges above it where something is missing
//! in between.
//!
//! Datagrams that have come, bytes of a stream that have come, and bytes that the other side is known
//! to have are such sets. While nothing is missing the set is one number and owns no memory.

use std::collections::VecDeque;
use std::ops::Range;

/// All numbers below `low`, and those in `above`: sorted, none empty, none touching another or `low`.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    low: u64,
    above: VecDeque<Range<u64>>,
}

impl Ranges {
    /// The first number that is missing.
    #[inline]
    pub(super) fn low(&self) -> u64 {
        self.low
    }

    /// Behind the highest number in the set.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.above.back().map_or(self.low, |last| last.end)
    }

    /// Whether the set has this number.
    #[inline]
    pub(super) fn contains(&self, number: u64) -> bool {
        self.first_gap(number..number + 1).is_none()
    }

    /// How many ranges there are above the prefix.
    #[inline]
    pub(super) fn holes(&self) -> usize {
        self.above.len()
    }

    /// The highest `count` ranges above the prefix, the lowest first.
    pub(super) fn highest(&self, count: usize) -> impl Iterator<Item = &Range<u64>> {
        self.above.range(self.above.len().saturating_sub(count)..)
    }

    /// The first run of numbers in `range` that the set does not have.
    pub(super) fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        let mut start = range.start.max(self.low);
        let mut next = self.above.partition_point(|one| one.end <= start);
        if let Some(one) = self.above.get(next).filter(|one| one.start <= start) {
            (start, next) = (one.end, next + 1);
        }
        let end = self.above.get(next).map_or(range.end, |one| one.start.min(range.end));
        (start < end).then_some(start..end)
    }

    /// Adds a range; `new` hears those parts of it that were missing, in order.
    #[inline]
    pub(super) fn insert(&mut self, range: Range<u64>, mut new: impl FnMut(Range<u64>)) {
        if self.above.is_empty() && range.start <= self.low {
            if range.end > self.low {
                new(self.low..range.end);
                self.low = range.end;
            }
            return;
        }
        let mut rest = range.clone();
        while let Some(gap) = self.first_gap(rest.clone()) {
            rest.start = gap.end;
            new(gap);
        }
        self.merge(range);
    }

    /// Adds all numbers below `low`.
    pub(super) fn raise(&mut self, low: u64) {
        self.insert(0..low, drop);
    }

    fn merge(&mut self, range: Range<u64>) {
        if range.end <= self.low || range.is_empty() {
            return;
        }
        let first = self.above.partition_point(|one| one.end < range.start);
        let behind = self.above.partition_point(|one| one.start <= range.end);
        if first == behind {
            self.above.insert(first, range);
        } else {
            let start = self.above[first].start.min(range.start);
            let end = self.above[behind - 1].end.max(range.end);
            self.above[first] = start..end;
            self.above.drain(first + 1..behind);
        }
        if let Some(lowest) = self.above.front().filter(|one| one.start <= self.low) {
            self.low = lowest.end;
            self.above.pop_front();
        }
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.above.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The set's numbers below 200, as the set says by each of its questions.
    fn numbers(set: &Ranges) -> BTreeSet<u64> {
        let all: BTreeSet<u64> =
            (0..set.low).chain(set.above.iter().flat_map(Clone::clone)).collect();
        assert!((0..200).all(|n| set.contains(n) == all.contains(&n)));
        assert_eq!(set.end(), all.last().map_or(0, |last| last + 1));
        let starts = [set.low].into_iter().chain(set.above.iter().map(|one| one.end));
        assert!(set.above.iter().zip(starts).all(|(one, before)| before < one.start));
        assert!(set.above.iter().all(|one| !one.is_empty()));
        all
    }

    proptest! {
        #[test]
        fn are_a_set(
            steps in prop::collection::vec((0u64..100, 0u64..30, any::<bool>()), 1..60),
            asked in 0u64..100, len in 0u64..50,
        ) {
            let (mut set, mut model) = (Ranges::default(), BTreeSet::new());
            for (start, len, raises) in steps {
                let range = if raises && len < 5 { 0..start / 2 } else { start..start + len };
                let mut new = Vec::new();
                set.insert(range.clone(), |part| new.extend(part));
                let missing: Vec<u64> = range.clone().filter(|n| !model.contains(n)).collect();
                prop_assert_eq!(new, missing);
                model.extend(range);
                prop_assert_eq!(numbers(&set), model.clone());
                set.trim();
            }
            let gap = set.first_gap(asked..asked + len);
            let first = (asked..asked + len).find(|n| !model.contains(n));
            let last = first.map(|first| (first..asked + len).find(|n| model.contains(n)));
            let naive = first.map(|first| first..last.flatten().unwrap_or(asked + len));
            prop_assert_eq!(gap, naive);
            let highest: Vec<Range<u64>> = set.highest(2).cloned().collect();
            let from = set.above.len().saturating_sub(2);
            prop_assert_eq!(&highest[..], &set.above.make_contiguous()[from..]);
        }
    }
}
