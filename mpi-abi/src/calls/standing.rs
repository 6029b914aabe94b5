//! Persistent collectives (MPI-5.0 §6.13): what the other forms prepare is kept to be started. No
//! hint of the info argument changes how.
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, InfoHandle, OpHandle, RequestHandle};

use super::exchanges::{
    prepare_allgather, prepare_allgatherv, prepare_alltoall, prepare_alltoallv,
};
use super::neighbors::{
    prepare_neighbor_allgather, prepare_neighbor_allgatherv, prepare_neighbor_alltoall,
    prepare_neighbor_alltoallv,
};
use super::reductions::{
    prepare_allreduce, prepare_exscan, prepare_reduce, prepare_reduce_scatter,
    prepare_reduce_scatter_block, prepare_scan,
};
use super::rooted::{
    prepare_barrier, prepare_bcast, prepare_gather, prepare_gatherv, prepare_scatter,
    prepare_scatterv,
};
use crate::args::IntArray;
use crate::entry::Cx;

/// `MPI_Barrier_init`.
pub fn barrier_init(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_barrier(cx, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Bcast_init`.
pub fn bcast_init(
    cx: &mut Cx<'_>,
    buffer: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_bcast(cx, buffer, count, datatype, root, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Gather_init`.
pub fn gather_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_gather(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Gatherv_init`.
pub fn gatherv_init(
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
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_gatherv(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Scatter_init`.
pub fn scatter_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_scatter(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Scatterv_init`.
pub fn scatterv_init(
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
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_scatterv(
        cx, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Allgather_init`.
pub fn allgather_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_allgather(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Allgatherv_init`.
pub fn allgatherv_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_allgatherv(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Alltoall_init`.
pub fn alltoall_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_alltoall(cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Alltoallv_init`.
pub fn alltoallv_init(
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
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_alltoallv(
        cx, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Reduce_init`.
pub fn reduce_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    root: i32,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_reduce(cx, sendbuf, recvbuf, count, datatype, op, root, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Allreduce_init`.
pub fn allreduce_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_allreduce(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Reduce_scatter_init`.
pub fn reduce_scatter_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_reduce_scatter(cx, sendbuf, recvbuf, recvcounts, datatype, op, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Reduce_scatter_block_init`.
pub fn reduce_scatter_block_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcount: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared =
        prepare_reduce_scatter_block(cx, sendbuf, recvbuf, recvcount, datatype, op, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Scan_init`.
pub fn scan_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_scan(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Exscan_init`.
pub fn exscan_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_exscan(cx, sendbuf, recvbuf, count, datatype, op, comm)?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Neighbor_allgather_init`.
pub fn neighbor_allgather_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_neighbor_allgather(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Neighbor_allgatherv_init`.
pub fn neighbor_allgatherv_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_neighbor_allgatherv(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Neighbor_alltoall_init`.
pub fn neighbor_alltoall_init(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_neighbor_alltoall(
        cx, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}

/// `MPI_Neighbor_alltoallv_init`.
pub fn neighbor_alltoallv_init(
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
    _info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let prepared = prepare_neighbor_alltoallv(
        cx, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
    )?;
    *request = cx.keep(prepared)?;
    Ok(())
}
