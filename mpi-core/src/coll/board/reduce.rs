//! Who writes what to whom in the collectives that reduce, and who reduces which elements: one process
//! all of them, everyone all of them, or each a share.
//!
//! Enters: a call as it was described. Leaves: the result, or a transfer that makes it.

use super::fold::{Fold, Order, Streams, Task, keep, section};
use super::message::{Incoming, Outgoing};
use super::pattern::Pattern;
use super::seat::Seat;
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::boards::{Audience, Source};
use crate::buffer::UserBuffer;
use crate::coll::execute::Reducer;
use crate::coll::layout::Layout;
use crate::coll::menu::Algorithm;
use crate::coll::plan::Problem;
use crate::coll::prepared::Operands;
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::op::Kernel;
use crate::port::Port;

/// Shares are cut at multiples of so many bytes, so that no two processes write to one line.
const SHARE_BYTES: usize = 512;
/// The process that reduces for all where one does.
const THROUGH: u32 = 0;

/// What it tells another one.
fn result_of_root(job: Job, len: usize) -> Incoming {
    let into = Unpacker::contiguous(job.recv, len as u64);
    Incoming::new(Source::Public(THROUGH), into)
}

impl<P: Port> Entry<'_, P> {
    /// Runs a collective operation that reduces.
    pub(super) fn reduce_over_board(
        &mut self,
        seat: Seat,
        problem: &Problem,
        data: &Operands,
        algorithm: Algorithm,
    ) -> Result<()> {
        let Reducer::Kernel(kernel) = data.reducer else {
            unreachable!("functions of the program are no choice of the table");
        };
        let shares = algorithm == Algorithm::BoardShares;
        let me = seat.rank;
        let pattern = Pattern::by(algorithm, problem);
        self.share_caches(seat, usize::MAX, pattern);
        let job = Job::new(seat, kernel, data);
        let bytes = |len: i64| len as usize * data.unit as usize;
        match problem {
            Problem::Reduce { root, len, .. } => {
                let root = *root as u32;
                let mine = (root == me).then_some(job.recv);
                if shares {
                    return self.shares(job, bytes(*len), Some(root), mine).run(self);
                }
                if algorithm == Algorithm::BoardChains {
                    return self.chains(job, bytes(*len), Some(root))?.run(self);
                }
                match root == me {
                    true => self.reduce_at_root(job, bytes(*len)),
                    false => self.reduce_for_root(job, bytes(*len), root),
                }
            }
            Problem::Allreduce { len, .. } if shares => {
                self.shares(job, bytes(*len), None, Some(job.recv)).run(self)
            }
            Problem::Allreduce { len, .. } if algorithm == Algorithm::BoardChains => {
                self.chains(job, bytes(*len), None)?.run(self)
            }
            Problem::Allreduce { len, .. } if algorithm == Algorithm::BoardRoot => {
                self.reduce_through_root(job, bytes(*len))
            }
            Problem::Allreduce { len, .. } => self.reduce_everywhere(job, bytes(*len)),
            // All know that there is nothing, and wait for nobody.
            Problem::ReduceScatter { blocks, .. } if blocks.total() == 0 => Ok(()),
            Problem::ReduceScatter { blocks, .. } => {
                let mut kept = Vec::new();
                self.blocks_reduced(job, blocks, &mut kept)?.run(self)
            }
            Problem::Scan { len, .. } => self.prefix(job, bytes(*len), Some(me)).run(self),
            Problem::Exscan { len, .. } => {
                self.prefix(job, bytes(*len), me.checked_sub(1)).run(self)
            }
            _ => unreachable!("the other problems move"),
        }
    }

    /// Reduces everything at the root.
    pub(super) fn fold_all(&mut self, job: Job, len: usize) -> Result<()> {
        let task = job.task(0, len, Order::Down(job.seat.size - 1), Streams::Private);
        self.fold_in(job.seat, task, job.recv)
    }

    /// Reduces the operands of everyone into `recv`.
    #[inline]
    pub(super) fn fold_in(&mut self, seat: Seat, task: Task, recv: UserBuffer) -> Result<()> {
        if self.fold_short(seat, &task, recv)? {
            return Ok(());
        }
        self.fold_by_tiles(seat, task)
    }

    /// The same of operands of any length.
    pub(super) fn fold_by_tiles(&mut self, seat: Seat, task: Task) -> Result<()> {
        let fold = Fold::new(self, seat, task);
        let mut transfer = Transfer::new(seat);
        transfer.reduce(fold);
        transfer.run(self)
    }

    /// Everyone tells everyone and reduces everything.
    pub(super) fn reduce_everywhere(&mut self, job: Job, len: usize) -> Result<()> {
        let seat = job.seat;
        let mut task = job.task(0, len, Order::Down(seat.size - 1), Streams::Public);
        let mut transfer = Transfer::new(seat);
        if self.is_one_piece(seat, Audience::Everyone, len as u64) {
            let source = Packer::contiguous(job.own, len as u64);
            self.write_message(seat, Audience::Everyone, source, job.unit)?;
            if !self.begun.lags() && self.fold_short(seat, &task, job.recv)? {
                return Ok(());
            }
            transfer = transfer.folding_last(job.own == job.recv);
        } else {
            let mut out = section(self, seat, Audience::Everyone, job.own, len, job.unit);
            self.show_operand(job, &mut out);
            task.follows = job.own == job.recv;
            transfer.send(out);
        }
        transfer.reduce(Fold::new(self, seat, task));
        transfer.run(self)
    }

    /// One process reduces everything and tells all.
    fn reduce_through_root(&mut self, job: Job, len: usize) -> Result<()> {
        let seat = job.seat;
        if self.begun.is_starting() {
            return self.through_root(job, len).run(self);
        }
        if seat.rank == THROUGH {
            self.takes(seat)?;
            self.reduce_at_root(job, len)?;
            let message = self.result_for_all(job, len);
            return self.write_or_show(seat, message);
        }
        self.reduce_for_root(job, len, THROUGH)?;
        let Incoming { from, into, .. } = result_of_root(job, len);
        self.read_message(seat, from, into, WaitFor::Root)
    }

    /// The same, described.
    pub(super) fn through_root(&mut self, job: Job, len: usize) -> Transfer {
        let seat = job.seat;
        let mut transfer = Transfer::new(seat);
        if seat.rank == THROUGH {
            let task = job.task(0, len, Order::Down(seat.size - 1), Streams::Private);
            transfer.reduce(Fold::new(self, seat, task));
            transfer.send_last(self.result_for_all(job, len));
        } else {
            let to = Audience::One(THROUGH);
            transfer.send(section(self, seat, to, job.own, len, job.unit));
            transfer.receive(result_of_root(job, len));
        }
        transfer
    }

    /// What the process that reduces for all tells them.
    fn result_for_all(&self, job: Job, len: usize) -> Outgoing {
        Outgoing::of_root(self, job.seat, Packer::contiguous(job.recv, len as u64))
    }

    /// Each process reduces one share of the elements; the results go to the root, or to all.
    pub(super) fn shares(
        &mut self,
        job: Job,
        len: usize,
        root: Option<u32>,
        result: Option<UserBuffer>,
    ) -> Transfer {
        let seat = job.seat;
        let share = share_bytes(len, seat.size as usize, job.unit);
        let range = |rank: u32| {
            let begin = (rank as usize * share).min(len);
            (begin, share.min(len - begin))
        };
        let to = root.map_or(Some(Audience::Everyone), |root| {
            (root != seat.rank).then_some(Audience::One(root))
        });
        let mut transfer = Transfer::new(seat);
        for rank in seat.others() {
            let (begin, part) = range(rank);
            let at = job.own.offset(begin as i64);
            transfer.send(section(self, seat, Audience::One(rank), at, part, job.unit));
            if let Some(result) = result {
                let from = match root {
                    Some(_) => Source::Private(rank),
                    None => Source::Public(rank),
                };
                let into = Unpacker::contiguous(result.offset(begin as i64), part as u64);
                transfer.receive(Incoming::new(from, into));
            }
        }
        let (begin, part) = range(seat.rank);
        let order = Order::Round(seat.size);
        let mut task = job.task(begin, part, order, Streams::Private);
        task.to = to;
        if result.is_none() {
            task.into = None;
        }
        transfer.reduce(Fold::new(self, seat, task));
        transfer
    }

    /// `MPI_REDUCE_SCATTER`: each process reduces its own block. What has to be saved of the
    /// contribution goes to `kept`, which lasts as long as the transfer.
    pub(super) fn blocks_reduced(
        &mut self,
        mut job: Job,
        blocks: &Layout,
        kept: &mut Vec<u8>,
    ) -> Result<Transfer> {
        let seat = job.seat;
        let whole = blocks.total() as usize * job.unit;
        if !self.is_one_piece(seat, Audience::One(seat.rank), whole as u64) {
            job.keep(kept, whole)?;
        }
        let range = |rank: u32| {
            let begin = blocks.start(rank as usize) as usize * job.unit;
            (begin, blocks.len(rank as usize) as usize * job.unit)
        };
        let mut transfer = Transfer::new(seat).folding_last(job.own == job.recv);
        for rank in seat.others() {
            let (begin, part) = range(rank);
            let at = job.own.offset(begin as i64);
            transfer.send(section(self, seat, Audience::One(rank), at, part, job.unit));
        }
        let (begin, part) = range(seat.rank);
        let order = Order::Round(seat.size);
        let mut task = job.task(begin, part, order, Streams::Private);
        task.into = Some(job.recv.0);
        transfer.reduce(Fold::new(self, seat, task));
        Ok(transfer)
    }

    /// `MPI_SCAN` and `MPI_EXSCAN`: everyone tells those behind it, and reduces from `first` down.
    pub(super) fn prefix(&mut self, job: Job, len: usize, first: Option<u32>) -> Transfer {
        let seat = job.seat;
        let exclusive = first != Some(seat.rank);
        let mut transfer = Transfer::new(seat).folding_last(job.own == job.recv);
        for rank in seat.rank + 1..seat.size {
            transfer.send(section(self, seat, Audience::One(rank), job.own, len, job.unit));
        }
        if let Some(first) = first {
            let mut task = job.task(0, len, Order::Down(first), Streams::Private);
            if exclusive {
                // Not one of the operands.
                task.own = std::ptr::null();
            }
            transfer.reduce(Fold::new(self, seat, task));
        }
        transfer
    }
}

