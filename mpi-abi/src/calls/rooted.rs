//! Barrier, and data moved to or from a root (MPI-5.0 §6.3 to §6.6): each body
//! prepares the operation that its blocking form runs, its nonblocking form begins and its
//! persistent form keeps.
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle};

use crate::args::IntArray;
use crate::calls::blocks::{is_root, lists, typed};
use crate::cx::Cx;

/// `MPI_Barrier`.
pub fn barrier(cx: &mut Cx<'_>, comm: CommHandle) -> Result<Prepared> {
    cx.calls().barrier(comm)
}

/// `MPI_Bcast`.
pub fn bcast(
    cx: &mut Cx<'_>,
    buffer: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    root: i32,
    comm: CommHandle,
) -> Result<Prepared> {
    cx.calls().bcast(typed(buffer, count, datatype), root, comm)
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
) -> Result<Prepared> {
    cx.calls().gather(
        typed(sendbuf, sendcount, sendtype),
        typed(recvbuf, recvcount, recvtype),
        root,
        comm,
    )
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
) -> Result<Prepared> {
    let at_root = is_root(cx, root, comm)?;
    let lists = at_root
        .then(|| lists(cx, comm, (recvcounts, "recvcounts"), (displs, "displs")))
        .transpose()?;
    let recv = lists.as_ref().map(|lists| lists.varied(recvbuf, recvtype));
    cx.calls().gatherv(typed(sendbuf, sendcount, sendtype), recv, root, comm)
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
) -> Result<Prepared> {
    cx.calls().scatter(
        typed(sendbuf, sendcount, sendtype),
        typed(recvbuf, recvcount, recvtype),
        root,
        comm,
    )
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
) -> Result<Prepared> {
    let at_root = is_root(cx, root, comm)?;
    let lists = at_root
        .then(|| lists(cx, comm, (sendcounts, "sendcounts"), (displs, "displs")))
        .transpose()?;
    let send = lists.as_ref().map(|lists| lists.varied(sendbuf, sendtype));
    cx.calls().scatterv(send, typed(recvbuf, recvcount, recvtype), root, comm)
}
