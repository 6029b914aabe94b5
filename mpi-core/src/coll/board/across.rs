//! Reducing long vectors of two ranks out of each other's memory (MPI-5.0 §6.9.6): each shows its contribution, and
//! both reduce everything, reading the other one's where it lies or fetching it by parts. A contribution in place is
//! never shown, since what overwrites it would have to wait until the other has read it.

use super::message::Outgoing;
use super::task::Job;
use crate::boards::{Audience, Boards};
use crate::entry::Entry;
use crate::port::Port;
use crate::tuning::PIPELINE_PIECES;

impl<P: Port> Entry<'_, P> {
    /// Lets the other one of two fetch a contribution, if that pays. Where the operation only begins that has to be
    /// mapped: who fetches needs the time of the call.
    pub(super) fn show_operand(&mut self, job: Job, out: &mut Outgoing) {
        let (seat, len) = (job.seat, out.remaining());
        let piece = self.port.memory().piece_max(seat.board, Audience::Everyone) as u64;
        let is_long = len >= PIPELINE_PIECES as u64 * piece && !self.begun.is_starting();
        let is_kept = seat.size == 2 && job.own != job.recv;
        if is_kept && (is_long || self.is_left(seat, out.to, &out.source)) {
            out.let_fetch(self, seat);
        }
    }
}
