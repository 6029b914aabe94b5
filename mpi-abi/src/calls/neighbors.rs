//! Collectives between neighbours in a topology (MPI-5.0 §8.6, §8.7).
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle};

use crate::args::IntArray;
use crate::calls::blocks::{per_source, per_target, typed};
use crate::cx::Cx;

/// `MPI_Neighbor_allgather`.
pub fn neighbor_allgather(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    let send = typed(sendbuf, sendcount, sendtype);
    cx.calls().neighbor_allgather(send, typed(recvbuf, recvcount, recvtype), comm)
}

/// `MPI_Neighbor_allgatherv`.
pub fn neighbor_allgatherv(
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
    let incoming = per_source(cx, comm, recvcounts, displs)?;
    let send = typed(sendbuf, sendcount, sendtype);
    cx.calls().neighbor_allgatherv(send, incoming.varied(recvbuf, recvtype), comm)
}

/// `MPI_Neighbor_alltoall`.
pub fn neighbor_alltoall(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<Prepared> {
    let send = typed(sendbuf, sendcount, sendtype);
    cx.calls().neighbor_alltoall(send, typed(recvbuf, recvcount, recvtype), comm)
}

/// `MPI_Neighbor_alltoallv`.
pub fn neighbor_alltoallv(
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
    let outgoing = per_target(cx, comm, sendcounts, sdispls)?;
    let incoming = per_source(cx, comm, recvcounts, rdispls)?;
    let send = outgoing.varied(sendbuf, sendtype);
    cx.calls().neighbor_alltoallv(send, incoming.varied(recvbuf, recvtype), comm)
}
