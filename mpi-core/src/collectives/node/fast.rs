//! The fast path of small collectives on one node (MPI-5.0 §6.3 to §6.9): blocks of less than [`MAPPED_BYTES`]
//! of a predefined datatype, which nobody fetches and which mostly are one fragment, go from the arguments of a
//! blocking call, or one that [begins](super::begin_fast), to the streams, without a description of the problem or a
//! choice of algorithm.
//!
//! Enters: the arguments of a call. Leaves: the call is done, or nothing happened and the described way takes
//! over, which words all errors of arguments: here a doubtful one is a reason to decline. Both ways write and read
//! the same fragments, so each process takes its own. Procedures are always inlined; `BEGINS` tells the caller that
//! runs a call to its end from the one that begins it, so that each has the whole path to itself.
#![allow(clippy::too_many_arguments)]

use super::member::{AtSegment, Member};
use super::message::copy_run;
use super::task::{Job, Streams};
use super::work::WaitFor;
use crate::buffer::UserBuffer;
use crate::coll::cost::Way;
use crate::coll::menu::Collective;
use crate::collectives::Collectives;
use crate::comm::{Comm, SegmentState};
use crate::datatype::dense_size;
use crate::error::Result;
use crate::handle::{CommHandle, DatatypeHandle, OpHandle};
use crate::node_memory::{Audience, SegmentId, Source};
use crate::objects::Objects;
use crate::op::{Kernel, Op};
use crate::port::Port;
use crate::tuning::MAPPED_BYTES;

/// The bytes of a block if they are few and one run of memory at its address, or none at all.
#[inline(always)]
fn short(buf: UserBuffer, count: i64, datatype: DatatypeHandle) -> Option<usize> {
    let size = dense_size(datatype.raw());
    // A negative count is larger than any.
    let bytes = size.checked_mul(count as u64)?;
    let is_short = size > 0 && bytes < MAPPED_BYTES && (buf.is_real() || bytes == 0);
    is_short.then_some(bytes as usize)
}

/// The block of `rank`.
#[inline]
fn block(buf: UserBuffer, rank: u32, len: usize) -> UserBuffer {
    buf.offset(i64::from(rank) * len as i64)
}

/// Whether a block begins within those of all members, which begin at `all`: the described way has to judge that.
#[inline(always)]
fn is_within(own: UserBuffer, all: UserBuffer, len: usize, size: u32) -> bool {
    own.0.addr().wrapping_sub(all.0.addr()) < len * size as usize
}

/// The segment of processes that have several last-level caches, if a call goes flat there.
#[cold]
#[inline(never)]
fn flat_segment(state: &Comm, collective: Collective, bytes: i64) -> Option<SegmentId> {
    let SegmentState::Divided(segment) = state.segment else { return None };
    let by_cost = state.by_cost.as_ref()?;
    (by_cost.way(collective, bytes) == Way::Flat).then_some(segment)
}

impl Objects {
    /// This process's place at the segment of `comm`, if all members take the algorithm `shared_memory` for a call with
    /// so many bytes (as the table of rules counts them) for each of so many members.
    #[inline]
    fn fast_member(
        &self,
        collective: Collective,
        comm: CommHandle,
        bytes: impl FnOnce(usize) -> usize,
    ) -> Option<Member> {
        let state = self.comms.find(comm)?;
        let bytes = bytes(state.size() as usize) as i64;
        let segment = match state.segment {
            SegmentState::Open(segment) => segment,
            _ => flat_segment(state, collective, bytes)?,
        };
        let is_served =
            bytes <= self.selection.shared_memory_below(collective) && state.remote.is_none();
        is_served.then(|| Member::new(segment, comm, state))
    }

    /// The same, and the rank of a root that is a member.
    #[inline]
    fn fast_member_at(
        &self,
        root: i32,
        collective: Collective,
        comm: CommHandle,
        bytes: impl FnOnce(usize) -> usize,
    ) -> Option<(Member, u32)> {
        let member = self.fast_member(collective, comm, bytes)?;
        ((root as u32) < member.size).then_some((member, root as u32))
    }

    /// What carries out a predefined operation on elements of a datatype: mostly the same as before.
    #[inline]
    fn fast_kernel(&self, op: OpHandle, datatype: DatatypeHandle) -> Option<Kernel> {
        match self.kernel_found.get() {
            Some((of, on, kernel)) if of == op && on == datatype => Some(kernel),
            _ => self.find_kernel(op, datatype),
        }
    }

    /// The same looked for.
    #[inline(never)]
    fn find_kernel(&self, op: OpHandle, datatype: DatatypeHandle) -> Option<Kernel> {
        let Op::Builtin(builtin) = self.op(op).ok()? else { return None };
        let kernel = builtin.kernel(self.datatypes.committed(datatype).ok()?).ok()?;
        self.kernel_found.set(Some((op, datatype, kernel)));
        Some(kernel)
    }
}

