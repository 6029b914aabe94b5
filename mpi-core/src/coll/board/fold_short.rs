//! Reducing contributions of one piece each, without a description of what is under way: all of them are
//! there before the first is read, as they are as a rule when the ranks come to a call together.
//!
//! Enters: what is to be reduced, in one piece from everyone. Leaves: the result, or that `fold` has to do it.
#![allow(unsafe_code)]

use super::fold::Fold;
use super::operand::differs;
use super::seat::Seat;
use super::task::{Job, Streams, Task};
use crate::boards::Boards;
use crate::buffer::{RawBytes, UserBuffer};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;
use crate::tuning::FOLD_TILE_BYTES;

impl<P: Port> Entry<'_, P> {
    /// Reduces everything at the root.
    pub(super) fn fold_all(&mut self, job: Job, len: usize) -> Result<()> {
        self.fold_in(job.seat, job.all(len, Streams::Private), job.recv)
    }

    /// Reduces the operands of everyone into `recv`.
    #[inline]
    pub(super) fn fold_in(&mut self, seat: Seat, task: Task, recv: UserBuffer) -> Result<()> {
        if self.begun.is_starting() && !self.may_fold_now(seat, &task) {
            self.leave_fold(seat, task);
            return Ok(());
        }
        if self.fold_short(seat, &task, recv)? {
            return Ok(());
        }
        let mut transfer = self.begun.transfer(seat);
        transfer.reduce(Fold::new(self, seat, task));
        transfer.run(self)
    }

    /// Whether an operation that only begins may reduce: its contribution has gone out, and all others have come.
    fn may_fold_now(&mut self, seat: Seat, task: &Task) -> bool {
        let is_out = self.begun.left.is_none();
        let has_come = |rank| {
            let piece = self.port.memory_mut().read_piece(seat.board, task.streams.of(rank));
            piece.is_some_and(|piece| piece.len == task.len && piece.last)
        };
        is_out && seat.others().all(has_come)
    }

    /// Reduces contributions of one piece each, of all ranks, into `into`; `false` if they are longer or do not agree.
    #[inline]
    pub(super) fn fold_short(&mut self, seat: Seat, task: &Task, into: UserBuffer) -> Result<bool> {
        if task.len == 0 || task.len > FOLD_TILE_BYTES {
            return Ok(task.len == 0);
        }
        for rank in seat.others() {
            let from = task.streams.of(rank);
            let piece = self.await_piece(seat, from, task.streams.of_each())?;
            if piece.len != task.len || !piece.last {
                return Ok(false);
            }
        }
        if task.order.nth(seat, 0) == seat.rank || !std::ptr::eq(task.own, into.0) {
            return self.fold_pieces(seat, task, task.own, into.0).map(|()| true);
        }
        // The result would overwrite the own operand before its turn.
        let mut own = std::mem::take(&mut self.board_scratch.own);
        // SAFETY: the operand has `len` bytes, and so has the scratch memory.
        unsafe { RawBytes::new(task.own, task.len).copy_to(own.of(task.len)) };
        let outcome = self.fold_pieces(seat, task, own.as_ptr(), into.0);
        self.board_scratch.own = own;
        outcome.map(|()| true)
    }

    /// Reduces operands that are all there.
    #[inline]
    fn fold_pieces(
        &mut self,
        seat: Seat,
        task: &Task,
        own: *const u8,
        into: *mut u8,
    ) -> Result<()> {
        let count = task.len / task.unit;
        let mut operand = |rank: u32| match rank == seat.rank {
            true => Ok(own),
            // It was as long when all of them were looked at, but shared memory may change.
            false => match self.await_piece(seat, task.streams.of(rank), task.streams.of_each())? {
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
        for rank in seat.others() {
            self.port.memory_mut().consume_piece(seat.board, task.streams.of(rank));
        }
        Ok(())
    }
}
