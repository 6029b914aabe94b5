//! When the next datagram may leave: a window's worth is spread over a round trip, so that queues on
//! the way stay short, but batches of datagrams that the kernel takes at once stay whole.

use super::{MILLISECOND, Nanos};

/// A batch takes at most so long at the rate at which datagrams leave.
const BATCH: Nanos = MILLISECOND;
/// And may have so many datagrams however slow they leave.
const BATCH_DATAGRAMS: u64 = 10;

/// Bytes that may leave at once: a bucket that fills with time.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    bytes: f64,
    at: Nanos,
}

impl Pacer {
    /// Whether a datagram may leave now, where they leave at `rate` bytes a nanosecond and have at most
    /// `datagram` bytes; else when.
    pub(super) fn may_send(&mut self, now: Nanos, rate: f64, datagram: u64) -> Result<(), Nanos> {
        let most = (rate * BATCH as f64).max((BATCH_DATAGRAMS * datagram) as f64);
        let passed = now.saturating_sub(self.at) as f64;
        self.bytes = (self.bytes + passed * rate).min(most);
        self.at = now;
        match self.bytes > 0.0 {
            true => Ok(()),
            false => Err(now + 1 + (-self.bytes / rate) as Nanos),
        }
    }

    /// So many bytes left.
    #[inline]
    pub(super) fn spend(&mut self, bytes: u64) {
        self.bytes -= bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_to_the_rate_after_the_first_batch() {
        let (mut pacer, mut now, mut sent, mut last) = (Pacer::default(), 1_000_000, 0u64, 0);
        let (rate, begin) = (0.1, now);
        pacer.at = now;
        while now < begin + 100 * MILLISECOND {
            match pacer.may_send(now, rate, 1400) {
                Ok(()) => {
                    pacer.spend(1400);
                    sent += 1400;
                }
                Err(at) => {
                    assert!(at > now && at >= last, "time does not go on");
                    (now, last) = (at, at);
                }
            }
        }
        let fair = (100 * MILLISECOND) as f64 * rate;
        assert!((sent as f64) < fair + 2.0 * 1400.0 && sent as f64 > 0.99 * fair, "{sent}, {fair}");
    }

    #[test]
    fn who_was_quiet_may_send_one_batch_and_no_more() {
        let mut pacer = Pacer::default();
        let mut sent = 0;
        while pacer.may_send(3_600_000 * MILLISECOND, 1e-6, 1400).is_ok() {
            pacer.spend(1400);
            sent += 1;
        }
        assert_eq!(sent, BATCH_DATAGRAMS);
    }
}
