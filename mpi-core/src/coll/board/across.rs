//! Reducing long vectors of two ranks out of each other's memory (MPI-5.0 §6.9.6): each shows its contribution, and
//! both reduce everything, reading the other one's where it lies or fetching it by parts. A contribution in place is
//! never shown, since what overwrites it would have to wait until the other has read it.

use super::message::Outgoing;
use super::seat::AtBoard;
use super::task::Job;
use crate::boards::Audience;
use crate::port::Port;
use crate::tuning::PIPELINE_PIECES;

impl<P: Port> AtBoard<'_, P> {
    /// Lets the other one of two fetch a contribution, if that pays. Where the operation only begins that has to be
    /// mapped: who fetches needs the time of the call.
    pub(super) fn show_operand(&mut self, job: Job, out: &mut Outgoing) {
        let len = out.remaining();
        let piece = self.piece_max(Audience::Everyone) as u64;
        let is_long = len >= PIPELINE_PIECES as u64 * piece && !self.entry.begun.is_starting();
        let is_kept = self.seat.size == 2 && job.own != job.recv;
        if is_kept && (is_long || self.is_left(out.to, &out.source)) {
            out.let_fetch(self);
        }
    }
}
