//! Begins a small collective by its [fast path](super::fast), run up to where the blocking form would wait
//! (MPI-5.0 §6.12): what it would wait for is left, and goes on when the process polls.
//!
//! Enters: the fast path of a call, on a segment on which nothing is under way. Leaves: the request of an operation
//! that has ended already, or of one that is queued with what was left; or nothing happened.

use super::member::AtSegment;
use super::message::Incoming;
use super::pending::PendingCall;
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::collectives::Collectives;
use crate::error::Result;
use crate::handle::RequestHandle;
use crate::port::Port;

impl<P: Port> Collectives<'_, P> {
    /// Begins a collective by its fast path; `None` if that declined, or others are under way.
    #[inline(always)]
    pub fn begin_fast(
        &mut self,
        fast: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<Option<RequestHandle>> {
        if !self.pending.is_empty() {
            return Ok(None);
        }
        self.pending.starting = true;
        let outcome = fast(self);
        self.pending.starting = false;
        match self.pending.left.take() {
            None => outcome.map(|done| done.then_some(self.vci.requests.sent)),
            Some((member, left)) => self.at(member).keep_left(left, outcome).map(Some),
        }
    }
}

impl<P: Port> AtSegment<'_, P> {
    /// The request of an operation that has begun and left something.
    #[inline(never)]
    fn keep_left(&mut self, left: Box<Transfer>, outcome: Result<bool>) -> Result<RequestHandle> {
        let state = self.entry.comm(self.member.comm)?;
        let number = state.collective_number.wrapping_sub(1) & i32::MAX as u32;
        let what = (state.context + 1, number as i32);
        let request = match outcome {
            Ok(_) => self.new_request(),
            // The others have been told.
            Err(error) => Err(error),
        };
        match request {
            Ok(request) => Ok(self.enqueue(PendingCall { transfer: left, request, what }, false)),
            Err(error) => {
                left.end(self);
                self.abort_segment(error.class())?;
                Err(error)
            }
        }
    }

    /// What the operation that begins leaves: a message for which there is no room, one that has not come, or a
    /// reduction of what has not come from everyone, or whose result would overwrite what has not gone out.
    pub(super) fn left(&mut self) -> &mut Transfer {
        let pending = &mut self.entry.pending;
        let left = match pending.left.take() {
            Some((_, left)) => left,
            None => pending.transfer(),
        };
        &mut pending.left.insert((self.member, left)).1
    }

    /// Leaves a message that has not come.
    pub(super) fn leave_read(&mut self, message: Incoming, wait_for: WaitFor) {
        let left = self.left();
        left.receive(message);
        left.expect_one_fragment_each(matches!(wait_for, WaitFor::Each(_)));
    }
}
