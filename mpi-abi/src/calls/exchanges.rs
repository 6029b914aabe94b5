//! Data moved from all to all (MPI-5.0 §6.7, §6.8).
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle};

use crate::args::IntArray;
use crate::calls::blocks::{lists, typed};
use crate::cx::Cx;

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
) -> Result<Prepared> {
    cx.calls().allgather(
        typed(sendbuf, sendcount, sendtype),
        typed(recvbuf, recvcount, recvtype),
        comm,
    )
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
) -> Result<Prepared> {
    let lists = lists(cx, comm, (recvcounts, "recvcounts"), (displs, "displs"))?;
    let recv = lists.varied(recvbuf, recvtype);
    cx.calls().allgatherv(typed(sendbuf, sendcount, sendtype), recv, comm)
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
) -> Result<Prepared> {
    cx.calls().alltoall(
        typed(sendbuf, sendcount, sendtype),
        typed(recvbuf, recvcount, recvtype),
        comm,
    )
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
) -> Result<Prepared> {
    let outgoing = match sendbuf.is_in_place() {
        true => None,
        false => Some(lists(cx, comm, (sendcounts, "sendcounts"), (sdispls, "sdispls"))?),
    };
    let incoming = lists(cx, comm, (recvcounts, "recvcounts"), (rdispls, "rdispls"))?;
    let send = outgoing.as_ref().map(|lists| lists.varied(sendbuf, sendtype));
    cx.calls().alltoallv(send, incoming.varied(recvbuf, recvtype), comm)
}
