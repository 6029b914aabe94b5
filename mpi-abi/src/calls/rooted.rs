//! Barrier, and data moved to or from a root (MPI-5.0 §6.3 to §6.6), blocking and nonblocking:
//! both prepare the same operation, then run or begin it.
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, RequestHandle};

use crate::args::IntArray;
use crate::calls::blocks::{is_root, lists, typed};
use crate::entry::Cx;

pub(crate) fn prepare_barrier(cx: &mut Cx<'_>, comm: CommHandle) -> Result<Prepared> {
    cx.barrier(comm)
}

/// `MPI_Barrier`.
pub fn barrier(cx: &mut Cx<'_>, comm: CommHandle) -> Result<()> {
    if cx.barrier_quickly(comm)? {
        return Ok(());
    }
    let prepared = prepare_barrier(cx, comm)?;
    cx.run(prepared)
}

/// `MPI_Ibarrier`.
pub fn ibarrier(cx: &mut Cx<'_>, comm: CommHandle, request: &mut RequestHandle) -> Result<()> {
    let prepared = prepare_barrier(cx, comm)?;
    *request = cx.begin(prepared)?;
    Ok(())
}

pub(crate) fn prepare_bcast(
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
    if cx.bcast_quickly(typed(buffer, count, datatype), root, comm)? {
        return Ok(());
    }
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

pub(crate) fn prepare_gather(
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
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    if cx.gather_quickly(send, recv, root, comm)? {
        return Ok(());
    }
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

pub(crate) fn prepare_gatherv(
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

pub(crate) fn prepare_scatter(
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
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    if cx.scatter_quickly(send, recv, root, comm)? {
        return Ok(());
    }
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

pub(crate) fn prepare_scatterv(
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
