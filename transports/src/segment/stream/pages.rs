//! How much of its memory a stream makes use of, and when it gets the pages.
//!
//! A page costs a fault when it is first used, which a short program does not earn back; a long way round is cheaper
//! for each long body. So the way round grows with what goes through (see [`WorkingSet`]).
//!
//! In: lengths of bodies. Out: in how many bytes bodies go round, and pages to get.

use mpi_core::tuning::{LONG_BODY_BYTES, ROUND_BODIES, ROUND_LEAST_BYTES, ROUND_SHORT_BYTES};

use crate::working_set::{Touched, WorkingSet};

/// The pages of one stream.
pub(super) struct Pages {
    /// Bytes in which bodies go round when all pages are there.
    usual: usize,
    /// Long bodies go round in so many bytes.
    working_set: WorkingSet,
    touched: Touched,
    /// Ranks share processors.
    oversubscribed: bool,
}

/// A run of pages to get, as bytes of the room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Got {
    pub at: usize,
    pub len: usize,
}

impl Pages {
    /// None are there yet.
    pub(super) fn new(usual: usize) -> Pages {
        Pages {
            usual,
            working_set: WorkingSet::at_once(usual as u64),
            touched: Touched::new(0),
            oversubscribed: false,
        }
    }

    /// Says whether ranks share processors: then long bodies go round in half the room at most, and the next rank on
    /// a processor finds more in its caches.
    pub(super) fn set_oversubscribed(&mut self, oversubscribed: bool) {
        let usual = self.usual as u64;
        self.oversubscribed = oversubscribed;
        self.working_set = if oversubscribed {
            WorkingSet::oversubscribed(usual / 2)
        } else {
            WorkingSet::at_once(usual)
        };
    }

    /// Whether ranks share processors.
    #[inline]
    pub(super) fn are_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// Whether a body of this length is to be written past the caches.
    #[inline]
    pub(super) fn stream(&self, len: usize) -> bool {
        self.working_set.is_short() && len >= LONG_BODY_BYTES
    }

    /// Counts a body that goes through.
    #[inline]
    pub(super) fn carry(&mut self, len: usize) {
        if len >= LONG_BODY_BYTES {
            self.working_set.carry(len as u64);
        }
    }

    /// Bodies of this length go round in so many bytes; long ones in `round` where ranks share processors.
    #[inline]
    pub(super) fn window(&self, len: usize, round: usize) -> usize {
        let working_set = self.working_set.bytes() as usize;
        if len < LONG_BODY_BYTES || self.working_set.is_short() {
            return (ROUND_BODIES * len).next_power_of_two().clamp(ROUND_LEAST_BYTES, working_set);
        }
        match self.oversubscribed {
            true if round <= ROUND_SHORT_BYTES => round.min(self.usual).max(len),
            true => working_set.min(round).max(len),
            false => working_set.max(len),
        }
    }

    /// Whether what ends there needs pages that are not there.
    #[inline]
    pub(super) fn end_before(&self, end: usize) -> bool {
        self.touched.ends_before(end as u64)
    }

    /// The pages that a body is the first to use, and some that others will.
    #[cold]
    pub(super) fn get(&mut self, at: usize, len: usize, window: usize) -> Option<Got> {
        let limit = window.max(at + len);
        let wanted =
            if self.oversubscribed && limit <= ROUND_SHORT_BYTES { limit - at } else { len };
        let got = self.touched.step(at as u64, wanted as u64, limit as u64);
        got.map(|(at, len)| Got { at: at as usize, len: len as usize })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn long_bodies_go_round_in_their_share_of_the_caches_where_ranks_share_processors() {
        let mut pages = Pages::new(1 << 20);
        let (long, short) = (16 << 10, 1000);
        pages.set_oversubscribed(true);
        let short_rounds = [100_000, ROUND_SHORT_BYTES, ROUND_SHORT_BYTES + 1];
        let at_first = short_rounds.map(|round| pages.window(long, round));
        assert_eq!(at_first, [100_000, ROUND_SHORT_BYTES, 32 << 10]);
        while pages.working_set.grow() {}
        assert_eq!(pages.window(long, 100_000), 100_000);
        assert_eq!(pages.window(200_000, 100_000), 200_000);
        assert_eq!(pages.window(long, 1 << 21), 512 << 10, "half of the room is the most");
        assert_eq!(pages.window(short, 5000), 8192);
        pages.set_oversubscribed(false);
        assert!(pages.stream(long) && !pages.stream(short));
        while pages.working_set.grow() {}
        assert_eq!(pages.window(long, 100_000), 1 << 20);
        assert!(!pages.stream(long));
    }

    #[test]
    fn pages_are_got_once_and_somewhat_ahead() {
        let mut pages = Pages::new(1 << 20);
        assert!(pages.end_before(4096) && pages.get(0, 4096, 1 << 20).is_some());
        assert!(!pages.end_before(4096) && pages.get(0, 4096, 1 << 20).is_none());
    }
}
