//! How large datagrams may be on their path: tried with datagrams of padding (RFC 8899), since routers need
//! not say what they drop.
//!
//! A link begins with a base, which every path carries, and knows a ceiling, which the local card does. The
//! ceiling is tried first, then sizes in between by halves. What was found holds until larger datagrams are
//! lost again and again while small ones come through; then the base is taken again.
//!
//! In: what became of probes and of large datagrams. Out: the size in use, and the next one to try.

use super::{Nanos, SECOND};

/// The least that a datagram must carry: a front and some bytes behind it.
const LEAST: u16 = super::wire::FRONT_BYTES_MAX as u16 + 64;
/// Probes of one size, all lost, that prove it too large (RFC 8899, MAX_PROBES).
const PROBES_MAX: u8 = 3;
/// A search is over when no more than so many bytes could be gained.
const STEP: u16 = 32;
/// After so many seconds a search begins anew (RFC 8899, PMTU_RAISE_TIMER).
const REST_SECONDS: u32 = 600;
/// Losses, each answered at its smaller datagrams, less arrivals of large ones, by which the path does not carry these
/// any more, or so few of them that small ones are better. Chance alone, where one of twenty is lost, does that once in
/// 10⁸ times.
const LOSSES_MAX: u8 = 6;

/// What is known of a path.
#[derive(Clone, Debug)]
pub(super) struct Mtu {
    /// The size that every path carries, the one in use, and the one that the local card carries.
    base: u16,
    good: u16,
    ceiling: u16,
    /// The least size that did not come through, or above the ceiling.
    bad: u16,
    /// No search before this second.
    rest_until: u32,
    /// A probe is under way.
    is_out: bool,
    /// Probes of the size in turn that were lost.
    tries: u8,
    /// Losses of large datagrams, less arrivals since.
    losses: u8,
}

impl Mtu {
    /// Datagrams of so many bytes, and no search.
    pub(super) fn new(base: u16) -> Mtu {
        let base = base.max(LEAST);
        let (good, ceiling, bad) = (base, base, base.saturating_add(1));
        Mtu { base, good, ceiling, bad, rest_until: 0, is_out: false, tries: 0, losses: 0 }
    }

    /// Bytes that a datagram may have.
    #[inline]
    pub(super) fn bytes(&self) -> u16 {
        self.good
    }

    /// The local card carries so many bytes, which may be less than the base.
    pub(super) fn set_ceiling(&mut self, bytes: u16) {
        self.ceiling = bytes.clamp(LEAST, u16::MAX - 1);
        self.base = self.base.min(self.ceiling);
        self.good = self.good.min(self.ceiling);
        self.search();
    }

    /// The path is another one, or may have become one: all that is known is the base.
    pub(super) fn begin_anew(&mut self) {
        (self.good, self.is_out, self.losses) = (self.base, false, 0);
        self.search();
    }

    fn search(&mut self) {
        (self.bad, self.tries, self.rest_until) = (self.ceiling + 1, 0, 0);
    }

    /// Whether there is a larger size to be tried, now or later.
    #[inline]
    pub(super) fn may_grow(&self) -> bool {
        self.good < self.ceiling && !self.is_out
    }

    /// The size of the probe that leaves now, if one is to.
    pub(super) fn next_probe(&mut self, now: Nanos) -> Option<u16> {
        if !self.may_grow() || seconds(now) < self.rest_until {
            return None;
        }
        if self.rest_until > 0 {
            self.search();
        }
        self.is_out = true;
        Some(self.turn())
    }

    /// The size in turn.
    fn turn(&self) -> u16 {
        match self.bad > self.ceiling {
            true => self.ceiling,
            false => self.good + (self.bad - self.good) / 2,
        }
    }

    /// A probe has arrived.
    pub(super) fn probe_came(&mut self, bytes: u16, now: Nanos) {
        self.is_out = false;
        if (self.good + 1..=self.ceiling).contains(&bytes) {
            // It may have been late only, and its size been given up.
            let bad = if self.bad > bytes { self.bad } else { self.ceiling + 1 };
            (self.good, self.bad, self.tries, self.losses) = (bytes, bad, 0, 0);
            self.rest_if_found(now);
        }
    }

