//! The collective procedures (MPI-5.0 chapter 6): arguments in, a [`Prepared`] operation out, which
//! is run at once, begun for later, or kept to be started again. Those of intercommunicators are in
//! `between`.

use std::sync::Arc;

use crate::buffer::UserBuffer;
use crate::coll::aliased::{ANY, NONE, ONE, Own, exchanged_apart};
use crate::coll::inter::Between;
use crate::coll::layout::Layout;
use crate::coll::menu::Collective;
use crate::coll::place::{Place, Places};
use crate::coll::plan::Problem;
pub use crate::coll::prepared::Prepared;
use crate::coll::prepared::Reducer;
use crate::coll::prepared::{Data, Operands};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::{Error, ErrorClass, Result};
use crate::fail;
use crate::handle::{CommHandle, DatatypeHandle, OpHandle};
use crate::objects::Objects;
use crate::op::Op;

/// A buffer argument with its count and type.
#[derive(Clone, Copy, Debug)]
pub struct Typed {
    /// Address.
    pub buf: UserBuffer,
    /// Number of elements, of one block where there are blocks.
    pub count: i64,
    /// Their type.
    pub datatype: DatatypeHandle,
}

impl Typed {
    /// The same without elements if there are no blocks of them.
    pub(super) fn of_any(self, any: bool) -> Typed {
        // A count that is wrong stays so.
        Typed { count: if any { self.count } else { self.count.min(0) }, ..self }
    }
}

/// A buffer argument of blocks that differ: of a v- or w-variant.
#[derive(Clone, Copy, Debug)]
pub struct Varied<'a> {
    /// Address.
    pub buf: UserBuffer,
    /// Number of elements of each rank's block.
    pub counts: &'a [i64],
    /// Where each block begins.
    pub displs: &'a [i64],
    /// The types of the blocks.
    pub datatypes: Types<'a>,
}

/// The types of a varied buffer's blocks.
#[derive(Clone, Copy, Debug)]
pub enum Types<'a> {
    /// One for all; displacements count its extents.
    Same(DatatypeHandle),
    /// One for each; displacements are bytes (`MPI_ALLTOALLW`).
    Each(&'a [DatatypeHandle]),
}

/// The arguments of a reduction: send and receive buffer, count, datatype, operation.
pub(super) type Arguments = (UserBuffer, UserBuffer, i64, DatatypeHandle, OpHandle);

/// What makes calls of arguments.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    pub(super) objects: &'a Objects,
}

impl Objects {
    /// What makes collective calls of arguments.
    #[inline]
    pub fn calls(&self) -> Calls<'_> {
        Calls { objects: self }
    }
}

