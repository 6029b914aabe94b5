//! A running reduction in rank order.
//!
//! A reduce step can only put its result where the right operand is. So an operand from higher
//! ranks becomes the new value, and the memory of the old one is free for the next operand:
//! instead of data, roles move.

use std::collections::VecDeque;

use crate::coll::builder::Builder;
use crate::coll::schedule::{Buffer, Region};

/// The value so far and the memory that operands are received into.
#[derive(Debug)]
pub(super) struct Sum {
    /// The reduction of a run of consecutive ranks; may be the user's send buffer at first.
    pub(super) value: Region,
    free: VecDeque<Region>,
}

impl Sum {
    /// Starts with `value`; `free` is memory of the same length that may be used and
    /// `concurrent` the number of operands that are to be received at the same time.
    pub(super) fn new(
        b: &mut Builder,
        value: Region,
        free: Option<Region>,
        concurrent: usize,
    ) -> Sum {
        let mut free: VecDeque<Region> = free.into_iter().collect();
        while free.len() < concurrent {
            free.push_back(b.temp(value.len));
        }
        Sum { value, free }
    }

    /// Memory for an operand; the next [`Sum::absorb`] but for those of earlier ones takes it.
    pub(super) fn operand(&mut self, b: &mut Builder) -> Region {
        self.free.pop_front().unwrap_or_else(|| b.temp(self.value.len))
    }

    /// Combines with `operand`, which stems from the ranks next below or next above.
    pub(super) fn absorb(&mut self, b: &mut Builder, operand: Region, from_below: bool) {
        if !from_below {
            b.reduce(self.value, operand);
            self.release(self.value);
            self.value = operand;
            return;
        }
        if self.value.buffer == Buffer::Send {
            let copy = self.operand(b);
            b.copy(self.value, copy);
            self.value = copy;
        }
        b.reduce(operand, self.value);
        self.release(operand);
    }

    /// Receives an operand from rank `from` and combines with it.
    pub(super) fn absorb_from(&mut self, b: &mut Builder, from: usize) {
        let operand = self.operand(b);
        b.recv(from, operand);
        self.absorb(b, operand, from < b.rank());
    }

    fn release(&mut self, region: Region) {
        if region.buffer != Buffer::Send {
            self.free.push_back(region);
        }
    }
}
