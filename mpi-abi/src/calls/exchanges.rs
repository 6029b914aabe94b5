//! Data moved from all to all (MPI-5.0 §6.7, §6.8), blocking and nonblocking.
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, RequestHandle};

use crate::args::IntArray;
use crate::calls::blocks::{lists, typed};
use crate::entry::Cx;

pub(crate) fn prepare_allgather(
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
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    if cx.allgather_quickly(send, recv, comm)? {
        return Ok(());
    }
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

pub(crate) fn prepare_allgatherv(
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

pub(crate) fn prepare_alltoall(
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
    let send = typed(sendbuf, sendcount, sendtype);
    let recv = typed(recvbuf, recvcount, recvtype);
    if cx.alltoall_quickly(send, recv, comm)? {
        return Ok(());
    }
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

pub(crate) fn prepare_alltoallv(
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
