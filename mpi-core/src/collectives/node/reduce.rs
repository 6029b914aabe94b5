//! What each process does in the collectives that reduce: who writes what to whom, and who reduces which elements: one
//! process all of them, everyone all of them, or each a share.
//!
//! Enters: a call. Leaves: its transfer.

use super::describe::Description;
use super::fold::{Fold, keep, section};
use super::message::Incoming;
use super::task::{Job, Order, Streams};
use crate::coll::layout::Layout;
use crate::coll::menu::Algorithm;
use crate::coll::plan::Problem;
use crate::coll::prepared::Operands;
use crate::coll::prepared::Reducer;
use crate::datatype::Unpacker;
use crate::error::Result;
use crate::node_memory::{Audience, Source};
use crate::port::Port;
use crate::tuning::SHARE_BYTES;

impl<P: Port> Description<'_, '_, P> {
    /// What this process does in a call that reduces.
    pub(super) fn reduces(
        &mut self,
        problem: &Problem,
        data: &Operands,
        algorithm: Algorithm,
    ) -> Result<()> {
        let Reducer::Kernel(kernel) = data.reducer else {
            unreachable!("functions of the program are no choice of the table");
        };
        let member = self.at.member;
        let job = Job::new(member, kernel, data);
        let in_shares = algorithm == Algorithm::SharedMemoryShares;
        let bytes = |len: i64| len as usize * data.unit as usize;
        match problem {
            Problem::Reduce { root, len, .. } if in_shares => {
                self.shares(job, bytes(*len), Some(*root as u32))
            }
            Problem::Reduce { root, len, .. } => self.at_root(job, bytes(*len), *root as u32),
            Problem::Allreduce { len, .. } if in_shares => self.shares(job, bytes(*len), None),
            Problem::Allreduce { len, .. } => self.everywhere(job, bytes(*len)),
            Problem::ReduceScatter { blocks, .. } => self.blocks_reduced(job, blocks)?,
            Problem::Scan { len, .. } => self.prefix(job, bytes(*len), Some(member.rank)),
            Problem::Exscan { len, .. } => {
                self.prefix(job, bytes(*len), member.rank.checked_sub(1))
            }
            _ => unreachable!("the other problems move"),
        }
        Ok(())
    }

    /// `MPI_REDUCE`: the root reduces everything.
    fn at_root(&mut self, job: Job, len: usize, root: u32) {
        let member = self.at.member;
        if member.rank == root {
            self.transfer.reduce(Fold::new(self.at, job.all(len, Streams::Private)));
        } else {
            let message = section(self.at, Audience::One(root), job.own, len, job.unit);
            self.transfer.send(self.at.offered(message));
        }
    }

    /// `MPI_ALLREDUCE`: everyone tells everyone, and reduces everything.
    fn everywhere(&mut self, job: Job, len: usize) {
        let mut out = section(self.at, Audience::Everyone, job.own, len, job.unit);
        self.at.expose_operand(job, &mut out);
        let mut task = job.all(len, Streams::Public);
        task.follows = job.own == job.recv;
        self.transfer.send(out);
        self.transfer.reduce(Fold::new(self.at, task));
    }

    /// Each process reduces one share of the elements; the results go to the root, or to all.
    fn shares(&mut self, job: Job, len: usize, root: Option<u32>) {
        let member = self.at.member;
        let share = share_bytes(len, member.size as usize, job.unit);
        let range = |rank: u32| {
            let begin = (rank as usize * share).min(len);
            (begin, share.min(len - begin))
        };
        let is_told = root.is_none_or(|root| root == member.rank);
        for rank in member.others() {
            let (begin, part) = range(rank);
            let at = job.own.offset(begin as i64);
            self.transfer.send(section(self.at, Audience::One(rank), at, part, job.unit));
            if is_told {
                let from = match root {
                    Some(_) => Source::Private(rank),
                    None => Source::Public(rank),
                };
                let into = Unpacker::contiguous(job.recv.offset(begin as i64), part as u64);
                self.transfer.receive(Incoming::new(from, into));
            }
        }
        let (begin, part) = range(member.rank);
        let mut task = job.task(begin, part, Order::Round(member.size), Streams::Private);
        task.to = match root {
            Some(root) => (root != member.rank).then_some(Audience::One(root)),
            None => Some(Audience::Everyone),
        };
        if !is_told {
            task.into = None;
        }
        self.transfer.reduce(Fold::new(self.at, task));
    }

    /// `MPI_REDUCE_SCATTER`: each process reduces its own block. A contribution in place is saved where fragments of it
    /// are still to be sent when the first results overwrite it.
    fn blocks_reduced(&mut self, mut job: Job, blocks: &Layout) -> Result<()> {
        let member = self.at.member;
        let whole = blocks.total() as usize * job.unit;
        if job.own == job.recv && !self.is_one_fragment(Audience::One(member.rank), whole as u64) {
            job.own = self.transfer.keep(keep(job.own, whole)?);
        }
        let range = |rank: u32| {
            let begin = blocks.start(rank as usize) as usize * job.unit;
            (begin, blocks.len(rank as usize) as usize * job.unit)
        };
        self.transfer.fold_last(job.own == job.recv);
        for rank in member.others() {
            let (begin, part) = range(rank);
            let at = job.own.offset(begin as i64);
            self.transfer.send(section(self.at, Audience::One(rank), at, part, job.unit));
        }
        let (begin, part) = range(member.rank);
        let mut task = job.task(begin, part, Order::Round(member.size), Streams::Private);
        task.into = Some(job.recv.0);
        self.transfer.reduce(Fold::new(self.at, task));
        Ok(())
    }

    /// `MPI_SCAN` and `MPI_EXSCAN`: everyone tells those behind it, and reduces from `first` down.
    fn prefix(&mut self, job: Job, len: usize, first: Option<u32>) {
        let member = self.at.member;
        let exclusive = first != Some(member.rank);
        self.transfer.fold_last(job.own == job.recv);
        for rank in member.rank + 1..member.size {
            self.transfer.send(section(self.at, Audience::One(rank), job.own, len, job.unit));
        }
        if let Some(first) = first {
            let mut task = job.task(0, len, Order::Down(first), Streams::Private);
            if exclusive {
                // Not one of the operands.
                task.own = std::ptr::null();
            }
            self.transfer.reduce(Fold::new(self.at, task));
        }
    }
}

/// Bytes of the share of each of `size` processes: whole elements and, if it can be, whole lines.
fn share_bytes(len: usize, size: usize, unit: usize) -> usize {
    let grain = if SHARE_BYTES.is_multiple_of(unit) { SHARE_BYTES } else { unit };
    len.div_ceil(size).next_multiple_of(grain)
}