impl<P: Port> Collectives<'_, P> {
    /// `MPI_BARRIER` (§6.3). Like all that follow it says whether the call is done.
    #[inline(always)]
    pub fn fast_barrier<const BEGINS: bool>(&mut self, comm: CommHandle) -> Result<bool> {
        let member = self.fast_member(Collective::Barrier, comm, |_| 0);
        let Some(member) = member else { return Ok(false) };
        self.at(member).over_segment(AtSegment::meet_on_segment).map(|()| true)
    }

    /// `MPI_BCAST` (§6.4).
    #[inline(always)]
    pub fn fast_bcast<const BEGINS: bool>(
        &mut self,
        buffer: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = short(buffer, count, datatype) else { return Ok(false) };
        let at = self.fast_member_at(root, Collective::Bcast, comm, |_| len);
        let Some((member, root)) = at else { return Ok(false) };
        let run = |at: &mut AtSegment<'_, P>| {
            at.gives(root)?;
            match root == member.rank {
                true => at.write_run(Audience::Everyone, buffer, len),
                false => at.read_run(Source::Public(root), buffer, len, WaitFor::Root),
            }
        };
        self.at(member).over_segment(run).map(|()| true)
    }

    /// `MPI_GATHER` (§6.5).
    #[inline(always)]
    pub fn fast_gather<const BEGINS: bool>(
        &mut self,
        sendbuf: UserBuffer,
        sendcount: i64,
        sendtype: DatatypeHandle,
        recvbuf: UserBuffer,
        recvcount: i64,
        recvtype: DatatypeHandle,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = short(sendbuf, sendcount, sendtype) else { return Ok(false) };
        let at = self.fast_member_at(root, Collective::Gather, comm, |size| len * size);
        let Some((member, root)) = at else { return Ok(false) };
        let is_root = root == member.rank;
        if is_root
            && (short(recvbuf, recvcount, recvtype) != Some(len)
                || is_within(sendbuf, recvbuf, len, member.size))
        {
            return Ok(false);
        }
        let run = |at: &mut AtSegment<'_, P>| {
            if !is_root {
                return at.write_run(Audience::One(root), sendbuf, len);
            }
            at.takes()?;
            copy_run(sendbuf, block(recvbuf, root, len), len);
            at.read_blocks(Source::Private, recvbuf, len)
        };
        self.at(member).over_segment(run).map(|()| true)
    }

    /// `MPI_SCATTER` (§6.6).
    #[inline(always)]
    pub fn fast_scatter<const BEGINS: bool>(
        &mut self,
        sendbuf: UserBuffer,
        sendcount: i64,
        sendtype: DatatypeHandle,
        recvbuf: UserBuffer,
        recvcount: i64,
        recvtype: DatatypeHandle,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = short(recvbuf, recvcount, recvtype) else { return Ok(false) };
        let at = self.fast_member_at(root, Collective::Scatter, comm, |size| len * size);
        let Some((member, root)) = at else { return Ok(false) };
        let is_root = root == member.rank;
        if is_root
            && (short(sendbuf, sendcount, sendtype) != Some(len)
                || is_within(recvbuf, sendbuf, len, member.size))
        {
            return Ok(false);
        }
        let run = |at: &mut AtSegment<'_, P>| {
            at.gives(root)?;
            if !is_root {
                return at.read_run(Source::Private(root), recvbuf, len, WaitFor::Root);
            }
            at.write_blocks(sendbuf, len)?;
            copy_run(block(sendbuf, root, len), recvbuf, len);
            Ok(())
        };
        self.at(member).over_segment(run).map(|()| true)
    }

    /// `MPI_ALLGATHER` (§6.7).
    #[inline(always)]
    pub fn fast_allgather<const BEGINS: bool>(
        &mut self,
        sendbuf: UserBuffer,
        sendcount: i64,
        sendtype: DatatypeHandle,
        recvbuf: UserBuffer,
        recvcount: i64,
        recvtype: DatatypeHandle,
        comm: CommHandle,
    ) -> Result<bool> {
        let len = short(sendbuf, sendcount, sendtype);
        let len = len.filter(|len| short(recvbuf, recvcount, recvtype) == Some(*len));
        let Some(len) = len else { return Ok(false) };
        let member = self.fast_member(Collective::Allgather, comm, |size| len * size);
        let member = member.filter(|member| !is_within(sendbuf, recvbuf, len, member.size));
        let Some(member) = member else { return Ok(false) };
        let run = |at: &mut AtSegment<'_, P>| {
            at.write_run(Audience::Everyone, sendbuf, len)?;
            copy_run(sendbuf, block(recvbuf, member.rank, len), len);
            at.read_blocks(Source::Public, recvbuf, len)
        };
        self.at(member).over_segment(run).map(|()| true)
    }

    /// `MPI_ALLTOALL` (§6.8).
    #[inline(always)]
    pub fn fast_alltoall<const BEGINS: bool>(
        &mut self,
        sendbuf: UserBuffer,
        sendcount: i64,
        sendtype: DatatypeHandle,
        recvbuf: UserBuffer,
        recvcount: i64,
        recvtype: DatatypeHandle,
        comm: CommHandle,
    ) -> Result<bool> {
        let len = short(sendbuf, sendcount, sendtype);
        let len = len.filter(|len| short(recvbuf, recvcount, recvtype) == Some(*len));
        let Some(len) = len.filter(|_| sendbuf != recvbuf) else { return Ok(false) };
        let member = self.fast_member(Collective::Alltoall, comm, |size| len * size);
        let Some(member) = member else { return Ok(false) };
        let run = |at: &mut AtSegment<'_, P>| {
            at.write_blocks(sendbuf, len)?;
            copy_run(block(sendbuf, member.rank, len), block(recvbuf, member.rank, len), len);
            at.read_blocks(Source::Private, recvbuf, len)
        };
        self.at(member).over_segment(run).map(|()| true)
    }

    /// `MPI_REDUCE` (§6.9.1).
    #[inline(always)]
    pub fn fast_reduce<const BEGINS: bool>(
        &mut self,
        sendbuf: UserBuffer,
        recvbuf: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        op: OpHandle,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let own = if sendbuf.is_in_place() { recvbuf } else { sendbuf };
        let Some(len) = short(own, count, datatype) else { return Ok(false) };
        let at = self.fast_member_at(root, Collective::Reduce, comm, |_| len);
        let Some((member, root)) = at else { return Ok(false) };
        let is_sound = match root == member.rank {
            true => short(recvbuf, count, datatype).is_some() && sendbuf != recvbuf,
            false => !sendbuf.is_in_place(),
        };
        let kernel = self.fast_kernel(op, datatype).filter(|_| is_sound);
        let Some(kernel) = kernel else { return Ok(false) };
        let unit = dense_size(datatype.raw()) as usize;
        let job = Job { member, kernel, unit, own, recv: recvbuf };
        let run = |at: &mut AtSegment<'_, P>| match root == member.rank {
            true => {
                at.takes()?;
                at.fold_all(job, len)
            }
            false => at.write_run(Audience::One(root), own, len),
        };
        self.at(member).over_segment(run).map(|()| true)
    }

    /// `MPI_ALLREDUCE` (§6.9.6).
    #[inline(always)]
    pub fn fast_allreduce<const BEGINS: bool>(
        &mut self,
        sendbuf: UserBuffer,
        recvbuf: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        op: OpHandle,
        comm: CommHandle,
    ) -> Result<bool> {
        let own = if sendbuf.is_in_place() { recvbuf } else { sendbuf };
        let len = short(own, count, datatype);
        let len = len.filter(|len| short(recvbuf, count, datatype) == Some(*len));
        let Some(len) = len.filter(|_| sendbuf != recvbuf) else { return Ok(false) };
        let member = self.fast_member(Collective::Allreduce, comm, |_| len);
        let Some(member) = member else { return Ok(false) };
        let Some(kernel) = self.fast_kernel(op, datatype) else { return Ok(false) };
        let unit = dense_size(datatype.raw()) as usize;
        let job = Job { member, kernel, unit, own, recv: recvbuf };
        let run = |at: &mut AtSegment<'_, P>| {
            at.write_run(Audience::Everyone, own, len)?;
            let mut task = job.all(len, Streams::Public);
            task.follows = own == recvbuf;
            at.fold_in(task, recvbuf)
        };
        self.at(member).over_segment(run).map(|()| true)
    }
}

impl<P: Port> AtSegment<'_, P> {
    /// Writes each other member its block.
    #[inline]
    fn write_blocks(&mut self, at: UserBuffer, len: usize) -> Result<()> {
        for rank in self.member.others() {
            self.write_run(Audience::One(rank), block(at, rank, len), len)?;
        }
        Ok(())
    }

    /// Reads each other member's block.
    #[inline]
    fn read_blocks(&mut self, from: fn(u32) -> Source, at: UserBuffer, len: usize) -> Result<()> {
        for rank in self.member.others() {
            self.read_run(from(rank), block(at, rank, len), len, WaitFor::Each(from))?;
        }
        Ok(())
    }
}
