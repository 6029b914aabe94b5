//! The short way of small collectives, tried before the operation is prepared: each says whether it
//! did the whole call. A nonblocking call goes it as far as it need not wait.
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, OpHandle};

use crate::calls::blocks::typed;
use crate::entry::Cx;

/// `MPI_Barrier`.
#[inline(always)]
pub fn barrier_quickly(cx: &mut Cx<'_>, comm: CommHandle) -> Result<bool> {
    cx.barrier_quickly(comm)
}

/// `MPI_Bcast`.
#[inline(always)]
pub fn bcast_quickly(
    cx: &mut Cx<'_>,
    buffer: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<bool> {
    cx.bcast_quickly(typed(buffer, count, datatype), root, comm)
}

/// `MPI_Gather`.
#[inline(always)]
pub fn gather_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<bool> {
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    cx.gather_quickly(send, recv, root, comm)
}

/// `MPI_Scatter`.
#[inline(always)]
pub fn scatter_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<bool> {
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    cx.scatter_quickly(send, recv, root, comm)
}

/// `MPI_Allgather`.
#[inline(always)]
pub fn allgather_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<bool> {
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    cx.allgather_quickly(send, recv, comm)
}

/// `MPI_Alltoall`.
#[inline(always)]
pub fn alltoall_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<bool> {
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    cx.alltoall_quickly(send, recv, comm)
}

/// `MPI_Reduce`.
#[inline(always)]
pub fn reduce_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    root: i32,
    comm: CommHandle,
) -> Result<bool> {
    cx.reduce_quickly(typed(sendbuf, count, datatype), recvbuf, op, root, comm)
}

/// `MPI_Allreduce`.
#[inline(always)]
pub fn allreduce_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<bool> {
    cx.allreduce_quickly(typed(sendbuf, count, datatype), recvbuf, op, comm)
}
