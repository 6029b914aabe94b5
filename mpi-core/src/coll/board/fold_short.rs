//! Reducing contributions of one piece each, without a description of what is under way: all of them are
//! there before the first is read, as they are as a rule when the ranks come to a call together.
//!
//! Enters: what is to be reduced, in one piece from everyone. Leaves: the result, or that `fold` has to do it.
#![allow(unsafe_code)]

use super::fold::Fold;
use super::operand::differs;
use super::seat::AtBoard;
use super::task::{Job, Streams, Task};
use crate::buffer::{RawBytes, UserBuffer};
use crate::error::Result;
use crate::port::Port;
use crate::tuning::FOLD_TILE_BYTES;

impl<P: Port> AtBoard<'_, P> {
    /// Reduces everything at the root.
    pub(super) fn fold_all(&mut self, job: Job, len: usize) -> Result<()> {
        self.fold_in(job.all(len, Streams::Private), job.recv)
    }

    /// Reduces the operands of everyone into `recv`.
    #[inline]
    pub(super) fn fold_in(&mut self, task: Task, recv: UserBuffer) -> Result<()> {
        if self.entry.begun.is_starting() && !self.may_fold_now(&task) {
            let mut at = self.reborrow();
            let fold = Fold::new(&mut at, task);
            at.left().reduce(fold);
            return Ok(());
        }
        if self.fold_short(&task, recv)? {
            return Ok(());
        }
        let mut at = self.reborrow();
        let mut transfer = at.entry.begun.transfer();
        transfer.reduce(Fold::new(&mut at, task));
        transfer.run(&mut at)
    }

    /// Whether an operation that only begins may reduce: its contribution has gone out, and all others have come.
    fn may_fold_now(&mut self, task: &Task) -> bool {
        let (is_out, seat) = (self.entry.begun.left.is_none(), self.seat);
        let has_come = |rank| {
            let piece = self.read_piece(task.streams.of(rank));
            piece.is_some_and(|piece| piece.len == task.len && piece.last)
        };
        is_out && seat.others().all(has_come)
    }

    /// Reduces contributions of one piece each, of all ranks, into `into`; `false` if they are longer or do not agree.
    #[inline]
    pub(super) fn fold_short(&mut self, task: &Task, into: UserBuffer) -> Result<bool> {
        if task.len == 0 || task.len > FOLD_TILE_BYTES {
            return Ok(task.len == 0);
        }
        for rank in self.seat.others() {
            let from = task.streams.of(rank);
            let piece = self.await_piece(from, task.streams.of_each())?;
            if piece.len != task.len || !piece.last {
                return Ok(false);
            }
        }
        if task.order.nth(self.seat, 0) == self.seat.rank || !std::ptr::eq(task.own, into.0) {
            return self.fold_pieces(task, task.own, into.0).map(|()| true);
        }
        // The result would overwrite the own operand before its turn.
        let mut own = std::mem::take(&mut self.entry.board_scratch.own);
        // SAFETY: the operand has `len` bytes, and so has the scratch memory.
        unsafe { RawBytes::new(task.own, task.len).copy_to(own.of(task.len)) };
        let outcome = self.fold_pieces(task, own.as_ptr(), into.0);
        self.entry.board_scratch.own = own;
        outcome.map(|()| true)
    }

    /// Reduces operands that are all there.
    #[inline]
    fn fold_pieces(&mut self, task: &Task, own: *const u8, into: *mut u8) -> Result<()> {
        let (count, seat) = (task.len / task.unit, self.seat);
        let mut operand = |rank: u32| match rank == seat.rank {
            true => Ok(own),
            // It was as long when all of them were looked at, but shared memory may change.
            false => match self.await_piece(task.streams.of(rank), task.streams.of_each())? {
                piece if piece.len == task.len => Ok(piece.at),
                _ => Err(differs(rank, 0)),
            },
        };
        let first = operand(task.order.nth(seat, 0))?;
        for index in 1..seat.size {
            let left = operand(task.order.nth(seat, index))?;
            // SAFETY: operands and result have `count` elements; the result may be the first
            // operand and overlaps no other, since an own operand that it overwrites is saved.
            unsafe {
                match index > 1 || std::ptr::eq(first, into) {
                    true => task.kernel.reduce(left, into, count),
                    false => task.kernel.combine(left, first, into, count),
                }
            }
        }
        for rank in self.seat.others() {
            self.consume_piece(task.streams.of(rank));
        }
        Ok(())
    }
}