/// A reduction as one process sees it.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub seat: Seat,
    pub kernel: Kernel,
    /// Bytes of an element.
    pub unit: usize,
    /// The contribution.
    pub own: UserBuffer,
    /// Where the result goes.
    pub recv: UserBuffer,
}

impl Job {
    pub(super) fn new(seat: Seat, kernel: Kernel, data: &Operands) -> Job {
        let own = if data.send.is_in_place() { data.recv } else { data.send };
        Job { seat, kernel, unit: data.unit.max(1) as usize, own, recv: data.recv }
    }

    /// Saves a contribution in place, where pieces of it are still to be sent when the first
    /// results overwrite it.
    fn keep(&mut self, kept: &mut Vec<u8>, len: usize) -> Result<()> {
        if self.own == self.recv {
            *kept = keep(self.own, len)?;
            self.own = UserBuffer(kept.as_mut_ptr());
        }
        Ok(())
    }

    /// To reduce `len` bytes of the vector, from `begin` on.
    pub(super) fn task(self, begin: usize, len: usize, order: Order, streams: Streams) -> Task {
        Task {
            kernel: self.kernel,
            unit: self.unit,
            own: self.own.offset(begin as i64).0,
            into: Some(self.recv.offset(begin as i64).0),
            len,
            order,
            streams,
            message: (0, len),
            to: None,
            follows: false,
        }
    }
}

/// Bytes of the share of each of `size` processes.
pub(super) fn share_bytes(len: usize, size: usize, unit: usize) -> usize {
    whole_share(len.div_ceil(size), unit)
}

/// The next length of a share: whole elements and, if it can be, whole lines.
pub(super) fn whole_share(bytes: usize, unit: usize) -> usize {
    let grain = if SHARE_BYTES.is_multiple_of(unit) { SHARE_BYTES } else { unit };
    bytes.next_multiple_of(grain)
}
