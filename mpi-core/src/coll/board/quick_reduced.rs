//! The short way of small reduce-scatters (see [`quick`](super::quick)): each process writes to each other one the part
//! of its vector that this one reduces.
//!
//! Enters: the arguments of a call. Leaves: the call is done, or nothing happened.

use super::pattern::Pattern;
use super::quick::{QUICK_BYTES, UNREAL_ADDRESSES, plain, polls};
use super::seat::BoardState;
use super::task::{Job, Order, Streams};
use crate::boards::Audience;
use crate::buffer::UserBuffer;
use crate::coll::calls::Typed;
use crate::coll::menu::Collective;
use crate::datatype::dense_size;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::{CommHandle, DatatypeHandle, OpHandle};
use crate::port::Port;

/// The arguments of a small reduce-scatter that do not say how the vector is cut.
#[derive(Clone, Copy)]
pub struct Reduced {
    /// The contribution.
    pub send: UserBuffer,
    /// Where the own block of the result goes.
    pub recv: UserBuffer,
    /// Type of the elements.
    pub datatype: DatatypeHandle,
    /// Operation.
    pub op: OpHandle,
}

impl<P: Port> Entry<'_, P> {
    /// A reduction of nothing, which all processes see from their arguments: they need not meet, and
    /// only count it as one more operation. Whether it is done.
    #[inline(always)]
    pub fn reduce_nothing(
        &mut self,
        datatype: DatatypeHandle,
        op: OpHandle,
        comm: CommHandle,
    ) -> bool {
        if !self.begun.is_empty() || self.quick_kernel(op, datatype).is_none() {
            return false;
        }
        let Some(state) = self.comms.find_mut(comm) else { return false };
        if !matches!(state.board, BoardState::Open(_)) || state.remote.is_some() {
            return false;
        }
        if polls(state.next_call()) {
            self.poll();
        }
        true
    }

    /// `MPI_REDUCE_SCATTER` (§6.10.2).
    #[inline(always)]
    pub fn reduce_scatter_quickly(
        &mut self,
        data: Reduced,
        count: impl Fn(usize) -> i64,
        comm: CommHandle,
    ) -> Result<bool> {
        self.reduce_blocks_quickly(Collective::ReduceScatter, data, count, comm)
    }

    /// `MPI_REDUCE_SCATTER_BLOCK` (§6.10.1).
    #[inline(always)]
    pub fn reduce_scatter_block_quickly(
        &mut self,
        data: Reduced,
        count: i64,
        comm: CommHandle,
    ) -> Result<bool> {
        self.reduce_blocks_quickly(Collective::ReduceScatterBlock, data, |_| count, comm)
    }

    #[inline]
    fn reduce_blocks_quickly(
        &mut self,
        collective: Collective,
        data: Reduced,
        count: impl Fn(usize) -> i64,
        comm: CommHandle,
    ) -> Result<bool> {
        let of = |count| Typed { buf: data.send, count, datatype: data.datatype };
        let Some(seat) = self.quick_seat(collective, comm, 0) else {
            let operands = || [of(count(0)), Typed { buf: data.recv, ..of(count(0)) }];
            return self.reduced_alone(comm, data.op, data.send, operands);
        };
        let len = |rank: u32| plain(of(count(rank as usize)));
        let total = (0..seat.size).try_fold(0, |sum, rank| Some(sum + len(rank)?));
        let (Some(total), Some(part)) = (total, len(seat.rank)) else { return Ok(false) };
        let real = [data.send, data.recv].iter().all(|buf| buf.0.addr() > UNREAL_ADDRESSES);
        let served = self.quick_seat(collective, comm, total).is_some();
        if !real || data.send == data.recv || !served || total > QUICK_BYTES as usize {
            return Ok(false);
        }
        let longest = || seat.others().filter_map(len).max().unwrap_or(0);
        if self.is_cut(seat, longest) {
            return Ok(false);
        }
        let Some(kernel) = self.quick_kernel(data.op, data.datatype) else { return Ok(false) };
        let unit = dense_size(data.datatype.raw()) as usize;
        let begin = (0..seat.rank).filter_map(len).sum::<usize>();
        self.share_caches(seat, part, Pattern::EachToEach);
        self.over_board(seat, |entry| {
            if total == 0 {
                return Ok(());
            }
            let mut at = begin + part;
            for rank in seat.others() {
                // They come round from the next one on.
                at = if rank == 0 { 0 } else { at };
                let len = len(rank).unwrap_or(0);
                let block = data.send.offset(at as i64);
                entry.write_run(seat, Audience::One(rank), block, len, unit)?;
                at += len;
            }
            let own = data.send.offset(begin as i64);
            let job = Job { seat, kernel, unit, own, recv: data.recv };
            let task = job.task(0, part, Order::Round(seat.size), Streams::Private);
            entry.fold_in(seat, task, data.recv)
        })
    }
}
