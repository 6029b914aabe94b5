//! Eager credits: how much unexpected data a sender may put on a receiver.
//!
//! A message costs units: one, and one more for each further 64 bytes. The receiver counts the
//! units of messages that left its unexpected queue or never entered it, whatever their order,
//! and that sum modulo 2¹⁶ rides back in every header; a frame of its own carries it when nothing
//! else has gone that way until the receiver looks for news again. Without credit a sender
//! announces its message by an RTS and keeps the bytes. The window grows as long as it is what
//! holds a sender back.

/// The most that a message costs: what 64 KiB do.
const UNITS_MOST: u16 = 1024;
/// Units that a sender may have outstanding at first: two of the longest messages that blocking sends
/// do not announce (see `send`) and some short ones. Where two send to each other first and receive then,
/// again and again, the second message leaves before the receipt of the first is known.
const WINDOW_FIRST: u16 = 2 * UNITS_MOST + 256;
/// The largest window; half the range of the counter, so that it never wraps into itself.
const WINDOW_MAX: u16 = 1 << 14;
/// Units after which a receiver reports by a frame of its own: well before the first window is used up.
const REPORT_AFTER: u16 = UNITS_MOST / 4;
/// Bytes of one unit: a cache line.
const UNIT_BYTES: u64 = 64;

/// Both directions of one pair's credit.
pub(crate) struct Credit {
    sent: u16,
    acknowledged: u16,
    window: u16,
    consumed: u16,
    reported: u16,
}

impl Default for Credit {
    fn default() -> Credit {
        Credit { sent: 0, acknowledged: 0, window: WINDOW_FIRST, consumed: 0, reported: 0 }
    }
}

/// What a message of `bytes` costs.
#[inline]
fn units(bytes: u64) -> u16 {
    if bytes < UNIT_BYTES {
        return 1;
    }
    (1 + bytes / UNIT_BYTES).min(u64::from(UNITS_MOST)) as u16
}

impl Credit {
    /// Takes the credit for an eager message of `bytes`; `false` if there is not enough.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let outstanding = self.sent.wrapping_sub(self.acknowledged);
        let cost = units(bytes);
        if outstanding + cost > self.window {
            self.window = (self.window * 2).min(WINDOW_MAX);
            return false;
        }
        self.sent = self.sent.wrapping_add(cost);
        true
    }

    /// Whether there is credit for an eager message of `bytes`.
    #[inline]
    pub(crate) fn covers(&self, bytes: u64) -> bool {
        self.sent.wrapping_sub(self.acknowledged) + units(bytes) <= self.window
    }

    /// Notes that a message of `bytes`, which [`Credit::covers`] allowed, has left with
    /// [`Credit::sum`] in its header.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.sent = self.sent.wrapping_add(units(bytes));
        self.reported = self.consumed;
    }

    /// The sum that the next header is to carry.
    #[inline]
    pub(crate) fn sum(&self) -> u16 {
        self.consumed
    }

    /// Notes what the peer reported in a header. A report of more than was sent is a lie and is
    /// ignored.
    #[inline]
    pub(crate) fn acknowledge(&mut self, report: u16) {
        if self.sent.wrapping_sub(report) <= self.sent.wrapping_sub(self.acknowledged) {
            self.acknowledged = report;
        }
    }

    /// Counts a message of `bytes` as taken in; whether a report is due.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: u64) -> bool {
        self.consumed = self.consumed.wrapping_add(units(bytes));
        self.is_due()
    }

    /// Whether so much was taken in since the last report that another is due.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.consumed.wrapping_sub(self.reported) >= REPORT_AFTER
    }

    /// The sum to put into an outgoing header.
    #[inline]
    pub(crate) fn report(&mut self) -> u16 {
        self.reported = self.consumed;
        self.consumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the sizes and the delays of reports, nothing above the window is outstanding
        /// and nobody waits for ever.
        #[test]
        fn credit_is_conserved(sizes in prop::collection::vec(0u64..9000, 1..400), lag in 1usize..9) {
            let (mut sender, mut receiver) = (Credit::default(), Credit::default());
            let mut unread: std::collections::VecDeque<u64> = Default::default();
            for (i, bytes) in sizes.into_iter().enumerate() {
                while !sender.take(bytes) {
                    let taken = unread.pop_front().expect("no credit though nothing is unread");
                    receiver.consume(taken);
                    sender.acknowledge(receiver.report());
                }
                unread.push_back(bytes);
                prop_assert!(unread.iter().map(|b| u64::from(units(*b))).sum::<u64>()
                    <= u64::from(WINDOW_MAX));
                if i % lag == 0 {
                    let taken = unread.pop_front().expect("one was just added");
                    if receiver.consume(taken) {
                        sender.acknowledge(receiver.report());
                    }
                }
            }
        }
    }

    #[test]
    fn two_that_send_first_and_receive_then_always_have_credit() {
        let mut ends = [Credit::default(), Credit::default()];
        for _ in 0..100 {
            let sums = ends.each_mut().map(|end| {
                assert!(end.take(8) && end.take(64 << 10));
                end.report()
            });
            for (end, sum) in ends.iter_mut().zip([sums[1], sums[0]]) {
                end.acknowledge(sum);
                end.consume(8);
                end.consume(64 << 10);
            }
        }
    }

    #[test]
    fn a_report_of_more_than_was_sent_is_ignored() {
        let mut credit = Credit::default();
        assert!(credit.take(0));
        credit.acknowledge(500);
        assert_eq!(credit.acknowledged, 0);
    }
}
