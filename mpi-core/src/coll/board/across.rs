//! Reducing long vectors of two ranks out of each other's memory: each reduces everything where both vectors are
//! mapped, or else, where caches are far from each other, one half, and fetches the other half of the result.
//!
//! Both show their contributions. Who sees that the other has shown its own too knows that the other
//! knows the same, so both do the same; who sees pieces instead reduces everything, as the other
//! does. The halves of a result are told when all of a half is reduced, so what comes overwrites only
//! what its sender has read, and a contribution in place needs no care.
#![allow(unsafe_code)]

use super::fold::{Fold, Order, Streams, Task};
use super::message::{Incoming, Outgoing};
use super::reduce::{Job, share_bytes};
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::boards::{Audience, Source};
use crate::coll::memory::no_room;
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// Contributions of fewer pieces than these go through the ring, unless they are mapped.
const PIECES: u64 = 4;

impl<P: Port> Entry<'_, P> {
    /// Begins to send a contribution; whether it is shown. A mapped one in place is not: the other one would reduce
    /// everything where it lies, and so long no result could go there. Where the operation only begins nothing else is
    /// shown than mapped ones, so that everyone reduces everything, whatever it sees of the other.
    pub(super) fn show_operand(&mut self, job: Job, out: &mut Outgoing) -> bool {
        let (seat, len) = (job.seat, out.remaining());
        let piece = self.port.piece_max(seat.board, Audience::Everyone) as u64;
        let shown = match self.port.is_mapped(job.own.0, len) {
            true => job.own != job.recv,
            false => len >= PIECES * piece && !self.begun.is_starting(),
        };
        if shown {
            out.let_fetch(self, seat);
        }
        out.push(self, seat);
        out.is_shown()
    }

    /// Reduces `len` bytes of two ranks, of which this one's, `out`, are shown.
    pub(super) fn reduce_across(&mut self, job: Job, len: usize, out: Outgoing) -> Result<()> {
        let (seat, other) = (job.seat, 1 - job.seat.rank);
        let piece = self.await_piece(seat, Source::Public(other), WaitFor::Each(Source::Public))?;
        let mut transfer = Transfer::new(seat);
        transfer.send(out);
        if piece.apart == 0 {
            return self.reduce_beside(job, len, transfer);
        }
        if piece.mapped && self.port.is_mapped(job.own.0, len as u64) {
            let task = job.task(0, len, Order::Down(1), Streams::Public);
            transfer.reduce(Fold::new(self, seat, task));
            return transfer.run(self);
        }
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
        transfer.run(self)
    }

    /// The same where the other one writes what it contributes, and so reduces everything. It may wait for
    /// its pieces to be read before it reads what is shown, so a result in place goes there last.
    #[cold]
    fn reduce_beside(&mut self, job: Job, len: usize, mut transfer: Transfer) -> Result<()> {
        let mut kept = Vec::new();
        let mut task: Task = job.task(0, len, Order::Down(1), Streams::Public);
        if job.own == job.recv {
            kept.try_reserve_exact(len).map_err(|_| no_room(len as u64))?;
            kept.resize(len, 0u8);
            task.into = Some(kept.as_mut_ptr());
        }
        transfer.reduce(Fold::new(self, job.seat, task));
        transfer.run(self)?;
        // SAFETY: the receive buffer has `len` bytes, which the collective owns; nobody reads the
        // contribution any more.
        unsafe { std::ptr::copy_nonoverlapping(kept.as_ptr(), job.recv.0, kept.len()) };
        Ok(())
    }
}
