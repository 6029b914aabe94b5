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
    /// Memory of the same length as the value.
    free: VecDeque<Region>,
    /// Which unit of the whole vector the value begins with.
    offset: i64,
}

impl Sum {
    /// Starts with `value`. Memory for operands and results is taken from `free`, in that order,
    /// and from scratch memory when there is none left.
    pub(super) fn new(value: Region, free: impl IntoIterator<Item = Region>) -> Sum {
        Sum { value, free: free.into_iter().collect(), offset: 0 }
    }

    /// The part of the value that `span` covers, counted from the start of the whole vector.
    pub(super) fn part(&self, span: Region) -> Region {
        self.value.slice(span.start - self.offset, span.len)
    }

    /// Goes on with the part that `span` covers alone.
    pub(super) fn narrow(&mut self, span: Region) {
        let skipped = span.start - self.offset;
        self.value = self.value.slice(skipped, span.len);
        for region in &mut self.free {
            *region = region.slice(skipped, span.len);
        }
        self.offset = span.start;
    }

    /// Receives an operand from rank `from`, which stands for the ranks next below or next above
    /// those already summed up, and combines with it.
    pub(super) fn absorb_from(&mut self, b: &mut Builder, from: usize) {
        let below = from < b.rank();
        if below && self.value.buffer == Buffer::Send {
            let copy = self.memory(b);
            b.copy(self.value, copy);
            self.value = copy;
        }
        let operand = self.memory(b);
        b.recv(from, operand);
        let result = if below { self.value } else { operand };
        let other = if below { operand } else { self.value };
        b.reduce(other, result);
        self.value = result;
        if other.buffer != Buffer::Send {
            self.free.push_back(other);
        }
    }

    fn memory(&mut self, b: &mut Builder) -> Region {
        self.free.pop_front().unwrap_or_else(|| b.temp(self.value.len))
    }
}