    /// A probe was lost.
    pub(super) fn probe_lost(&mut self, bytes: u16, now: Nanos) {
        self.is_out = false;
        if bytes <= self.good || bytes != self.turn() {
            return;
        }
        self.tries += 1;
        if self.tries >= PROBES_MAX {
            (self.bad, self.tries) = (bytes, 0);
            self.rest_if_found(now);
        }
    }

    /// A probe did not leave: nothing is known.
    pub(super) fn probe_stayed(&mut self) {
        self.is_out = false;
    }

    fn rest_if_found(&mut self, now: Nanos) {
        if self.bad - self.good <= STEP {
            self.rest_until = seconds(now) + REST_SECONDS;
        }
    }

    /// A datagram of so many bytes has arrived that was no probe.
    #[inline]
    pub(super) fn came(&mut self, bytes: u16) {
        if bytes > self.base {
            self.losses = self.losses.saturating_sub(1);
        }
    }

    /// Of datagrams that were no probes some were lost, the largest with so many bytes, while others have
    /// arrived that were sent later. What is lost within one round trip is one loss.
    pub(super) fn lost(&mut self, bytes: u16, now: Nanos) {
        if bytes <= self.base || self.good == self.base {
            return;
        }
        self.losses += 1;
        if self.losses >= LOSSES_MAX {
            self.begin_anew();
            self.rest_until = seconds(now) + REST_SECONDS;
        }
    }

    /// Whether the last large datagrams were lost: what is to come through should be small.
    #[inline]
    pub(super) fn is_in_doubt(&self) -> bool {
        self.losses > 0
    }

    /// The local system does not send datagrams of so many bytes.
    pub(super) fn refused(&mut self, bytes: u16, now: Nanos) {
        if bytes <= self.base {
            self.base = (bytes / 4 * 3).max(LEAST);
        }
        if bytes <= self.good {
            self.begin_anew();
        }
        if bytes < self.bad {
            (self.bad, self.tries) = (bytes.max(self.good + 1), 0);
            self.rest_if_found(now);
        }
    }
}

