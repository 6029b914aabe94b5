//! Reductions (MPI-5.0 §6.9 to §6.11), blocking and nonblocking.
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, OpHandle, RequestHandle};

use crate::args::IntArray;
use crate::calls::blocks::{per_member, typed};
use crate::entry::Cx;

pub(crate) fn prepare_reduce(
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
    if cx.reduce_quickly(typed(sendbuf, count, datatype), recvbuf, op, root, comm)? {
        return Ok(());
    }
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

pub(crate) fn prepare_allreduce(
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
    if cx.allreduce_quickly(typed(sendbuf, count, datatype), recvbuf, op, comm)? {
        return Ok(());
    }
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

pub(crate) fn prepare_reduce_scatter(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    let counts = per_member(cx, comm, recvcounts, "recvcounts")?;
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

pub(crate) fn prepare_reduce_scatter_block(
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

pub(crate) fn prepare_scan(
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

pub(crate) fn prepare_exscan(
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
