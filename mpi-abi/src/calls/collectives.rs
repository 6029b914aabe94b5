//! Collective operations (MPI-5.0 chapter 6), blocking and nonblocking: both prepare the same
//! operation, then run or begin it.
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::{Prepared, Typed, Types, Varied};
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{CommHandle, DatatypeHandle, OpHandle, RequestHandle};

use crate::args::IntArray;
use crate::entry::Cx;

fn typed(buf: UserBuffer, count: i64, datatype: DatatypeHandle) -> Typed {
    Typed { buf, count, datatype }
}

/// Counts and displacements of a v-variant.
struct Lists {
    counts: Vec<i64>,
    displs: Vec<i64>,
}

impl Lists {
    fn varied(&self, buf: UserBuffer, datatype: DatatypeHandle) -> Varied<'_> {
        Varied { buf, counts: &self.counts, displs: &self.displs, datatypes: Types::Same(datatype) }
    }
}

/// The program's arrays of counts and displacements, one entry a rank.
fn lists(cx: &Cx<'_>, comm: CommHandle, counts: IntArray, displs: IntArray) -> Result<Lists> {
    Ok(Lists {
        counts: per_rank(cx, comm, counts, "recvcounts")?,
        displs: per_rank(cx, comm, displs, "displs")?,
    })
}

/// A program's array of one entry a rank.
pub(crate) fn per_rank(
    cx: &Cx<'_>,
    comm: CommHandle,
    array: IntArray,
    param: &'static str,
) -> Result<Vec<i64>> {
    if array.is_null() {
        return Err(Error::param(ErrorClass::ARG, param, "is NULL"));
    }
    let size = cx.comm(comm)?.targets().size() as usize;
    // SAFETY: by the standard the array has an entry for each rank of the communicator.
    Ok(unsafe { array.to_vec(size) })
}

fn is_root(cx: &Cx<'_>, root: i32, comm: CommHandle) -> Result<bool> {
    Ok(cx.comm(comm)?.rank as i32 == root)
}

fn prepare_barrier(cx: &mut Cx<'_>, comm: CommHandle) -> Result<Prepared> {
    cx.barrier(comm)
}

/// `MPI_Barrier`.
pub fn barrier(cx: &mut Cx<'_>, comm: CommHandle) -> Result<()> {
    let prepared = prepare_barrier(cx, comm)?;
    cx.run(prepared)
}

