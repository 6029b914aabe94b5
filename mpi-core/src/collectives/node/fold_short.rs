//! Reducing contributions of one fragment each, without a description of what is under way: all of them are
//! there before the first is read, as they are as a rule when the ranks come to a call together.
//!
//! Enters: what is to be reduced, in one fragment from everyone. Leaves: the result, or that `fold` has to do it.
#![allow(unsafe_code)]

use super::fold::Fold;
use super::member::AtSegment;
use super::operand::differs;
use super::task::{Job, Streams, Task};
use crate::buffer::{RawBytes, UserBuffer};
use crate::error::Result;
use crate::port::Port;
use crate::tuning::FOLD_TILE_BYTES;

impl<P: Port> AtSegment<'_, P> {
    /// Reduces everything at the root.
    pub(super) fn fold_all(&mut self, job: Job, len: usize) -> Result<()> {
        self.fold_in(job.all(len, Streams::Private), job.recv)
    }

    /// Reduces the operands of everyone into `recv`.
    #[inline]
    pub(super) fn fold_in(&mut self, task: Task, recv: UserBuffer) -> Result<()> {
        if self.entry.pending.is_starting() && !self.may_fold_now(&task) {
            let mut at = self.reborrow();
            let fold = Fold::new(&mut at, task);
            at.left().reduce(fold);
            return Ok(());
        }
        if self.fold_short(&task, recv)? {
            return Ok(());
        }
        let mut at = self.reborrow();
        let mut transfer = at.entry.pending.transfer();
        transfer.reduce(Fold::new(&mut at, task));
        transfer.run(&mut at)
    }

    /// Whether an operation that only begins may reduce: its contribution has gone out, and all others have come.
    fn may_fold_now(&mut self, task: &Task) -> bool {
        let (is_out, member) = (self.entry.pending.left.is_none(), self.member);
        let has_come = |rank| {
            let fragment = self.read_fragment(task.streams.of(rank));
            fragment.is_some_and(|fragment| fragment.len == task.len && fragment.last)
        };
        is_out && member.others().all(has_come)
    }

    /// Reduces contributions of one fragment each, of all ranks, into `into`; `false` if they are longer or do not
    /// agree.
    #[inline]
    pub(super) fn fold_short(&mut self, task: &Task, into: UserBuffer) -> Result<bool> {
        if task.len == 0 || task.len > FOLD_TILE_BYTES {
            return Ok(task.len == 0);
        }
        for rank in self.member.others() {
            let from = task.streams.of(rank);
            let fragment = self.await_fragment(from, task.streams.of_each())?;
            if fragment.len != task.len || !fragment.last {
                return Ok(false);
            }
        }
        if task.order.nth(self.member, 0) == self.member.rank || !std::ptr::eq(task.own, into.0) {
            return self.fold_fragments(task, task.own, into.0).map(|()| true);
        }
        // The result would overwrite the own operand before its turn.
        let mut own = std::mem::take(&mut self.entry.segment_scratch.own);
        // SAFETY: the operand has `len` bytes, and so has the scratch memory.
        unsafe { RawBytes::new(task.own, task.len).copy_to(own.of(task.len)) };
        let outcome = self.fold_fragments(task, own.as_ptr(), into.0);
        self.entry.segment_scratch.own = own;
        outcome.map(|()| true)
    }

    /// Reduces operands that are all there.
    #[inline]
    fn fold_fragments(&mut self, task: &Task, own: *const u8, into: *mut u8) -> Result<()> {
        let (count, member) = (task.len / task.unit, self.member);
        let mut operand = |rank: u32| match rank == member.rank {
            true => Ok(own),
            // It was as long when all of them were looked at, but shared memory may change.
            false => match self.await_fragment(task.streams.of(rank), task.streams.of_each())? {
                fragment if fragment.len == task.len => Ok(fragment.at),
                _ => Err(differs(rank, 0)),
            },
        };
        let first = operand(task.order.nth(member, 0))?;
        for index in 1..member.size {
            let left = operand(task.order.nth(member, index))?;
            // SAFETY: operands and result have `count` elements; the result may be the first
            // operand and overlaps no other, since an own operand that it overwrites is saved.
            unsafe {
                match index > 1 || std::ptr::eq(first, into) {
                    true => task.kernel.reduce(left, into, count),
                    false => task.kernel.combine(left, first, into, count),
                }
            }
        }
        for rank in self.member.others() {
            self.consume_fragment(task.streams.of(rank));
        }
        Ok(())
    }
}
