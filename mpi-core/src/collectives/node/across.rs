//! Reducing long vectors of two ranks out of each other's memory (MPI-5.0 §6.9.6): each shows its contribution, and
//! both reduce everything, reading the other one's where it lies or fetching it by parts. A contribution in place is
//! never shown, since what overwrites it would have to wait until the other has read it.

use super::member::AtSegment;
use super::message::Outgoing;
use super::task::Job;
use crate::node_memory::Audience;
use crate::port::Port;
use crate::tuning::PIPELINE_FRAGMENTS;

impl<P: Port> AtSegment<'_, P> {
    /// Lets the other one of two fetch a contribution, if that pays. Where the operation only begins that has to be
    /// mapped: who fetches needs the time of the call.
    pub(super) fn expose_operand(&mut self, job: Job, out: &mut Outgoing) {
        let len = out.remaining();
        let fragment = self.fragment_max(Audience::Everyone) as u64;
        let is_long =
            len >= PIPELINE_FRAGMENTS as u64 * fragment && !self.entry.pending.is_starting();
        let is_kept = self.member.size == 2 && job.own != job.recv;
        if is_kept && (is_long || self.is_left(out.to, &out.source)) {
            out.let_fetch(self);
        }
    }
}
