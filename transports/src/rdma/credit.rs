//! Credits of the channel of messages: a sender has as many as its receiver keeps buffers for it. They begin few;
//! who starves says so and gets more, and who is idle is asked to give back (dynamic flow control).
//!
//! All counts are totals modulo 2¹⁶ that only grow, so that what crosses on its way does no harm: granted by the
//! receiver, sent and returned by the sender.

/// Credits of a peer at most.
pub(super) const WINDOW_MAX: u16 = 1024;

/// What this process and a peer may send each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credits {
    pub grants: Grants,
    pub allowance: Allowance,
}

impl Credits {
    /// As many each way to begin with.
    pub(super) fn new(window: u16) -> Credits {
        Credits { grants: Grants::new(window), allowance: Allowance::new(window) }
    }
}

/// What a peer may send to this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grants {
    /// Credits that the peer shall have when all is renewed.
    pub window: u16,
    granted: u16,
    consumed: u16,
    returned: u16,
}

impl Grants {
    pub(super) fn new(window: u16) -> Grants {
        Grants { window, granted: window, consumed: 0, returned: 0 }
    }

    /// Messages that may come.
    #[inline]
    pub(super) fn outstanding(&self) -> u16 {
        self.granted.wrapping_sub(self.consumed).wrapping_sub(self.returned)
    }

    /// A message has come; false if it was none that may.
    #[inline]
    #[must_use]
    pub(super) fn consume(&mut self) -> bool {
        let may = self.outstanding() > 0;
        if may {
            self.consumed = self.consumed.wrapping_add(1);
        }
        may
    }

    /// Credits that can be granted anew.
    #[inline]
    pub(super) fn renewal(&self) -> u16 {
        self.window.saturating_sub(self.outstanding())
    }

    /// The total with a renewal.
    #[inline]
    pub(super) fn total(&self, renewal: u16) -> u16 {
        self.granted.wrapping_add(renewal)
    }

    /// The peer is told of a renewal.
    #[inline]
    pub(super) fn renew(&mut self, renewal: u16) {
        self.granted = self.total(renewal);
    }

    /// Whether the peer must hear of a renewal although nothing else goes there.
    #[inline]
    pub(super) fn is_owed(&self) -> bool {
        let renewal = self.renewal();
        renewal > 0 && renewal >= self.window / 2
    }

    /// The peer has given back so many in all. How many of them are new; `None` if it did not have them.
    #[must_use]
    pub(super) fn take_back(&mut self, total: u16) -> Option<u16> {
        let new = total.wrapping_sub(self.returned);
        if new > self.outstanding() {
            return None;
        }
        self.returned = total;
        Some(new)
    }
}

/// What this process may send to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Allowance {
    granted: u16,
    sent: u16,
    returned: u16,
    /// Whether something could not be sent since the last grant, and whether the peer was told.
    starves: bool,
    told: bool,
}

impl Allowance {
    pub(super) fn new(window: u16) -> Allowance {
        Allowance { granted: window, sent: 0, returned: 0, starves: false, told: false }
    }

    /// Messages that may be sent.
    #[inline]
    pub(super) fn left(&self) -> u16 {
        self.granted.wrapping_sub(self.sent).wrapping_sub(self.returned)
    }

    #[inline]
    pub(super) fn spend(&mut self) {
        debug_assert!(self.left() > 0);
        self.sent = self.sent.wrapping_add(1);
    }

    /// The peer has granted so many in all. False if it cannot have.
    #[inline]
    #[must_use]
    pub(super) fn learn(&mut self, granted: u16) -> bool {
        if granted == self.granted {
            return true;
        }
        self.granted = granted;
        (self.starves, self.told) = (false, false);
        self.left() <= WINDOW_MAX
    }

    /// Something could not be sent. Whether the peer has to hear of it.
    pub(super) fn starve(&mut self) -> bool {
        self.starves = true;
        !self.told
    }

    /// Whether the next message says that.
    #[inline]
    pub(super) fn is_starving(&self) -> bool {
        self.starves && !self.told
    }

    /// The peer is told.
    #[inline]
    pub(super) fn tell(&mut self) {
        self.told |= self.starves;
    }

    /// Gives back all but one, or none where they are needed. The total.
    pub(super) fn give_back(&mut self) -> u16 {
        if !self.starves {
            self.returned = self.returned.wrapping_add(self.left().saturating_sub(1));
        }
        self.returned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever crosses on its way, the sender never has more than the receiver keeps for it.
        #[test]
        fn nobody_sends_what_is_not_kept(steps in prop::collection::vec((0u8..6, 1u16..40), 1..300)) {
            let (mut grants, mut allowance) = (Grants::new(4), Allowance::new(4));
            // What is on its way, in order: to the receiver messages and returns, back totals of grants.
            let (mut there, mut back) = (std::collections::VecDeque::new(), std::collections::VecDeque::new());
            for (step, count) in steps {
                match step {
                    0 if allowance.left() > 0 => {
                        allowance.spend();
                        there.push_back(None);
                    }
                    1 => there.push_back(Some(allowance.give_back())),
                    2 => match there.pop_front() {
                        Some(None) => prop_assert!(grants.consume()),
                        Some(Some(total)) => prop_assert!(grants.take_back(total).is_some()),
                        None => {}
                    },
                    3 => {
                        let renewal = grants.renewal();
                        grants.renew(renewal);
                        back.push_back(grants.total(0));
                    }
                    4 => if let Some(total) = back.pop_front() {
                        prop_assert!(allowance.learn(total));
                    },
                    5 => grants.window = count,
                    _ => {}
                }
                prop_assert!(allowance.left() <= grants.outstanding());
            }
        }
    }

    #[test]
    fn who_has_one_credit_is_owed_each() {
        let mut grants = Grants::new(1);
        assert!(!grants.is_owed() && grants.consume() && grants.is_owed() && !grants.consume());
        grants.renew(grants.renewal());
        assert!(grants.consume());
    }
}
