//! How long an answer takes, and how long to wait for one (RFC 9002, §5 and §6).

use super::{ACK_DELAY, MILLISECOND, Nanos};

/// What is assumed before the first answer: long enough for a continent, short enough to send a first
/// message again soon in a cluster.
const FIRST: Nanos = 100 * MILLISECOND;
/// Timers are no finer than this.
const GRANULARITY: Nanos = MILLISECOND;
/// Silence is probed at least this often: what was lost while a path was down goes out soon after it
/// is up.
const PROBE_MAX: Nanos = 4000 * MILLISECOND;

/// Times from sending to the acknowledgement.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    smoothed: Nanos,
    variation: Nanos,
    latest: Nanos,
    /// The shortest so far; before the first, no time is.
    least: Nanos,
}

impl Default for Rtt {
    fn default() -> Rtt {
        Rtt { smoothed: FIRST, variation: FIRST / 2, latest: FIRST, least: Nanos::MAX }
    }
}

impl Rtt {
    /// An answer took `took`, of which the peer says that it held it back for `held`.
    pub(super) fn add(&mut self, took: Nanos, held: Nanos) {
        let is_first = self.smoothed().is_none();
        let least = self.least.min(took);
        // What the peer says is believed as far as it is possible.
        let took = if took >= least + held { took - held } else { took };
        self.latest = took;
        if is_first {
            (self.smoothed, self.variation) = (took, took / 2);
        } else {
            self.variation = (3 * self.variation + self.smoothed.abs_diff(took)) / 4;
            self.smoothed = (7 * self.smoothed + took) / 8;
        }
        self.least = least;
    }

    /// The smoothed time, once there is one.
    #[inline]
    pub(super) fn smoothed(&self) -> Option<Nanos> {
        (self.least < Nanos::MAX).then_some(self.smoothed)
    }

    /// The time over which a window is spread, once there is one: the smoothed, but after one answer of a peer
    /// that has computed for long, the next one counts.
    #[inline]
    pub(super) fn spread(&self) -> Option<Nanos> {
        self.smoothed().map(|smoothed| smoothed.min(self.latest))
    }

    /// After this time, a datagram is lost of which a later one has arrived: 9/8 of a round trip, more
    /// eighths where datagrams were found to overtake each other.
    pub(super) fn patience(&self, eighths: u32) -> Nanos {
        let round = self.smoothed.max(self.latest);
        (round + round * Nanos::from(eighths) / 8).max(GRANULARITY)
    }

    /// After this time without any answer one asks, for the `asked`th time in a row.
    pub(super) fn probe_after(&self, asked: u32) -> Nanos {
        let once = self.smoothed + (4 * self.variation).max(GRANULARITY) + ACK_DELAY;
        (once << asked.min(16)).min(PROBE_MAX.max(once))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_what_it_measures() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.smoothed(), None);
        rtt.add(8_000_000, 0);
        assert_eq!((rtt.smoothed(), rtt.variation), (Some(8_000_000), 4_000_000));
        for _ in 0..100 {
            rtt.add(16_000_000, 0);
        }
        assert!(rtt.smoothed().unwrap().abs_diff(16_000_000) < 100_000);
        assert!(rtt.variation < 100_000);
        assert!(rtt.patience(1).abs_diff(18_000_000) < 100_000);
    }

    #[test]
    fn a_peer_that_exaggerates_its_delay_makes_no_time_shorter_than_the_shortest() {
        let mut rtt = Rtt::default();
        rtt.add(10_000_000, 9_000_000);
        assert_eq!(rtt.smoothed(), Some(10_000_000));
        rtt.add(15_000_000, 5_000_000);
        assert_eq!(rtt.latest, 10_000_000);
        rtt.add(15_000_000, 14_000_000);
        assert_eq!(rtt.latest, 15_000_000);
    }

    #[test]
    fn probes_back_off_up_to_a_bound() {
        let mut rtt = Rtt::default();
        rtt.add(50_000, 0);
        let waits: Vec<Nanos> = (0..40).map(|asked| rtt.probe_after(asked)).collect();
        assert_eq!(waits[0], 50_000 + GRANULARITY + ACK_DELAY);
        assert_eq!(waits[1], 2 * waits[0]);
        assert!(waits.is_sorted() && waits[39] == PROBE_MAX);
    }
}