impl Calls<'_> {
    /// `MPI_BARRIER` (§6.3).
    pub fn barrier(self, comm: CommHandle) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.barrier_between(sides, comm);
        }
        self.moved(comm, Collective::Barrier, Problem::Barrier, 0, Places::None, Places::None)
    }

    /// `MPI_BCAST` (§6.4).
    pub fn bcast(self, data: Typed, root: i32, comm: CommHandle) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.bcast_between(sides, data, root, comm);
        }
        let root = self.objects.comm(comm)?.root(root)?;
        let block = self.block(data, "buffer")?;
        let len = block.bytes();
        let problem = Problem::Bcast { root, len };
        self.moved(comm, Collective::Bcast, problem, len, Places::None, Places::one(block))
    }

    /// `MPI_GATHER` (§6.5). The receive buffer counts at the root only.
    pub fn gather(self, send: Typed, recv: Typed, root: i32, comm: CommHandle) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.gather_between(sides, send, recv, root, comm);
        }
        let state = self.objects.comm(comm)?;
        let (root, size) = (state.root(root)?, state.size() as usize);
        let at_root = root == state.rank as usize;
        let in_place = at_root && send.buf.is_in_place();
        let own = self.own(send, "sendbuf", in_place)?;
        let into = if at_root { self.blocks(recv, size, "recvbuf")? } else { Places::None };
        let block = into.first().or(own.first()).map_or(0, |block| block.bytes());
        self.fits(own.first(), into.get(root))?;
        let (own, in_place) =
            self.objects.equal_buffers.apart(own, in_place, Own::Send, &into, root)?;
        let problem = Problem::Gather { root, block, in_place };
        let total = block.saturating_mul(size as i64);
        self.moved(comm, Collective::Gather, problem, total, own, into)
    }

    /// `MPI_GATHERV` (§6.5).
    pub fn gatherv(
        self,
        send: Typed,
        recv: Option<Varied<'_>>,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.gatherv_between(sides, send, recv, root, comm);
        }
        let state = self.objects.comm(comm)?;
        let root = state.root(root)?;
        let in_place = root == state.rank as usize && send.buf.is_in_place();
        let own = self.own(send, "sendbuf", in_place)?;
        let into = recv.map(|recv| self.varied(recv, "recvbuf")).transpose()?;
        let blocks = into.as_ref().map(layout);
        let into = into.unwrap_or(Places::None);
        self.fits(own.first(), into.get(root))?;
        let (own, in_place) =
            self.objects.equal_buffers.apart(own, in_place, Own::Send, &into, root)?;
        let bytes = own.first().map_or(0, |block| block.bytes());
        let problem = Problem::Gatherv { root, own: bytes, blocks, in_place };
        self.moved(comm, Collective::Gatherv, problem, 0, own, into)
    }

    /// `MPI_SCATTER` (§6.6). The send buffer counts at the root only.
    pub fn scatter(
        self,
        send: Typed,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.scatter_between(sides, send, recv, root, comm);
        }
        let state = self.objects.comm(comm)?;
        let (root, size) = (state.root(root)?, state.size() as usize);
        let at_root = root == state.rank as usize;
        let in_place = at_root && recv.buf.is_in_place();
        let from = if at_root { self.blocks(send, size, "sendbuf")? } else { Places::None };
        let own = self.own(recv, "recvbuf", in_place)?;
        let block = from.first().or(own.first()).map_or(0, |block| block.bytes());
        self.fits(from.get(root), own.first())?;
        let (own, in_place) =
            self.objects.equal_buffers.apart(own, in_place, Own::Recv, &from, root)?;
        let problem = Problem::Scatter { root, block, in_place };
        let total = block.saturating_mul(size as i64);
        self.moved(comm, Collective::Scatter, problem, total, from, own)
    }

    /// `MPI_SCATTERV` (§6.6).
    pub fn scatterv(
        self,
        send: Option<Varied<'_>>,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.scatterv_between(sides, send, recv, root, comm);
        }
        let state = self.objects.comm(comm)?;
        let root = state.root(root)?;
        let in_place = root == state.rank as usize && recv.buf.is_in_place();
        let own = self.own(recv, "recvbuf", in_place)?;
        let from = send.map(|send| self.varied(send, "sendbuf")).transpose()?;
        let blocks = from.as_ref().map(layout);
        let from = from.unwrap_or(Places::None);
        self.fits(from.get(root), own.first())?;
        let (own, in_place) =
            self.objects.equal_buffers.apart(own, in_place, Own::Recv, &from, root)?;
        let bytes = own.first().map_or(0, |block| block.bytes());
        let problem = Problem::Scatterv { root, own: bytes, blocks, in_place };
        self.moved(comm, Collective::Scatterv, problem, 0, from, own)
    }

    /// `MPI_ALLGATHER` (§6.7).
    pub fn allgather(self, send: Typed, recv: Typed, comm: CommHandle) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.allgather_between(sides, send, recv, comm);
        }
        let state = self.objects.comm(comm)?;
        let into = self.blocks(recv, state.size() as usize, "recvbuf")?;
        self.gather_to_all(comm, Collective::Allgather, send, into)
    }

    /// `MPI_ALLGATHERV` (§6.7).
    pub fn allgatherv(self, send: Typed, recv: Varied<'_>, comm: CommHandle) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.allgatherv_between(sides, send, recv, comm);
        }
        let into = self.varied(recv, "recvbuf")?;
        self.gather_to_all(comm, Collective::Allgatherv, send, into)
    }

    fn gather_to_all(
        self,
        comm: CommHandle,
        collective: Collective,
        send: Typed,
        into: Places,
    ) -> Result<Prepared> {
        let state = self.objects.comm(comm)?;
        let (rank, size) = (state.rank as usize, state.size() as usize);
        let in_place = send.buf.is_in_place();
        let own = self.own(send, "sendbuf", in_place)?;
        self.fits(own.first(), into.get(rank))?;
        let (own, in_place) =
            self.objects.equal_buffers.apart(own, in_place, Own::Send, &into, rank)?;
        let blocks = match collective {
            Collective::Allgather => {
                Layout::uniform(into.first().map_or(0, |block| block.bytes()), size)
            }
            _ => layout(&into),
        };
        let total = blocks.total();
        self.moved(comm, collective, Problem::Allgather { blocks, in_place }, total, own, into)
    }

    /// `MPI_ALLTOALL` (§6.8).
    pub fn alltoall(self, send: Typed, recv: Typed, comm: CommHandle) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.alltoall_between(sides, send, recv, comm);
        }
        let state = self.objects.comm(comm)?;
        let size = state.size() as usize;
        let in_place = send.buf.is_in_place();
        let from = if in_place { Places::None } else { self.blocks(send, size, "sendbuf")? };
        let into = self.blocks(recv, size, "recvbuf")?;
        self.fits(from.first(), into.first())?;
        exchanged_apart(&from, &into)?;
        let block = into.first().map_or(0, |block| block.bytes());
        let total = block.saturating_mul(size as i64);
        let problem = Problem::Alltoall { block, in_place };
        self.moved(comm, Collective::Alltoall, problem, total, from, into)
    }

    /// `MPI_ALLTOALLV`, and with a type for each block `MPI_ALLTOALLW` (§6.8).
    pub fn alltoallv(
        self,
        send: Option<Varied<'_>>,
        recv: Varied<'_>,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.alltoallv_between(sides, send, recv, comm);
        }
        let rank = self.objects.comm(comm)?.rank as usize;
        let in_place = send.is_none();
        let from = send.map(|send| self.varied(send, "sendbuf")).transpose()?;
        let into = self.varied(recv, "recvbuf")?;
        let incoming = layout(&into);
        let outgoing = from.as_ref().map_or_else(|| incoming.clone(), layout);
        let from = from.unwrap_or(Places::None);
        self.fits(from.get(rank), into.get(rank))?;
        exchanged_apart(&from, &into)?;
        let problem = Problem::Alltoallv { outgoing, incoming, in_place };
        let collective = match recv.datatypes {
            Types::Same(_) => Collective::Alltoallv,
            Types::Each(_) => Collective::Alltoallw,
        };
        self.moved(comm, collective, problem, 0, from, into)
    }

    /// `MPI_REDUCE` (§6.9.1). The receive buffer counts at the root only.
    #[allow(clippy::too_many_arguments)]
    pub fn reduce_to(
        self,
        send: UserBuffer,
        recv: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        op: OpHandle,
        root: i32,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.reduce_between(sides, (send, recv, count, datatype, op), root, comm);
        }
        let state = self.objects.comm(comm)?;
        let root = state.root(root)?;
        let at_root = root == state.rank as usize;
        if send.is_in_place() && !at_root {
            fail!(BUFFER, "sendbuf", "is MPI_IN_PLACE, which only the root (rank {root}) may pass");
        }
        let send = if at_root {
            self.objects.equal_buffers.contribution(send, recv, count, NONE)?
        } else {
            send
        };
        let problem = Problem::Reduce { root, len: count, in_place: send.is_in_place() };
        let recv = if at_root { recv } else { send };
        self.reducing(comm, Collective::Reduce, problem, (send, recv, count, datatype, op))
    }

    /// `MPI_ALLREDUCE` (§6.9.6).
    pub fn allreduce(
        self,
        send: UserBuffer,
        recv: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        op: OpHandle,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.allreduce_between(sides, (send, recv, count, datatype, op), comm);
        }
        let send = self.objects.equal_buffers.contribution(send, recv, count, ONE)?;
        let problem = Problem::Allreduce { len: count, in_place: send.is_in_place() };
        self.reducing(comm, Collective::Allreduce, problem, (send, recv, count, datatype, op))
    }

    /// `MPI_REDUCE_SCATTER` (§6.10.2); `counts` has one entry a rank.
    pub fn reduce_scatter(
        self,
        send: UserBuffer,
        recv: UserBuffer,
        counts: &[i64],
        datatype: DatatypeHandle,
        op: OpHandle,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.reduce_scatter_between(sides, counts, (send, recv, 0, datatype, op), comm);
        }
        if let Some(bad) = counts.iter().position(|&count| count < 0) {
            fail!(COUNT, "recvcounts", "has {} at rank {bad}", counts[bad]);
        }
        let blocks = Layout::of(counts.iter().copied());
        let total = blocks.total();
        // Who gets nothing has no receive buffer.
        let own = counts.get(self.objects.comm(comm)?.rank as usize);
        let send =
            self.objects.equal_buffers.contribution(send, recv, own.map_or(0, |own| *own), ANY)?;
        let problem = Problem::ReduceScatter { blocks, in_place: send.is_in_place() };
        self.reducing(comm, Collective::ReduceScatter, problem, (send, recv, total, datatype, op))
    }

    /// `MPI_REDUCE_SCATTER_BLOCK` (§6.10.1).
    pub fn reduce_scatter_block(
        self,
        send: UserBuffer,
        recv: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        op: OpHandle,
        comm: CommHandle,
    ) -> Result<Prepared> {
        if let Some(sides) = self.objects.comm(comm)?.sides() {
            return self.reduce_scatter_block_between(
                sides,
                (send, recv, count, datatype, op),
                comm,
            );
        }
        crate::p2p::check_count(count)?;
        let blocks = Layout::uniform(count, self.objects.comm(comm)?.size() as usize);
        let total = blocks.total();
        let send = self.objects.equal_buffers.contribution(send, recv, total, ANY)?;
        let problem = Problem::ReduceScatter { blocks, in_place: send.is_in_place() };
        let collective = Collective::ReduceScatterBlock;
        self.reducing(comm, collective, problem, (send, recv, total, datatype, op))
    }

    /// `MPI_SCAN`, or `MPI_EXSCAN` if `exclusive` (§6.11).
    #[allow(clippy::too_many_arguments)]
    pub fn scan(
        self,
        send: UserBuffer,
        recv: UserBuffer,
        count: i64,
        datatype: DatatypeHandle,
        op: OpHandle,
        comm: CommHandle,
        exclusive: bool,
    ) -> Result<Prepared> {
        if self.objects.comm(comm)?.remote.is_some() {
            fail!(COMM, "comm", "is an intercommunicator, whose processes are in no one order");
        }
        // The receive buffer of the first means nothing in MPI_EXSCAN.
        let own = if exclusive && self.objects.comm(comm)?.rank == 0 { 0 } else { count };
        let send = self.objects.equal_buffers.contribution(send, recv, own, ANY)?;
        let (len, in_place) = (count, send.is_in_place());
        let (collective, problem) = match exclusive {
            false => (Collective::Scan, Problem::Scan { len, in_place }),
            true => (Collective::Exscan, Problem::Exscan { len, in_place }),
        };
        self.reducing(comm, collective, problem, (send, recv, count, datatype, op))
    }

    #[inline]
    pub(super) fn block(self, data: Typed, param: &'static str) -> Result<Place> {
        let (handle, datatype) = self.objects.datatypes.committed_of(data.datatype, data.count)?;
        crate::p2p::check_count(data.count)?;
        check_address(data.buf, data.count, datatype, param)?;
        Ok(Place::new(data.buf, data.count, handle, datatype))
    }

    /// The one block of this process, unless it is in place.
    #[inline]
    fn own(self, data: Typed, param: &'static str, in_place: bool) -> Result<Places> {
        if in_place { Ok(Places::None) } else { self.block(data, param).map(Places::one) }
    }

    /// One block of `data.count` elements for each of `size` ranks, one after the other. Of none the address
    /// means nothing.
    pub(super) fn blocks(self, data: Typed, size: usize, param: &'static str) -> Result<Places> {
        let first = self.block(data.of_any(size > 0), param)?;
        let stride =
            self.objects.datatypes.committed_of(data.datatype, data.count)?.1.extent() * data.count;
        Ok(Places::Even(first, stride, size))
    }

    pub(super) fn varied(self, data: Varied<'_>, param: &'static str) -> Result<Places> {
        let block = |(rank, (&count, &displacement)): (usize, (&i64, &i64))| {
            if count < 0 {
                let counts = if param == "sendbuf" { "sendcounts" } else { "recvcounts" };
                let what = format!("has {count} at rank {rank}");
                return Err(Error::param(ErrorClass::COUNT, counts, what));
            }
            let (handle, in_bytes) = match data.datatypes {
                Types::Same(handle) => (handle, false),
                Types::Each(handles) => (handles[rank], true),
            };
            let (handle, datatype) = self.objects.datatypes.committed_of(handle, count)?;
            let bytes = if in_bytes { displacement } else { displacement * datatype.extent() };
            // With MPI_BOTTOM the displacements are addresses (§5.1.12).
            let address = data.buf.offset(bytes);
            check_not_null(address, count, datatype, param)?;
            Ok(Place::new(address, count, handle, datatype))
        };
        check_is_there(data.buf, param)?;
        data.counts
            .iter()
            .zip(data.displs)
            .enumerate()
            .map(block)
            .collect::<Result<_>>()
            .map(Places::Each)
    }

    #[inline]
    fn moved(
        self,
        comm: CommHandle,
        collective: Collective,
        problem: Problem,
        bytes: i64,
        send: Places,
        recv: Places,
    ) -> Result<Prepared> {
        let (collective, data) = (Some(collective), Data::Moved { send, recv });
        Ok(Prepared { comm, collective, problem, bytes, data })
    }

    #[inline]
    pub(super) fn reducing(
        self,
        comm: CommHandle,
        collective: impl Into<Option<Collective>>,
        problem: Problem,
        arguments: Arguments,
    ) -> Result<Prepared> {
        let (send, recv, count, handle, op_handle) = arguments;
        let datatype = self.objects.datatypes.committed(handle)?;
        crate::p2p::check_count(count)?;
        let op = self.objects.op(op_handle)?;
        let reducer = match op {
            Op::Builtin(builtin) => Reducer::Kernel(builtin.kernel(datatype)?),
            Op::User(user) => Reducer::User(user.function, op_handle, handle),
        };
        if recv.is_in_place() {
            fail!(BUFFER, "recvbuf", "is MPI_IN_PLACE, which only sendbuf may be");
        }
        let received = received(&problem, count, self.objects.comm(comm)?.rank as usize);
        check_address(recv, received, datatype, "recvbuf")?;
        if !send.is_in_place() {
            check_address(send, count, datatype, "sendbuf")?;
        }
        let unit = datatype.size() as i64;
        let bytes = unit.saturating_mul(count);
        let dense = datatype.extent() == unit && datatype.only_run(1) == Some((0, unit as u64));
        let commutative = op.is_commutative();
        let (datatype, op) = (handle, op_handle);
        let operands = Operands { send, recv, reducer, datatype, op, unit, commutative, dense };
        let (collective, data) = (collective.into(), Data::Reduced(operands));
        Ok(Prepared { comm, collective, problem, bytes, data })
    }

    /// Whether what a process sends itself fits what it receives from itself: the part of a
    /// mismatch that one process can see. In the checked mode all hear of it instead, none of whom may wait for a call
    /// that this one does not make.
    fn fits(self, sent: Option<Place>, received: Option<Place>) -> Result<()> {
        match (sent, received) {
            (Some(sent), Some(received))
                if sent.bytes() != received.bytes() && !self.objects.selection.checked =>
            {
                let (sent, received) = (sent.bytes(), received.bytes());
                let text = format!(
                    "this process sends itself {sent} bytes but receives {received} from itself"
                );
                Err(Error::new(ErrorClass::TRUNCATE, text)
                    .hint("Make the counts and types of the send and the receive buffer agree."))
            }
            _ => Ok(()),
        }
    }
}

