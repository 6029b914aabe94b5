//! What a nonblocking collective over a board writes, reads and reduces.
//!
//! Enters: a call as it was described, once its memory is known. Leaves: its transfer filled in, and
//! begun unless others go before it on the same board.

use super::begun::Errand;
use super::fold::{Fold, Order, Streams, section};
use super::message::{Incoming, Outgoing};
use super::pattern::Pattern;
use super::reduce::Job;
use super::run::giver;
use super::seat::Seat;
use super::transfer::Transfer;
use super::work::Step;
use crate::boards::{Audience, Source};
use crate::coll::execute::Reducer;
use crate::coll::menu::Algorithm;
use crate::coll::place::Places;
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Operands, Prepared};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// Fills in what an operation does and begins with it; whether it has ended.
    pub(super) fn set_out(
        &mut self,
        errand: &mut Errand,
        call: &Prepared,
        algorithm: Algorithm,
        behind: bool,
    ) -> Result<bool> {
        let transfer = &mut errand.transfer;
        let pattern = Pattern::by(algorithm, &call.problem);
        self.share_caches(transfer.seat(), usize::MAX, pattern);
        match &call.data {
            Data::Moved { send, recv } => {
                self.move_by(transfer, &call.problem, send, recv, behind)?;
            }
            Data::Reduced(data) => {
                self.reduce_by(errand, &call.problem, data, algorithm)?;
            }
        }
        Ok(!behind && self.as_far_as_it_goes(&mut errand.transfer)? == Step::Done)
    }

    fn move_by(
        &mut self,
        transfer: &mut Transfer,
        problem: &Problem,
        send: &Places,
        recv: &Places,
        behind: bool,
    ) -> Result<()> {
        let seat = transfer.seat();
        let me = seat.rank as usize;
        if let Some(root) = giver(problem) {
            self.gives(seat, root)?;
        }
        match problem {
            Problem::Barrier => {
                transfer.send(Outgoing::signal(Audience::Everyone));
                for rank in seat.others() {
                    transfer.receive(Incoming::signal(Source::Public(rank)));
                }
            }
            Problem::Bcast { root, .. } if *root == me => {
                let source = self.packer_of(recv.first())?;
                transfer.send(Outgoing::of_root(self, seat, source));
            }
            Problem::Bcast { root, .. } => {
                let into = self.unpacker_of(recv.first())?;
                transfer.receive(Incoming::new(Source::Public(*root as u32), into));
            }
            Problem::Gather { root, .. } | Problem::Gatherv { root, .. } if *root != me => {
                self.send_one(transfer, Audience::One(*root as u32), send, 0)?;
            }
            Problem::Gather { .. } | Problem::Gatherv { .. } => {
                self.copy_own(send.first(), recv.get(me))?;
                self.receive_all(transfer, seat, recv, Pattern::Rooted)?;
            }
            Problem::Scatter { root, .. } | Problem::Scatterv { root, .. } if *root != me => {
                let into = self.unpacker_of(recv.first())?;
                transfer.receive(Incoming::new(Source::Private(*root as u32), into));
            }
            Problem::Scatter { .. } | Problem::Scatterv { .. } => {
                self.send_each(transfer, seat, send)?;
                self.send_ahead(transfer, behind);
                self.copy_own(send.get(me), recv.first())?;
            }
            Problem::Allgather { in_place, .. } => {
                let (own, at) = if *in_place { (recv, me) } else { (send, 0) };
                self.send_one(transfer, Audience::Everyone, own, at)?;
                self.send_ahead(transfer, behind);
                self.receive_all(transfer, seat, recv, Pattern::EachToAll)?;
                self.copy_own(send.first(), recv.get(me))?;
            }
            Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
                transfer.swap(*in_place);
                self.send_each(transfer, seat, if *in_place { recv } else { send })?;
                self.send_ahead(transfer, behind);
                self.receive_all(transfer, seat, recv, Pattern::EachToEach)?;
                if !*in_place {
                    self.copy_own(send.get(me), recv.get(me))?;
                }
            }
            _ => unreachable!("the other problems reduce"),
        }
        Ok(())
    }

    /// Writes what others wait for before this process does its own part; behind other operations
    /// it has to wait for its turn.
    fn send_ahead(&mut self, transfer: &mut Transfer, behind: bool) {
        transfer.let_fetch(self);
        if !behind {
            transfer.write(self);
        }
    }

    fn send_one(
        &mut self,
        transfer: &mut Transfer,
        to: Audience,
        blocks: &Places,
        at: usize,
    ) -> Result<()> {
        let source = self.packer_of(blocks.get(at))?;
        transfer.send(Outgoing::new(self, transfer.seat(), to, source, 1));
        Ok(())
    }

    fn send_each(&mut self, transfer: &mut Transfer, seat: Seat, blocks: &Places) -> Result<()> {
        for rank in seat.others() {
            self.send_one(transfer, Audience::One(rank), blocks, rank as usize)?;
        }
        Ok(())
    }

    fn reduce_by(
        &mut self,
        errand: &mut Errand,
        problem: &Problem,
        data: &Operands,
        algorithm: Algorithm,
    ) -> Result<()> {
        let shares = algorithm == Algorithm::BoardShares;
        let chains = algorithm == Algorithm::BoardChains;
        let Reducer::Kernel(kernel) = data.reducer else {
            unreachable!("functions of the program are no choice of the table");
        };
        let Errand { transfer, kept, .. } = errand;
        let seat = transfer.seat();
        let job = Job::new(seat, kernel, data);
        let me = seat.rank;
        let bytes = |len: i64| len as usize * data.unit as usize;
        match problem {
            Problem::Reduce { root, len, .. } if chains => {
                *transfer = self.chains(job, bytes(*len), Some(*root as u32))?;
            }
            Problem::Allreduce { len, .. } if chains => {
                *transfer = self.chains(job, bytes(*len), None)?;
            }
            Problem::Reduce { root, len, .. } if shares => {
                let root = *root as u32;
                let mine = (root == me).then_some(job.recv);
                *transfer = self.shares(job, bytes(*len), Some(root), mine);
            }
            Problem::Reduce { root, len, .. } if *root as u32 != me => {
                let to = Audience::One(*root as u32);
                transfer.send(section(self, seat, to, job.own, bytes(*len), job.unit));
            }
            Problem::Reduce { len, .. } => {
                let order = Order::Down(seat.size - 1);
                let task = job.task(0, bytes(*len), order, Streams::Private);
                transfer.reduce(Fold::new(self, seat, task));
            }
            Problem::Allreduce { len, .. } if shares => {
                *transfer = self.shares(job, bytes(*len), None, Some(job.recv));
            }
            Problem::Allreduce { len, .. } if algorithm == Algorithm::BoardRoot => {
                *transfer = self.through_root(job, bytes(*len));
            }
            Problem::Allreduce { len, .. } => {
                let order = Order::Down(seat.size - 1);
                let mut task = job.task(0, bytes(*len), order, Streams::Public);
                task.follows = job.own == job.recv;
                let to = Audience::Everyone;
                transfer.send(section(self, seat, to, job.own, bytes(*len), job.unit));
                transfer.reduce(Fold::new(self, seat, task));
            }
            Problem::ReduceScatter { blocks, .. } => {
                *transfer = self.blocks_reduced(job, blocks, kept)?;
            }
            Problem::Scan { len, .. } => *transfer = self.prefix(job, bytes(*len), Some(me)),
            Problem::Exscan { len, .. } => {
                *transfer = self.prefix(job, bytes(*len), me.checked_sub(1));
            }
            _ => unreachable!("the other problems move"),
        }
        Ok(())
    }
}
