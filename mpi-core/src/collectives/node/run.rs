//! Blocking collectives over a segment: described, and run to their end.

use super::member::AtSegment;
use super::work::polls;
use crate::coll::menu::Algorithm;
use crate::coll::plan::Problem;
use crate::coll::prepared::Prepared;
use crate::comm::SegmentState;
use crate::error::{ErrorClass, Result};
use crate::node_memory::NodeMemory;
use crate::port::Port;

impl<P: Port> AtSegment<'_, P> {
    /// Runs a collective operation over the segment of its communicator.
    #[inline]
    pub(in crate::collectives) fn run_on_segment(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<()> {
        let run = |at: &mut Self| match call.problem {
            // It may go through one process, who waits for all and tells them then.
            Problem::Barrier => at.meet_on_segment(),
            _ => at.describe(call, algorithm)?.run(at),
        };
        self.over_segment(run)
    }

    /// Runs something on the segment as one collective operation, behind those that have begun there. It is always
    /// inlined: what the fast path runs takes its arguments with it.
    #[inline(always)]
    pub(in crate::collectives) fn over_segment(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !self.entry.pending.is_empty() {
            self.reborrow().finish_pending()?;
        }
        let state = self.entry.comm_mut(self.member.comm)?;
        let number = state.next_call();
        if polls(number) {
            self.reborrow().poll_between_calls();
        }
        let outcome = run(self);
        if let Err(error) = &outcome {
            self.reborrow().abort_segment(error.class())?;
        }
        outcome
    }

    /// Lets everything else go on, none of which is what begins now.
    #[cold]
    fn poll_between_calls(&mut self) {
        let starting = std::mem::take(&mut self.entry.pending.starting);
        self.entry.poll();
        self.entry.pending.starting = starting;
    }

    /// An operation failed here.
    #[cold]
    pub(super) fn abort_segment(&mut self, class: ErrorClass) -> Result<()> {
        self.entry.port.memory_mut().abort_segment(self.member.segment, class.0);
        self.entry.comm_mut(self.member.comm)?.segment = SegmentState::Failed(class);
        Ok(())
    }
}