impl Comm {
    /// A root argument, checked.
    fn root(&self, root: i32) -> Result<usize> {
        self.target(root, "root").map(|_| root as usize)
    }
}

/// How the blocks of a buffer cut it.
pub(super) fn layout(blocks: &Places) -> Layout {
    Layout::of(blocks.iter().map(|block| block.bytes()))
}

/// How many elements the receive buffer of a reduction of `count` has at this process.
fn received(problem: &Problem, count: i64, rank: usize) -> i64 {
    match problem {
        Problem::ReduceScatter { blocks, in_place: false }
        | Problem::Between(_, Between::ReduceScatter { blocks }) => blocks.len(rank),
        Problem::Exscan { in_place: false, .. } if rank == 0 => 0,
        _ => count,
    }
}

fn check_address(
    buf: UserBuffer,
    count: i64,
    datatype: &Arc<Datatype>,
    param: &'static str,
) -> Result<()> {
    check_not_null(buf, count, datatype, param)?;
    check_is_there(buf, param)
}

/// The part of it that is asked of each block: an address that a displacement leads to may look like
/// `MPI_IN_PLACE` without being it.
fn check_not_null(
    buf: UserBuffer,
    count: i64,
    datatype: &Arc<Datatype>,
    param: &'static str,
) -> Result<()> {
    if buf.0.is_null() && count > 0 && datatype.size() > 0 && datatype.is_predefined() {
        return Err(Error::param(
            ErrorClass::BUFFER,
            param,
            format!("is NULL, but count is {count}"),
        ));
    }
    Ok(())
}

fn check_is_there(buf: UserBuffer, param: &'static str) -> Result<()> {
    if buf.is_in_place() {
        return Err(Error::param(
            ErrorClass::BUFFER,
            param,
            "is MPI_IN_PLACE, which is not allowed here",
        ));
    }
    Ok(())
}
