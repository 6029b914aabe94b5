//! Eager credits: how much unexpected data a sender may put on a receiver.
//!
//! A message costs units: one, and one more for each further 64 bytes. The receiver counts the
//! units of messages that left its unexpected queue or never entered it, whatever their order,
//! and that sum modulo 2¹⁶ rides back in every header; a frame of its own carries it when nothing
//! else has gone that way until the receiver looks for news again. Without credit a sender
//! announces its message by an RTS and keeps the bytes. The window grows as long as it is what
//! holds a sender back.

use crate::tuning::{
    CREDIT_FIRST_UNITS, CREDIT_MOST_UNITS, CREDIT_REPORT_UNITS, CREDIT_WINDOW_UNITS, LINE_BYTES,
};

/// Bytes of a unit.
const UNIT: u64 = LINE_BYTES as u64;

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
        Credit { sent: 0, acknowledged: 0, window: CREDIT_FIRST_UNITS, consumed: 0, reported: 0 }
    }
}

/// What a message of `bytes` costs.
#[inline]
fn units(bytes: u64) -> u16 {
    if bytes < UNIT {
        return 1;
    }
    (1 + bytes / UNIT).min(u64::from(CREDIT_MOST_UNITS)) as u16
}

impl Credit {
    /// Takes the credit for an eager message of `bytes`; `false` if there is not enough.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let outstanding = self.sent.wrapping_sub(self.acknowledged);
        let cost = units(bytes);
        if outstanding + cost > self.window {
            self.window = (self.window * 2).min(CREDIT_WINDOW_UNITS);
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
        self.consumed.wrapping_sub(self.reported) >= CREDIT_REPORT_UNITS
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
                    <= u64::from(CREDIT_WINDOW_UNITS));
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
