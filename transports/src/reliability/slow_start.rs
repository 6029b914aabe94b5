//! When the first, exponential growth of a window has to end though nothing was lost: when the round trip
//! becomes longer, since a queue grows on the way (HyStart++, RFC 9406).
//!
//! A longer round trip may also be a peer that was busy. So growth first becomes slower for some rounds,
//! and quick again if the round trip becomes short again.

use super::{MICROSECOND, MILLISECOND, Nanos};

/// Round trips of a round before it is judged.
const SAMPLES: u32 = 8;
/// How much longer a round trip must be: an eighth, but no less and no more than these. RFC 9406 has
/// 4 ms for the least, which in a cluster is more than all queues hold.
const LONGER: std::ops::RangeInclusive<Nanos> = 100 * MICROSECOND..=16 * MILLISECOND;
/// Rounds of slower growth.
const SLOWER_ROUNDS: u32 = 5;
/// How much slower.
const SLOWER: f64 = 0.25;

/// What was seen of the round trips.
#[derive(Clone, Debug)]
pub(super) struct SlowStart {
    /// When this round began, the shortest round trips of it and of the last one, and samples in it.
    began: Nanos,
    least: Nanos,
    least_before: Nanos,
    samples: u32,
    /// Growth is slower: the round trip by which it became so, and rounds since.
    slower: Option<(Nanos, u32)>,
}

impl Default for SlowStart {
    fn default() -> SlowStart {
        let (least, least_before) = (Nanos::MAX, Nanos::MAX);
        SlowStart { began: 0, least, least_before, samples: 0, slower: None }
    }
}

impl SlowStart {
    /// A datagram sent at `sent` was acknowledged at `now`. How fast the window grows: bytes for each byte
    /// acknowledged; `None` when this kind of growth is over.
    pub(super) fn growth(&mut self, sent: Nanos, now: Nanos) -> Option<f64> {
        if sent >= self.began {
            (self.began, self.least_before) = (now, self.least);
            (self.least, self.samples) = (Nanos::MAX, 0);
            if let Some((_, rounds)) = &mut self.slower {
                *rounds += 1;
            }
        }
        self.least = self.least.min(now - sent);
        self.samples += 1;
        let is_judged = self.samples >= SAMPLES;
        match self.slower {
            Some((_, SLOWER_ROUNDS..)) => return None,
            Some((by, _)) if is_judged && self.least < by => self.slower = None,
            None if is_judged && self.least_before < Nanos::MAX => {
                let longer = (self.least_before / 8).clamp(*LONGER.start(), *LONGER.end());
                if self.least >= self.least_before + longer {
                    self.slower = Some((self.least, 0));
                }
            }
            _ => {}
        }
        Some(if self.slower.is_some() { SLOWER } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 20 acknowledgements whose round trips are `round_trip(round)`; the growth in each.
    fn rounds(count: u64, round_trip: impl Fn(u64) -> Nanos) -> Vec<Option<f64>> {
        let (mut start, mut sent) = (SlowStart::default(), 0);
        let mut grow = |round| {
            let mut growth = None;
            for ack in 0..20 {
                growth = start.growth(sent + ack, sent + ack + round_trip(round));
            }
            sent += 20 + round_trip(round);
            growth
        };
        (0..count).map(&mut grow).collect()
    }

    #[test]
    fn goes_on_while_round_trips_stay_as_they_are() {
        assert_eq!(rounds(50, |_| 20 * MILLISECOND), [Some(1.0); 50]);
    }

    #[test]
    fn ends_some_rounds_after_they_have_become_longer() {
        let growth =
            rounds(20, |round| 20 * MILLISECOND + round.saturating_sub(5) * 4 * MILLISECOND);
        let quick = growth.iter().filter(|growth| **growth == Some(1.0)).count();
        let slow = growth.iter().filter(|growth| **growth == Some(SLOWER)).count();
        assert_eq!((quick, slow), (6, SLOWER_ROUNDS as usize), "{growth:?}");
        assert_eq!(growth[19], None);
    }

    #[test]
    fn a_busy_peer_does_not_end_it() {
        let busy = |round| if round == 5 { 90 * MILLISECOND } else { 20 * MILLISECOND };
        let growth = rounds(20, busy);
        assert_eq!(growth[5], Some(SLOWER), "{growth:?}");
        assert_eq!(growth[19], Some(1.0), "{growth:?}");
    }
}
