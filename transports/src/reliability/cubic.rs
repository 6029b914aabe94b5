//! How many bytes may be under way: a congestion window that grows with the time since the last loss and
//! not with the round trip, so that it fills a long path as well as a short one (CUBIC, RFC 9438).

use super::slow_start::SlowStart;
use super::{Nanos, SECOND};

/// What is left of the window after a loss.
const BETA: f64 = 0.7;
/// Growth in datagrams per cubic second.
const C: f64 = 0.4;
/// The first window, in datagrams (RFC 6928). It is also what an unknown peer is sent unasked: the usual
/// receive buffer has room for the first words of many peers at once.
const FIRST: u64 = 10;
/// The least window, in datagrams: enough that the loss of one shows by the arrival of three.
const LEAST: u64 = 4;
/// How much faster than the window is used up datagrams may leave, while it doubles and later.
const GAIN_FIRST: f64 = 2.0;
const GAIN: f64 = 1.25;

/// What was acknowledged at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    /// When.
    pub now: Nanos,
    /// Bytes that were under way until then.
    pub bytes: u64,
    /// When the newest of these datagrams was sent.
    pub sent: Nanos,
    /// The smoothed round trip.
    pub round_trip: Nanos,
    /// Whether the window was in use: one that nobody uses up does not grow.
    pub was_full: bool,
}

/// The window, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    datagram: f64,
    window: f64,
    slow_start: Option<SlowStart>,
    /// The window at the last loss, and what additive growth would have made of it since.
    most: f64,
    additive: f64,
    /// When growth began after the last loss, and the seconds until it reaches `most`.
    epoch: Option<(Nanos, f64)>,
    /// Losses of what was sent until then are one loss.
    reduced: Nanos,
}

impl Cubic {
    /// The first window, with datagrams of so many bytes.
    pub(super) fn new(datagram: u64) -> Cubic {
        let (window, slow_start) = ((FIRST * datagram) as f64, Some(SlowStart::default()));
        let (most, additive, epoch, reduced) = (0.0, 0.0, None, 0);
        let datagram = datagram as f64;
        Cubic { datagram, window, slow_start, most, additive, epoch, reduced }
    }

    /// The first window of a path that is taken because another one was silent: what is sent may be what the
    /// peer has long since and could not answer.
    pub(super) fn on_another_path(datagram: u64) -> Cubic {
        let cubic = Cubic::new(datagram);
        Cubic { window: cubic.least(), ..cubic }
    }

    /// Datagrams have so many bytes from now on.
    pub(super) fn set_datagram(&mut self, bytes: u64) {
        self.datagram = bytes as f64;
        self.window = self.window.max(self.least());
    }

    fn least(&self) -> f64 {
        LEAST as f64 * self.datagram
    }

    /// Bytes that may be under way.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.window as u64
    }

    /// Bytes a nanosecond that may leave, where a round trip takes so long.
    #[inline]
    pub(super) fn rate(&self, round_trip: Nanos) -> f64 {
        let gain = if self.slow_start.is_some() { GAIN_FIRST } else { GAIN };
        gain * self.window / round_trip.max(1) as f64
    }

    /// Something was acknowledged.
    pub(super) fn acknowledged(&mut self, acked: &Acknowledged) {
        if !acked.was_full || acked.sent <= self.reduced {
            return;
        }
        if let Some(slow_start) = &mut self.slow_start {
            match slow_start.growth(acked.sent, acked.now) {
                Some(growth) => self.window += growth * acked.bytes as f64,
                None => self.slow_start = None,
            }
            return;
        }
        let (window, datagram) = (self.window, self.datagram);
        let (began, seconds) = *self.epoch.get_or_insert_with(|| {
            self.additive = window;
            self.most = self.most.max(window);
            (acked.now, ((self.most - window) / C / datagram).cbrt())
        });
        let later = (acked.now - began + acked.round_trip) as f64 / SECOND as f64 - seconds;
        let target = (C * later.powi(3) * datagram + self.most).clamp(window, 1.5 * window);
        let share = acked.bytes as f64 / window;
        // Beyond the old window the growth is that of Reno, before it what gives Reno's share.
        let step = if self.additive >= self.most { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.additive += step * share * datagram;
        self.window = (window + (target - window) * share).max(self.additive);
    }

    /// Something was lost that was sent at `sent`; whether that is another loss than the last one.
    pub(super) fn lost(&mut self, now: Nanos, sent: Nanos) -> bool {
        if sent <= self.reduced {
            return false;
        }
        // Who loses before reaching the old window leaves room for others.
        let is_less = self.window < self.most;
        self.most = if is_less { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.window = (self.window * BETA).max(self.least());
        (self.slow_start, self.epoch, self.reduced) = (None, None, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reliability::MILLISECOND;

    const RTT: Nanos = 100 * MILLISECOND;

    /// A round trip in which the whole window is acknowledged in ten parts.
    fn round(cubic: &mut Cubic, now: &mut Nanos, was_full: bool) {
        let bytes = cubic.bytes() / 10;
        for _ in 0..10 {
            *now += RTT / 10;
            let (now, sent) = (*now, *now - RTT);
            cubic.acknowledged(&Acknowledged { now, bytes, sent, round_trip: RTT, was_full });
        }
    }

    #[test]
    fn doubles_each_round_until_something_is_lost() {
        let (mut cubic, mut now) = (Cubic::new(1000), RTT);
        assert_eq!(cubic.bytes(), 10_000);
        for doubled in 1..8 {
            round(&mut cubic, &mut now, true);
            assert!(cubic.bytes().abs_diff(10_000 << doubled) < 100 << doubled, "{cubic:?}");
        }
        let before = cubic.bytes();
        cubic.lost(now, now - 1);
        assert_eq!(cubic.bytes(), (before as f64 * BETA) as u64);
        cubic.lost(now, now - 2);
        assert_eq!(cubic.bytes(), (before as f64 * BETA) as u64, "that was the same loss");
    }

    #[test]
    fn comes_back_to_the_old_window_slowly_and_then_goes_beyond_it() {
        let (mut cubic, mut now) = (Cubic::new(1000), RTT);
        (0..7).for_each(|_| round(&mut cubic, &mut now, true));
        let before = cubic.bytes();
        cubic.lost(now, now - 1);
        // (before × 0.3 ÷ 0.4)^⅓ seconds.
        let back = (before as f64 * 0.3 / 0.4 / 1000.0).cbrt();
        let lost = now;
        while ((now - lost) as f64) < (back + 0.2) * SECOND as f64 {
            round(&mut cubic, &mut now, true);
        }
        assert!(cubic.bytes() > before * 95 / 100 && cubic.bytes() < before * 105 / 100);
        (0..200).for_each(|_| round(&mut cubic, &mut now, true));
        assert!(cubic.bytes() > 2 * before);
    }

    #[test]
    fn does_not_grow_unused_nor_shrink_to_nothing() {
        let (mut cubic, mut now) = (Cubic::new(1000), RTT);
        (0..50).for_each(|_| round(&mut cubic, &mut now, false));
        assert_eq!(cubic.bytes(), 10_000);
        for _ in 0..50 {
            cubic.lost(now, now);
            now += RTT;
        }
        assert_eq!(cubic.bytes(), 4_000);
        cubic.set_datagram(9_000);
        assert_eq!(cubic.bytes(), 36_000);
    }
}
