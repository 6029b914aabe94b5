//! The short way of small collectives whose blocks differ, as in
//! [`small_collectives`](super::small_collectives).
#![allow(clippy::too_many_arguments)]

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::{Elements, Reduced, Uneven};
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, OpHandle};

use crate::args::IntArray;
use crate::calls::blocks::typed;
use crate::entry::Cx;

/// What an array says for a rank.
#[inline]
fn entries(array: IntArray) -> impl Fn(usize) -> i64 {
    // SAFETY: by the standard the array of a call has an entry for each rank.
    move |rank| unsafe { array.at(rank) }
}

/// `MPI_Allgatherv`.
#[inline(always)]
pub fn allgatherv_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: DatatypeHandle,
    comm: CommHandle,
) -> Result<bool> {
    let Some(recv) = uneven(recvbuf, recvcounts, displs, recvtype) else { return Ok(false) };
    cx.allgatherv_quickly(typed(sendbuf, sendcount, sendtype), recv, comm)
}

/// `MPI_Gatherv`.
#[inline(always)]
pub fn gatherv_quickly(
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
) -> Result<bool> {
    let recv = uneven(recvbuf, recvcounts, displs, recvtype);
    cx.gatherv_quickly(typed(sendbuf, sendcount, sendtype), recv, root, comm)
}

/// `MPI_Scatterv`.
#[inline(always)]
pub fn scatterv_quickly(
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
) -> Result<bool> {
    let send = uneven(sendbuf, sendcounts, displs, sendtype);
    cx.scatterv_quickly(send, typed(recvbuf, recvcount, recvtype), root, comm)
}

/// `MPI_Alltoallv`.
#[inline(always)]
pub fn alltoallv_quickly(
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
) -> Result<bool> {
    let Some(send) = uneven(sendbuf, sendcounts, sdispls, sendtype) else { return Ok(false) };
    let Some(recv) = uneven(recvbuf, recvcounts, rdispls, recvtype) else { return Ok(false) };
    cx.alltoallv_quickly(send, recv, comm)
}

/// `MPI_Reduce_scatter`.
#[inline(always)]
pub fn reduce_scatter_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcounts: IntArray,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<bool> {
    if recvcounts.is_null() {
        return Ok(false);
    }
    let data = Reduced { send: sendbuf, recv: recvbuf, datatype, op };
    cx.reduce_scatter_quickly(data, entries(recvcounts), comm)
}

/// `MPI_Reduce_scatter_block`.
#[inline(always)]
pub fn reduce_scatter_block_quickly(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    recvbuf: UserBuffer,
    recvcount: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
    comm: CommHandle,
) -> Result<bool> {
    let data = Reduced { send: sendbuf, recv: recvbuf, datatype, op };
    cx.reduce_scatter_block_quickly(data, recvcount, comm)
}

/// A buffer with its arrays, unless one of them is missing.
#[inline]
fn uneven(
    buf: UserBuffer,
    counts: IntArray,
    displs: IntArray,
    datatype: DatatypeHandle,
) -> Option<Uneven<impl Fn(usize) -> Elements>> {
    let whole = !counts.is_null() && !displs.is_null();
    let (count, displ) = (entries(counts), entries(displs));
    let block = move |rank| {
        let (count, displ) = (count(rank), displ(rank));
        Elements { count, datatype, displ, in_bytes: false }
    };
    whole.then_some(Uneven { buf, block })
}
