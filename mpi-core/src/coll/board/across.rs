//! Reducing long vectors of two ranks out of each other's memory (MPI-5.0 §6.9.6): each reduces everything, or one
//! half, and fetches the other half of the result.
//!
//! Both show their contributions, and say whether they had better take halves, by where the result may go. They do if
//! both say so; who sees that the other has shown its own knows that the other knows the same. Who sees pieces
//! instead reduces everything, as the other does. The halves of a result are told when all of a half is reduced. A
//! contribution in place is never shown, since what overwrites it would have to wait until the other has read it.
//!
//! Which is quicker is the machine's (see `transports`): by halves less is read where vectors are longer than caches,
//! but what is fetched has just been written, over lines that the other one has read before.

use super::fold::{Fold, Order, Streams};
use super::halves::announces_half;
use super::message::{Incoming, Outgoing};
use super::reduce::{Job, share_bytes};
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::boards::{Audience, Boards, Source};
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// Contributions of fewer pieces than these go through the ring, unless they are mapped.
const PIECES: u64 = 4;

impl<P: Port> Entry<'_, P> {
    /// Begins to send a contribution; if it is shown, whether halves are offered with it. Where the operation only
    /// begins, only mapped ones are, and nobody takes halves: for those both have to come to an end.
    pub(super) fn show_operand(&mut self, job: Job, out: &mut Outgoing) -> Option<bool> {
        let (seat, len) = (job.seat, out.remaining());
        let piece = self.port.memory().piece_max(seat.board, Audience::Everyone) as u64;
        let begins = self.begun.is_starting();
        let mut halves = false;
        if job.own != job.recv
            && (self.is_left(seat, out.to, &out.source) || len >= PIECES * piece && !begins)
        {
            out.let_fetch(self, seat);
            halves = !begins && self.port.memory_mut().divides(seat.board, len);
            if halves {
                out.let_return(job.recv.0);
            }
            out.show(self, seat);
        }
        out.is_shown().then_some(halves)
    }

    /// Reduces `len` bytes of two ranks, of which this one's, `out`, are shown, by halves if the other one would,
    /// too.
    pub(super) fn reduce_across(
        &mut self,
        job: Job,
        len: usize,
        out: Outgoing,
        halves: bool,
    ) -> Result<()> {
        let (seat, other) = (job.seat, 1 - job.seat.rank);
        let piece = self.await_piece(seat, Source::Public(other), WaitFor::Each(Source::Public))?;
        if announces_half(piece) {
            return self.reduce_by_halves(job, len, out);
        }
        let since = self.port.now();
        let halves = halves && piece.lends;
        let mut transfer = Transfer::new(seat);
        transfer.send(out);
        if halves {
            self.take_halves(&mut transfer, job, len);
        } else {
            let task = job.task(0, len, Order::Down(1), Streams::Public);
            transfer.reduce(Fold::new(self, seat, task));
        }
        transfer.run(self)?;
        if piece.apart > 0 {
            let took = self.port.now().saturating_sub(since);
            self.port.memory_mut().has_reduced(seat.board, len as u64, halves, took);
        }
        Ok(())
    }

    /// Reduces one half of a vector, tells it, and fetches the other one.
    fn take_halves(&mut self, transfer: &mut Transfer, job: Job, len: usize) {
        let (seat, other) = (job.seat, 1 - job.seat.rank);
        let share = share_bytes(len, 2, job.unit).min(len);
        let ranges = [(0, share), (share, len - share)];
        let ((begin, part), (theirs, rest)) = (ranges[seat.rank as usize], ranges[other as usize]);
        let mut task = job.task(begin, part, Order::Down(1), Streams::Public);
        task.message = (begin, len);
        transfer.reduce(Fold::new(self, seat, task));
        let source = Packer::contiguous(job.recv.offset(begin as i64), part as u64);
        let mut result = Outgoing::new(self, seat, Audience::One(other), source, job.unit);
        result.let_fetch(self, seat);
        transfer.send_last(result);
        let into = Unpacker::contiguous(job.recv.offset(theirs as i64), rest as u64);
        transfer.receive(Incoming::new(Source::Private(other), into));
    }
}