fn seconds(now: Nanos) -> u32 {
    (now / SECOND) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Probes until none is due; their sizes.
    fn search(mtu: &mut Mtu, now: Nanos, path: u16) -> Vec<u16> {
        let next = || {
            let bytes = mtu.next_probe(now)?;
            assert_eq!(mtu.next_probe(now), None, "two probes at once");
            match bytes <= path {
                true => mtu.probe_came(bytes, now),
                false => mtu.probe_lost(bytes, now),
            }
            Some(bytes)
        };
        std::iter::from_fn(next).collect()
    }

    fn mtu(base: u16, ceiling: u16) -> Mtu {
        let mut mtu = Mtu::new(base);
        mtu.set_ceiling(ceiling);
        mtu
    }

    #[test]
    fn the_ceiling_is_tried_first_and_mostly_last() {
        let mut mtu = mtu(1200, 65_000);
        assert_eq!(search(&mut mtu, SECOND, 65_000), [65_000]);
        assert_eq!(mtu.bytes(), 65_000);
        assert_eq!(search(&mut mtu, 10_000 * SECOND, 65_000), []);
    }

    #[test]
    fn without_a_ceiling_nothing_is_tried() {
        let mut mtu = Mtu::new(1200);
        assert_eq!((mtu.next_probe(SECOND), mtu.bytes()), (None, 1200));
    }

    #[test]
    fn a_path_that_grows_is_found_when_the_rest_is_over() {
        let mut mtu = mtu(1200, 8950);
        search(&mut mtu, SECOND, 1450);
        let found = mtu.bytes();
        assert!((1450 - STEP..=1450).contains(&found), "{found}");
        let rest = u64::from(REST_SECONDS) * SECOND;
        assert_eq!(search(&mut mtu, rest, 9000), []);
        assert_eq!(search(&mut mtu, SECOND + rest, 9000), [8950]);
    }

    #[test]
    fn large_ones_lost_more_often_than_not_bring_back_the_base() {
        let mut mtu = mtu(1200, 8950);
        search(&mut mtu, SECOND, 9000);
        for _ in 0..20 {
            (1..LOSSES_MAX).for_each(|_| mtu.lost(8950, SECOND));
            (0..20).for_each(|_| mtu.lost(1200, SECOND));
            mtu.came(1200);
            assert!(mtu.is_in_doubt());
            (1..LOSSES_MAX).for_each(|_| mtu.came(8000));
            assert!(!mtu.is_in_doubt());
        }
        (1..LOSSES_MAX).for_each(|_| mtu.lost(8950, SECOND));
        mtu.came(8000);
        mtu.lost(8950, SECOND);
        assert_eq!(mtu.bytes(), 8950);
        mtu.lost(8950, SECOND);
        assert_eq!((mtu.bytes(), mtu.next_probe(599 * SECOND)), (1200, None));
        assert_eq!(mtu.next_probe(601 * SECOND), Some(8950));
    }

    #[test]
    fn what_the_system_refuses_is_too_large_at_once() {
        let mut mtu = mtu(1200, 8950);
        assert_eq!(mtu.next_probe(SECOND), Some(8950));
        mtu.probe_stayed();
        mtu.refused(8950, SECOND);
        assert!(mtu.next_probe(SECOND).is_some_and(|bytes| bytes < 8950));
        mtu.probe_came(5000, SECOND);
        mtu.refused(3000, SECOND);
        assert_eq!(mtu.bytes(), 1200);
        let tried = search(&mut mtu, SECOND, 9000);
        assert!(tried.iter().all(|bytes| *bytes < 3000) && mtu.bytes() >= 3000 - STEP, "{tried:?}");
        // Even the base: it comes to an end.
        for _ in 0..20 {
            mtu.refused(mtu.bytes(), SECOND);
        }
        assert_eq!(mtu.bytes(), LEAST);
    }

    proptest! {
        /// What a search finds the path carries, and hardly more; each size is tried three times at most.
        #[test]
        fn a_search_finds_what_the_path_carries(
            base in LEAST..9000, above in 0u16..60_000, path: u16, refuses: bool,
        ) {
            let (path, ceiling) = (path.max(base), base.saturating_add(above));
            let mut mtu = mtu(base, ceiling);
            let tried = search(&mut mtu, SECOND, path);
            prop_assert!(mtu.bytes() <= path.min(ceiling) && mtu.bytes() >= base);
            prop_assert!(mtu.bytes() + STEP >= path.min(ceiling.min(u16::MAX - 1)));
            prop_assert!(tried.len() <= 16 * usize::from(PROBES_MAX), "{:?}", tried);
            if refuses && mtu.bytes() > base {
                mtu.refused(mtu.bytes(), SECOND);
                prop_assert_eq!(mtu.bytes(), base);
            }
            mtu.begin_anew();
            prop_assert_eq!(mtu.bytes(), base);
        }

        /// Whatever is told in whatever order, the size lies between the least and the ceiling.
        #[test]
        fn the_size_stays_within_bounds(
            base: u16, ceiling: u16, steps in prop::collection::vec((0u8..8, any::<u16>(), 0u64..300), 0..200),
        ) {
            let (mut mtu, mut now) = (mtu(base, ceiling), SECOND);
            for (what, bytes, passed) in steps {
                now += passed * SECOND;
                match what {
                    0 => drop(mtu.next_probe(now)),
                    1 => mtu.probe_came(bytes, now),
                    2 => mtu.probe_lost(mtu.turn(), now),
                    3 => mtu.probe_stayed(),
                    4 => mtu.lost(bytes, now),
                    5 => mtu.came(bytes),
                    6 => mtu.refused(bytes, now),
                    _ => mtu.begin_anew(),
                }
                prop_assert!((LEAST..=mtu.ceiling.max(LEAST)).contains(&mtu.bytes()), "{:?}", mtu);
                prop_assert!(mtu.base <= mtu.good && mtu.good < mtu.bad, "{:?}", mtu);
                if let Some(probe) = mtu.clone().next_probe(now) {
                    prop_assert!(probe > mtu.good && probe <= mtu.ceiling, "{:?}", mtu);
                }
            }
        }
    }
}
