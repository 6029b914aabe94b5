//! The short way into a nonblocking collective: the short way of its blocking form
//! ([`quick`](super::quick)), run up to where that would wait.
//!
//! Enters: the marks of a procedure before and after that way. Leaves: the request of an operation
//! that has ended already, or of one that is queued with what was left ([`begun`](super::begun)).

use super::begun::Errand;
use super::seat::Seat;
use super::transfer::Transfer;
use super::work::Step;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::{CommHandle, RequestHandle};
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// What runs from here to [`Entry::begun_quickly`] is the short way of a blocking operation
    /// whose nonblocking form has been called: what would have to be waited for there is left.
    #[inline]
    pub fn begin_quickly(&mut self) {
        self.begun.starting = true;
    }

    /// The request of an operation that has begun on the short way, where the outcome was this;
    /// `None` if nothing happened. What was left goes on when the process polls.
    #[inline]
    pub fn begun_quickly(
        &mut self,
        comm: CommHandle,
        outcome: Result<bool>,
    ) -> Result<Option<RequestHandle>> {
        self.begun.starting = false;
        if self.begun.lags() {
            return self.keep_rest(comm, outcome);
        }
        outcome.map(|done| done.then_some(self.vci.sent))
    }

    /// The request of an operation that has begun and left something.
    fn keep_rest(
        &mut self,
        comm: CommHandle,
        outcome: Result<bool>,
    ) -> Result<Option<RequestHandle>> {
        let Some(transfer) = self.begun.rest.take() else { return Ok(None) };
        if let Err(error) = outcome {
            transfer.end(self);
            return Err(error);
        }
        let state = self.comm(comm)?;
        let number = state.collective_number.wrapping_sub(1) & i32::MAX as u32;
        let what = (state.context + 1, number as i32);
        let seat = transfer.seat();
        let request = match self.new_request(comm) {
            Ok(request) => request,
            Err(error) => {
                transfer.end(self);
                self.renounce(seat, error.class())?;
                return Err(error);
            }
        };
        let errand = Errand { transfer, request, what };
        Ok(Some(self.enqueue(seat, errand, false)))
    }

    /// Leaves something of an operation that begins for later.
    #[inline]
    pub(super) fn leave_rest(
        &mut self,
        seat: Seat,
        what: impl FnOnce(&mut Transfer),
    ) -> Result<()> {
        let mut rest = self.begun.rest.take().unwrap_or_else(|| self.begun.transfer(seat));
        what(&mut rest);
        self.begun.rest = Some(rest);
        Ok(())
    }

    /// Does what can be done now of an operation that begins, and leaves the rest.
    #[cold]
    pub(super) fn set_off(&mut self, transfer: Transfer) -> Result<()> {
        let mut all = transfer;
        if let Some(rest) = self.begun.rest.take() {
            all.join(rest);
        }
        all.begin(self, false);
        let outcome = self.as_far_as_it_goes(&mut all);
        if let Ok(Step::Moved | Step::Stuck) = outcome {
            self.begun.rest = Some(all);
            return Ok(());
        }
        all.end(self);
        outcome.map(drop)
    }

    /// Whether a board is free for an operation that is to run now: a blocking one lets all end
    /// that is under way there.
    #[cold]
    pub(super) fn is_free(&mut self, seat: Seat) -> Result<bool> {
        if self.begun.starting {
            return Ok(self.begun.first(seat.board).is_none());
        }
        self.finish_begun(seat).map(|()| true)
    }
}
