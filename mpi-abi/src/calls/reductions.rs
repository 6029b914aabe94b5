//! Reductions (MPI-5.0 §6.9 to §6.11).
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, OpHandle};

use crate::args::IntArray;
use crate::calls::blocks::per_member;
use crate::cx::Cx;

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
) -> Result<Prepared> {
    cx.calls().reduce_to(sendbuf, recvbuf, count, datatype, op, root, comm)
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
) -> Result<Prepared> {
    cx.calls().allreduce(sendbuf, recvbuf, count, datatype, op, comm)
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
) -> Result<Prepared> {
    let counts = per_member(cx, comm, recvcounts, "recvcounts")?;
    cx.calls().reduce_scatter(sendbuf, recvbuf, &counts, datatype, op, comm)
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
) -> Result<Prepared> {
    cx.calls().reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm)
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
) -> Result<Prepared> {
    cx.calls().scan(sendbuf, recvbuf, count, datatype, op, comm, false)
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
) -> Result<Prepared> {
    cx.calls().scan(sendbuf, recvbuf, count, datatype, op, comm, true)
}