/// `MPI_Ibarrier`.
pub fn ibarrier(cx: &mut Cx<'_>, comm: CommHandle, request: &mut RequestHandle) -> Result<()> {
    let prepared = prepare_barrier(cx, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_bcast(
    cx: &mut Cx<'_>,
    buffer: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.bcast(typed(buffer, count, datatype), root, comm)
}

/// `MPI_Bcast`.
pub fn bcast(
    cx: &mut Cx<'_>,
    buffer: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_bcast(cx, buffer, count, datatype, root, comm)?;
    cx.run(prepared)
}

/// `MPI_Ibcast`.
pub fn ibcast(
    cx: &mut Cx<'_>,
    buffer: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_bcast(cx, buffer, count, datatype, root, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_gather(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.gather(typed(sendbuf, sendcount, sendtype), typed(recvbuf, recvcount, recvtype), root, comm)
}

/// `MPI_Gather`.
pub fn gather(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<()> {
    let prepared =
        prepare_gather(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?;
    cx.run(prepared)
}

/// `MPI_Igather`.
pub fn igather(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_gather(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_gatherv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<Prepared> {
    let at_root = is_root(cx, root, comm)?;
    let lists = at_root.then(|| lists(cx, comm, recvcounts, displs)).transpose()?;
    let recv = lists.as_ref().map(|lists| lists.varied(recvbuf, recvtype));
    cx.gatherv(typed(sendbuf, sendcount, sendtype), recv, root, comm)
}

/// `MPI_Gatherv`.
pub fn gatherv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_gatherv(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm,
    )?;
    cx.run(prepared)
}

/// `MPI_Igatherv`.
pub fn igatherv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_gatherv(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm,
    )?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_scatter(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.scatter(typed(sendbuf, sendcount, sendtype), typed(recvbuf, recvcount, recvtype), root, comm)
}

/// `MPI_Scatter`.
pub fn scatter(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_scatter(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
    )?;
    cx.run(prepared)
}

/// `MPI_Iscatter`.
pub fn iscatter(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_scatter(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
    )?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_scatterv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcounts: IntArray,
    displs: IntArray,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<Prepared> {
    let at_root = is_root(cx, root, comm)?;
    let lists = at_root.then(|| lists(cx, comm, sendcounts, displs)).transpose()?;
    let send = lists.as_ref().map(|lists| lists.varied(sendbuf, sendtype));
    cx.scatterv(send, typed(recvbuf, recvcount, recvtype), root, comm)
}

/// `MPI_Scatterv`.
pub fn scatterv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcounts: IntArray,
    displs: IntArray,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_scatterv(
        cx, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm,
    )?;
    cx.run(prepared)
}

/// `MPI_Iscatterv`.
pub fn iscatterv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcounts: IntArray,
    displs: IntArray,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_scatterv(
        cx, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm,
    )?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_allgather(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.allgather(typed(sendbuf, sendcount, sendtype), typed(recvbuf, recvcount, recvtype), comm)
}

/// `MPI_Allgather`.
pub fn allgather(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared =
        prepare_allgather(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?;
    cx.run(prepared)
}

/// `MPI_Iallgather`.
pub fn iallgather(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_allgather(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_allgatherv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    let lists = lists(cx, comm, recvcounts, displs)?;
    let recv = lists.varied(recvbuf, recvtype);
    cx.allgatherv(typed(sendbuf, sendcount, sendtype), recv, comm)
}

/// `MPI_Allgatherv`.
pub fn allgatherv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_allgatherv(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
    )?;
    cx.run(prepared)
}

/// `MPI_Iallgatherv`.
pub fn iallgatherv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_allgatherv(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
    )?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_alltoall(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.alltoall(typed(sendbuf, sendcount, sendtype), typed(recvbuf, recvcount, recvtype), comm)
}

/// `MPI_Alltoall`.
pub fn alltoall(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared =
        prepare_alltoall(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?;
    cx.run(prepared)
}

/// `MPI_Ialltoall`.
pub fn ialltoall(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_alltoall(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_alltoallv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcounts: IntArray,
    sdispls: IntArray,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    rdispls: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    let outgoing = match sendbuf.is_in_place() {
        true => None,
        false => Some(lists(cx, comm, sendcounts, sdispls)?),
    };
    let incoming = lists(cx, comm, recvcounts, rdispls)?;
    let send = outgoing.as_ref().map(|lists| lists.varied(sendbuf, sendtype));
    cx.alltoallv(send, incoming.varied(recvbuf, recvtype), comm)
}

/// `MPI_Alltoallv`.
pub fn alltoallv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcounts: IntArray,
    sdispls: IntArray,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    rdispls: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_alltoallv(
        cx, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
    )?;
    cx.run(prepared)
}

/// `MPI_Ialltoallv`.
pub fn ialltoallv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcounts: IntArray,
    sdispls: IntArray,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    rdispls: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_alltoallv(
        cx, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
    )?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_reduce(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    root: i32,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.reduce_to(sendbuf, recvbuf, count, datatype, op, root, comm)
}

/// `MPI_Reduce`.
pub fn reduce(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    root: i32,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_reduce(cx, sendbuf, recvbuf, count, datatype, op, root, comm)?;
    cx.run(prepared)
}

/// `MPI_Ireduce`.
pub fn ireduce(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    root: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_reduce(cx, sendbuf, recvbuf, count, datatype, op, root, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_allreduce(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.allreduce(sendbuf, recvbuf, count, datatype, op, comm)
}

/// `MPI_Allreduce`.
pub fn allreduce(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_allreduce(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    cx.run(prepared)
}

/// `MPI_Iallreduce`.
pub fn iallreduce(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_allreduce(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_reduce_scatter(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    let counts = per_rank(cx, comm, recvcounts, "recvcounts")?;
    cx.reduce_scatter(sendbuf, recvbuf, &counts, datatype, op, comm)
}

/// `MPI_Reduce_scatter`.
pub fn reduce_scatter(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_reduce_scatter(cx, sendbuf, recvbuf, recvcounts, datatype, op, comm)?;
    cx.run(prepared)
}

/// `MPI_Ireduce_scatter`.
pub fn ireduce_scatter(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_reduce_scatter(cx, sendbuf, recvbuf, recvcounts, datatype, op, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_reduce_scatter_block(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcount: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm)
}

/// `MPI_Reduce_scatter_block`.
pub fn reduce_scatter_block(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcount: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared =
        prepare_reduce_scatter_block(cx, sendbuf, recvbuf, recvcount, datatype, op, comm)?;
    cx.run(prepared)
}

/// `MPI_Ireduce_scatter_block`.
pub fn ireduce_scatter_block(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcount: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_reduce_scatter_block(cx, sendbuf, recvbuf, recvcount, datatype, op, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_scan(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.scan(sendbuf, recvbuf, count, datatype, op, comm, false)
}

/// `MPI_Scan`.
pub fn scan(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_scan(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    cx.run(prepared)
}

/// `MPI_Iscan`.
pub fn iscan(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_scan(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

fn prepare_exscan(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.scan(sendbuf, recvbuf, count, datatype, op, comm, true)
}

/// `MPI_Exscan`.
pub fn exscan(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<()> {
    let prepared = prepare_exscan(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    cx.run(prepared)
}

/// `MPI_Iexscan`.
pub fn iexscan(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_exscan(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}
