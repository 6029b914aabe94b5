//! Which numbers have come, and when to say so.
//!
//! One acknowledgement for two datagrams, at once where something is missing or the peer asks, else after
//! a moment: until then it may ride on a datagram that goes there anyway.

use super::ranges::Ranges;
use super::wire::Head;
use super::{ACK_DELAY, Nanos};

/// Datagrams that one acknowledgement is for.
const ACK_EVERY: u32 = 2;
/// Runs of missing numbers that are kept in mind; more are only made by who means harm.
const HOLES_MAX: usize = 1 << 16;

/// The numbers that have come, and what the peer has not been told.
#[derive(Default)]
pub(super) struct Receipt {
    numbers: Ranges,
    /// When the highest one came.
    newest_at: Nanos,
    /// Datagrams that were not acknowledged yet, and when that is due at the latest.
    owed: u32,
    due_at: Option<Nanos>,
}

impl Receipt {
    /// Whether this datagram has not come before and is awaited.
    #[inline]
    pub(super) fn is_new(&mut self, head: &Head) -> bool {
        self.numbers.raise(head.oldest);
        !self.numbers.contains(head.number) && self.numbers.holes() < HOLES_MAX
    }

    /// A datagram has come that is new, which is to be acknowledged if it is `answered`.
    #[inline]
    pub(super) fn note(&mut self, head: &Head, is_answered: bool, now: Nanos) {
        let (end, missed) = (self.numbers.end(), self.numbers.holes());
        self.numbers.insert(head.number..head.number + 1, drop);
        if self.numbers.end() > end {
            self.newest_at = now;
        }
        if !is_answered {
            return;
        }
        let is_amiss = self.numbers.end() == end || self.numbers.holes() > missed;
        self.owed += 1;
        let wait = if is_amiss || head.asks || self.owed >= ACK_EVERY { 0 } else { ACK_DELAY };
        let at = now + wait;
        self.due_at = Some(self.due_at.map_or(at, |due| due.min(at)));
    }

    /// When the newest one came; `None` before the first.
    pub(super) fn newest_at(&self) -> Option<Nanos> {
        (self.numbers.end() > 0).then_some(self.newest_at)
    }

    /// When an acknowledgement has to go, whether or not there is something to send.
    #[inline]
    pub(super) fn due_at(&self) -> Option<Nanos> {
        self.due_at
    }

    /// The numbers that have come, which the peer is told now, and for how many microseconds the news of
    /// the highest was held back.
    #[inline]
    pub(super) fn tell(&mut self, now: Nanos) -> (&Ranges, u32) {
        (self.owed, self.due_at) = (0, None);
        let held = now.saturating_sub(self.newest_at) / 1000;
        (&self.numbers, u32::try_from(held).unwrap_or(u32::MAX))
    }

    /// Whether none with a higher number has come.
    #[inline]
    pub(super) fn is_newest(&self, head: &Head) -> bool {
        head.number >= self.numbers.end()
    }

    /// What the peer was told last may not come there: it is due at this time after all.
    pub(super) fn restore(&mut self, due: Option<Nanos>) {
        self.due_at = due;
    }

    /// What the peer was not told is due at once.
    pub(super) fn tell_now(&mut self) {
        self.due_at = self.due_at.map(|_| 0);
    }

    /// What the peer was told last did not leave: it is due at once.
    pub(super) fn take_back(&mut self) {
        self.due_at = Some(0);
    }

    /// Ranges that an acknowledgement would have to tell beside all settled numbers.
    #[inline]
    pub(super) fn ranges(&self) -> usize {
        self.numbers.holes()
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.numbers.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(number: u64, oldest: u64, asks: bool) -> Head {
        Head { number, oldest, settled: 0, credit: 0, held_micros: 0, asks }
    }

    #[test]
    fn one_waits_a_moment_for_company_and_two_do_not() {
        let mut receipt = Receipt::default();
        receipt.note(&head(0, 0, false), true, 1000);
        assert_eq!(receipt.due_at(), Some(1000 + ACK_DELAY));
        receipt.note(&head(1, 0, false), true, 5000);
        assert_eq!(receipt.due_at(), Some(5000));
        let (numbers, held) = receipt.tell(9000);
        assert_eq!((numbers.low(), held, receipt.due_at()), (2, 4, None));
        receipt.note(&head(2, 2, false), false, 9000);
        assert_eq!(receipt.due_at(), None, "an acknowledgement is acknowledged");
    }

    #[test]
    fn what_is_amiss_and_who_asks_is_answered_at_once() {
        for (numbers, asks) in [(&[2u64][..], false), (&[2, 1], false), (&[0], true)] {
            let mut receipt = Receipt::default();
            for number in numbers {
                receipt.tell(0);
                receipt.note(&head(*number, 0, asks), true, 77);
            }
            assert_eq!(receipt.due_at(), Some(77), "{numbers:?}");
        }
    }

    #[test]
    fn what_came_or_is_not_awaited_is_not_new() {
        let mut receipt = Receipt::default();
        assert!(receipt.is_new(&head(5, 3, false)));
        receipt.note(&head(5, 3, false), true, 0);
        let new: Vec<u64> = (0..8).filter(|n| receipt.is_new(&head(*n, 0, false))).collect();
        assert_eq!((new, receipt.ranges()), (vec![3, 4, 6, 7], 1));
        assert!(receipt.is_new(&head(8, 8, false)));
        assert_eq!((receipt.ranges(), receipt.is_new(&head(6, 0, false))), (0, false));
    }

    #[test]
    fn who_leaves_too_much_out_is_not_heard_until_it_is_settled() {
        let mut receipt = Receipt::default();
        for number in (2..).step_by(2).take(HOLES_MAX) {
            assert!(receipt.is_new(&head(number, 0, false)));
            receipt.note(&head(number, 0, false), true, 0);
        }
        let next = 4 * HOLES_MAX as u64;
        assert!(!receipt.is_new(&head(next, 0, false)));
        assert!(receipt.is_new(&head(next, 100, false)));
    }
}
