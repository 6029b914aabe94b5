//! Who goes on first after a barrier. Where ranks share processors the order in which they leave it is the order in
//! which they have their turns after it, so a root that then has something for the others should come first: who comes
//! before it comes in vain, and gives its turn away. A root that then takes something of everyone should come last: it
//! gives its turn away at the end of the barrier, instead of in the call, in which it has to wait anyway.
//!
//! Enters: the blocking barriers of a segment, and all broadcasts, scatters, gathers and reductions to a root, as they
//! are called. Leaves: through whom the next barrier goes. All members see the same sequence of collectives on a
//! communicator (MPI-5.0 §6.14), so what a program did after one barrier all know alike, and it
//! will mostly do it after the next one, as loops do. Calls are known by their number, which every
//! collective on the communicator raises in whichever way it goes. Barriers that only begin are
//! ignored: what runs there may not wait, which going through one process takes.

/// What followed the last barrier on a segment.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Lead {
    /// The number of the call after it.
    next: u32,
    /// The root of that call, if it gave something to all.
    root: Option<u32>,
    /// In that call this process took something of everyone.
    took: bool,
}

/// How a barrier goes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    /// Through whom, if not everyone tells everyone.
    pub(crate) first: Option<u32>,
    /// Whether this process lets those beside it go on first.
    pub(crate) last: bool,
}

impl Lead {
    /// Call `number` is a barrier.
    pub(crate) fn meet(&mut self, number: u32) -> Order {
        self.next = after(number);
        Order { first: self.root.take(), last: std::mem::take(&mut self.took) }
    }

    /// In call `number` this root gives something to all.
    pub(crate) fn give(&mut self, number: u32, root: u32) {
        if number == self.next {
            self.root = Some(root);
        }
    }

    /// In call `number` this process takes something of everyone.
    pub(crate) fn take(&mut self, number: u32) {
        self.took |= number == self.next;
    }
}

fn after(number: u32) -> u32 {
    (number + 1) & i32::MAX as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(first: u32) -> Order {
        Order { first: Some(first), last: false }
    }

    #[test]
    fn the_root_of_the_call_right_after_a_barrier_leads_the_next_one_alone() {
        let mut lead = Lead::default();
        assert_eq!(lead.meet(4), Order::default());
        lead.give(5, 3);
        lead.give(6, 2);
        assert_eq!(lead.meet(7), through(3));
        assert_eq!(lead.meet(8), Order::default());
        lead.give(10, 1);
        assert_eq!(lead.meet(11), Order::default());
    }

    #[test]
    fn who_took_something_right_after_a_barrier_comes_last_after_the_next_one() {
        let mut lead = Lead::default();
        lead.meet(4);
        lead.take(5);
        assert_eq!(lead.meet(6), Order { first: None, last: true });
        lead.give(7, 2);
        lead.take(8);
        assert_eq!(lead.meet(9), through(2));
        lead.give(10, 1);
        lead.take(10);
        assert_eq!(lead.meet(11), Order { first: Some(1), last: true }, "one that gives and takes");
    }

    #[test]
    fn numbers_begin_anew_after_the_last() {
        let mut lead = Lead::default();
        lead.meet(i32::MAX as u32);
        lead.give(0, 1);
        assert_eq!(lead.meet(1), through(1));
    }
}
