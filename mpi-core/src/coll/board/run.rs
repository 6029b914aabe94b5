//! Blocking collectives over a board: described, and run to their end.

use super::seat::{AtBoard, BoardState};
use super::work::polls;
use crate::boards::Boards;
use crate::coll::menu::Algorithm;
use crate::coll::plan::Problem;
use crate::coll::prepared::Prepared;
use crate::error::{ErrorClass, Result};
use crate::port::Port;

impl<P: Port> AtBoard<'_, P> {
    /// Runs a collective operation over the board of its communicator.
    #[inline]
    pub(in crate::coll) fn run_on_board(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<()> {
        let run = |at: &mut Self| match call.problem {
            // It may go through one process, who waits for all and tells them then.
            Problem::Barrier => at.meet_at_board(),
            _ => at.describe(call, algorithm)?.run(at),
        };
        self.over_board(run)
    }

    /// Runs something on the board as one collective operation, behind those that have begun there. It is always
    /// inlined: what the fast path runs takes its arguments with it.
    #[inline(always)]
    pub(in crate::coll) fn over_board(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !self.entry.begun.is_empty() {
            self.reborrow().finish_begun()?;
        }
        let state = self.entry.comm_mut(self.seat.comm)?;
        let number = state.next_call();
        if polls(number) {
            self.reborrow().poll_between_calls();
        }
        let outcome = run(self);
        if let Err(error) = &outcome {
            self.reborrow().renounce(error.class())?;
        }
        outcome
    }

    /// Lets everything else go on, none of which is what begins now.
    #[cold]
    fn poll_between_calls(&mut self) {
        let starting = std::mem::take(&mut self.entry.begun.starting);
        self.entry.poll();
        self.entry.begun.starting = starting;
    }

    /// An operation failed here.
    #[cold]
    pub(super) fn renounce(&mut self, class: ErrorClass) -> Result<()> {
        self.entry.port.memory_mut().renounce(self.seat.board, class.0);
        self.entry.comm_mut(self.seat.comm)?.board = BoardState::Failed(class);
        Ok(())
    }
}
