//! Blocking collectives over a board: described, and run to their end.

use super::seat::{BoardState, Seat};
use super::work::polls;
use crate::boards::Boards;
use crate::coll::menu::Algorithm;
use crate::coll::plan::Problem;
use crate::coll::prepared::Prepared;
use crate::entry::Entry;
use crate::error::{ErrorClass, Result};
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// Runs a collective operation over the board of its communicator.
    #[inline]
    pub(in crate::coll) fn run_on_board(
        &mut self,
        seat: Seat,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<()> {
        let run = |entry: &mut Self| match call.problem {
            // It may go through one process, who waits for all and tells them then.
            Problem::Barrier => entry.meet_at_board(seat),
            _ => entry.describe(seat, call, algorithm)?.run(entry),
        };
        self.over_board(seat, run)
    }

    /// Runs something on the board as one collective operation, behind those that have begun there. It is always
    /// inlined: what the fast path runs takes its arguments with it.
    #[inline(always)]
    pub(in crate::coll) fn over_board(
        &mut self,
        seat: Seat,
        run: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !self.begun.is_empty() {
            self.finish_begun(seat)?;
        }
        let state = self.comm_mut(seat.comm)?;
        let number = state.next_call();
        if polls(number) {
            self.poll_between_calls();
        }
        let outcome = run(self);
        if let Err(error) = &outcome {
            self.renounce(seat, error.class())?;
        }
        outcome
    }

    /// Lets everything else go on, none of which is what begins now.
    #[cold]
    fn poll_between_calls(&mut self) {
        let starting = std::mem::take(&mut self.begun.starting);
        self.poll();
        self.begun.starting = starting;
    }

    /// An operation failed here.
    #[cold]
    pub(super) fn renounce(&mut self, seat: Seat, class: ErrorClass) -> Result<()> {
        self.port.memory_mut().renounce(seat.board, class.0);
        self.comm_mut(seat.comm)?.board = BoardState::Failed(class);
        Ok(())
    }
}
