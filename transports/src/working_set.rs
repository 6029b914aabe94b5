//! How much of a ring is in use: little at first, all of it when much has gone through.
//!
//! A page costs a fault when it is first used, a short way costs at each page carried, since both processors keep its
//! lines in their own caches. So a short program wants a short way and a long one the long way: the way is doubled once
//! it has been gone sixteen times, when what the short one has cost comes near to what more pages will. Where the short
//! way is gone past the caches a middle one would be no better, so that one grows all at once.

use mpi_core::tuning::{
    FIRST_CACHE_BYTES, PAGES_FIRST_BYTES, PAGES_MOST_BYTES, WORKING_SET_FIRST_BYTES,
    WORKING_SET_ROUNDS,
};

/// The way round.
#[derive(Debug)]
pub(crate) struct WorkingSet {
    bytes: u64,
    most: u64,
    left: u64,
    at_once: bool,
}

impl WorkingSet {
    /// A way that grows to `most` bytes.
    pub(crate) fn new(most: u64) -> WorkingSet {
        WorkingSet::begin(WORKING_SET_FIRST_BYTES, most)
    }

    /// A way that grows to `most` bytes in one step, after as many as a doubled one would.
    pub(crate) fn at_once(most: u64) -> WorkingSet {
        let working_set = WorkingSet::new(most);
        WorkingSet { left: WORKING_SET_ROUNDS * most / 2, at_once: true, ..working_set }
    }

    /// As [`WorkingSet::new`] for ranks that share processors: what is read next is still in the nearest cache.
    pub(crate) fn oversubscribed(most: u64) -> WorkingSet {
        WorkingSet::begin(FIRST_CACHE_BYTES as u64, most)
    }

    fn begin(first: u64, most: u64) -> WorkingSet {
        let bytes = most.min(first);
        WorkingSet { bytes, most, left: WORKING_SET_ROUNDS * bytes, at_once: false }
    }

    /// Whether it is one that grows at once, and has not grown yet.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.at_once && self.bytes < self.most
    }

    /// Its bytes now.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts so many bytes that go through.
    #[inline]
    pub(crate) fn carry(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
        if self.left == 0 {
            self.grow();
        }
    }

    /// Makes the way longer, unless it is as long as it may be already.
    #[cold]
    pub(crate) fn grow(&mut self) -> bool {
        let grows = self.bytes < self.most;
        self.bytes = if self.at_once { self.most } else { (2 * self.bytes).min(self.most) };
        self.left = if grows { WORKING_SET_ROUNDS * self.bytes } else { u64::MAX };
        grows
    }
}

/// How far a ring has been used: each page beyond costs a fault, unless many are got with one call.
#[derive(Debug)]
pub(crate) struct Touched {
    base: u64,
    end: u64,
}

impl Touched {
    /// Nothing of the ring at `base` has been used.
    pub(crate) fn new(base: u64) -> Touched {
        Touched { base, end: base }
    }

    /// Whether what ends at `end` has not all been used.
    #[inline]
    pub(crate) fn ends_before(&self, end: u64) -> bool {
        end > self.end
    }

    /// What is to be got, if anything, before `len` bytes at `offset` are used; nothing beyond `limit`.
    #[inline]
    pub(crate) fn step(&mut self, offset: u64, len: u64, limit: u64) -> Option<(u64, u64)> {
        let end = offset + len;
        (end > self.end && offset >= self.base).then(|| self.advance(offset, end, limit))
    }

    #[cold]
    fn advance(&mut self, offset: u64, end: u64, limit: u64) -> (u64, u64) {
        let from = self.end.max(offset);
        let ahead = (self.end - self.base).clamp(PAGES_FIRST_BYTES, PAGES_MOST_BYTES);
        self.end = end.max(from + ahead).min(limit);
        (from, self.end - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_doubled_when_it_has_been_gone_often_and_never_beyond_its_most() {
        let mut working_set = WorkingSet::new(5 * WORKING_SET_FIRST_BYTES);
        let mut steps = vec![working_set.bytes()];
        let mut carried = 0;
        while carried < 1000 * WORKING_SET_FIRST_BYTES {
            let before = working_set.bytes();
            working_set.carry(1000);
            carried += 1000;
            if working_set.bytes() != before {
                steps.push(working_set.bytes());
            }
        }
        assert_eq!(steps, [1, 2, 4, 5].map(|n| n * WORKING_SET_FIRST_BYTES));
        assert!(!working_set.grow());
        let most = 5 * WORKING_SET_FIRST_BYTES;
        let mut working_set = WorkingSet::at_once(most);
        working_set.carry(WORKING_SET_ROUNDS * most / 2 - 1);
        assert!(working_set.is_short() && working_set.bytes() == WORKING_SET_FIRST_BYTES);
        working_set.carry(1);
        assert!(!working_set.is_short() && working_set.bytes() == most);
        assert_eq!(
            (WorkingSet::new(1000).bytes(), WorkingSet::oversubscribed(1 << 20).bytes()),
            (1000, FIRST_CACHE_BYTES as u64)
        );
    }

    #[test]
    fn pages_are_got_once_and_more_at_a_time() {
        let (base, limit) = (1 << 20, (1 << 20) + (300 << 10));
        let mut touched = Touched::new(base);
        let mut end = base;
        for offset in (base..limit).step_by(4096) {
            if let Some((from, len)) = touched.step(offset, 4096, limit) {
                assert_eq!(from, end);
                end = from + len;
            }
            assert!(end >= offset + 4096);
        }
        assert_eq!(end, limit);
        assert_eq!(touched.step(base, 100, limit), None);
    }
}
