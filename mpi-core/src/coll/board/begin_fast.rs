//! Begins a small collective by its [fast path](super::fast), run up to where the blocking form would wait
//! (MPI-5.0 §6.12): what it would wait for is left, and goes on when the process polls.
//!
//! Enters: the fast path of a call, on a board on which nothing is under way. Leaves: the request of an operation that
//! has ended already, or of one that is queued with what was left; or nothing happened.

use super::begun::Errand;
use super::fold::Fold;
use super::message::{Incoming, Outgoing};
use super::seat::Seat;
use super::task::Task;
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::{CommHandle, RequestHandle};
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// Begins a collective on `comm` by its fast path; `None` if that declined, or others are under way.
    #[inline(always)]
    pub fn begin_fast(
        &mut self,
        comm: CommHandle,
        fast: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<Option<RequestHandle>> {
        if !self.begun.is_empty() {
            return Ok(None);
        }
        self.begun.starting = true;
        let outcome = fast(self);
        self.begun.starting = false;
        match self.begun.left.take() {
            None => outcome.map(|done| done.then_some(self.vci.sent)),
            Some(left) => self.keep_left(comm, left, outcome).map(Some),
        }
    }

    /// The request of an operation that has begun and left something.
    #[inline(never)]
    fn keep_left(
        &mut self,
        comm: CommHandle,
        left: Box<Transfer>,
        outcome: Result<bool>,
    ) -> Result<RequestHandle> {
        let (state, seat) = (self.comm(comm)?, left.seat());
        let number = state.collective_number.wrapping_sub(1) & i32::MAX as u32;
        let what = (state.context + 1, number as i32);
        let request = match outcome {
            Ok(_) => self.new_request(comm),
            // The others have been told.
            Err(error) => Err(error),
        };
        match request {
            Ok(request) => Ok(self.enqueue(seat, Errand { transfer: left, request, what }, false)),
            Err(error) => {
                left.end(self);
                self.renounce(seat, error.class())?;
                Err(error)
            }
        }
    }

    /// What the operation that begins has left so far.
    fn left(&mut self, seat: Seat) -> &mut Transfer {
        let left = match self.begun.left.take() {
            Some(left) => left,
            None => self.begun.transfer(seat),
        };
        self.begun.left.insert(left)
    }

    /// Leaves a message for which there is no room.
    pub(super) fn leave_write(&mut self, seat: Seat, message: Outgoing) {
        self.left(seat).send(message);
    }

    /// Leaves a message that has not come.
    pub(super) fn leave_read(&mut self, seat: Seat, message: Incoming, wait_for: WaitFor) {
        let left = self.left(seat);
        left.receive(message);
        left.come_short(matches!(wait_for, WaitFor::Each(_)));
    }

    /// Leaves a reduction of what has not come from everyone, or whose result would overwrite what has not gone out.
    pub(super) fn leave_fold(&mut self, seat: Seat, task: Task) {
        let fold = Fold::new(self, seat, task);
        self.left(seat).reduce(fold);
    }
}
