//! How much of a ring is in use: little at first, all of it when much has gone through.
//!
//! A page costs a fault when it is first used, a short way costs at each page carried, since both processors keep its
//! lines in their own caches. So a short program wants a short way and a long one the long way: the way is doubled once
//! it has been gone sixteen times, when what the short one has cost comes near to what more pages will. Where the short
//! way is gone past the caches a middle one would be no better, so that one grows all at once.

use mpi_core::tuning::{
    FIRST_CACHE_BYTES, LAP_FIRST_BYTES, LAP_TURNS, PAGES_FIRST_BYTES, PAGES_MOST_BYTES,
};

/// The way round.
#[derive(Debug)]
pub(crate) struct Lap {
    bytes: u64,
    most: u64,
    left: u64,
    at_once: bool,
}

impl Lap {
    /// A way that grows to `most` bytes.
    pub(crate) fn new(most: u64) -> Lap {
        Lap::begin(LAP_FIRST_BYTES, most)
    }

    /// A way that grows to `most` bytes in one step, after as many as a doubled one would.
    pub(crate) fn at_once(most: u64) -> Lap {
        let lap = Lap::new(most);
        Lap { left: LAP_TURNS * most / 2, at_once: true, ..lap }
    }

    /// As [`Lap::new`] for ranks that share processors: what is read next is still in the nearest cache.
    pub(crate) fn crowded(most: u64) -> Lap {
        Lap::begin(FIRST_CACHE_BYTES as u64, most)
    }

    fn begin(first: u64, most: u64) -> Lap {
        let bytes = most.min(first);
        Lap { bytes, most, left: LAP_TURNS * bytes, at_once: false }
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
        self.left = if grows { LAP_TURNS * self.bytes } else { u64::MAX };
        grows
    }
}

/// How far a ring has been used: each page beyond costs a fault, unless many are got with one call.
#[derive(Debug)]
pub(crate) struct Worn {
    base: u64,
    end: u64,
}

impl Worn {
    /// Nothing of the ring at `base` has been used.
    pub(crate) fn new(base: u64) -> Worn {
        Worn { base, end: base }
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
        let mut lap = Lap::new(5 * LAP_FIRST_BYTES);
        let mut steps = vec![lap.bytes()];
        let mut carried = 0;
        while carried < 1000 * LAP_FIRST_BYTES {
            let before = lap.bytes();
            lap.carry(1000);
            carried += 1000;
            if lap.bytes() != before {
                steps.push(lap.bytes());
            }
        }
        assert_eq!(steps, [1, 2, 4, 5].map(|n| n * LAP_FIRST_BYTES));
        assert!(!lap.grow());
        let most = 5 * LAP_FIRST_BYTES;
        let mut lap = Lap::at_once(most);
        lap.carry(LAP_TURNS * most / 2 - 1);
        assert!(lap.is_short() && lap.bytes() == LAP_FIRST_BYTES);
        lap.carry(1);
        assert!(!lap.is_short() && lap.bytes() == most);
        assert_eq!(
            (Lap::new(1000).bytes(), Lap::crowded(1 << 20).bytes()),
            (1000, FIRST_CACHE_BYTES as u64)
        );
    }

    #[test]
    fn pages_are_got_once_and_more_at_a_time() {
        let (base, limit) = (1 << 20, (1 << 20) + (300 << 10));
        let mut worn = Worn::new(base);
        let mut end = base;
        for offset in (base..limit).step_by(4096) {
            if let Some((from, len)) = worn.step(offset, 4096, limit) {
                assert_eq!(from, end);
                end = from + len;
            }
            assert!(end >= offset + 4096);
        }
        assert_eq!(end, limit);
        assert_eq!(worn.step(base, 100, limit), None);
    }
}
