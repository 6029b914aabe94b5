//! A send and a receive in one call (MPI-5.0 §3.10).

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, RequestHandle};
use mpi_core::p2p::Message;
use mpi_core::status::Status;

use super::p2p::finish;
use crate::cx::Cx;

/// `MPI_Sendrecv`.
#[allow(clippy::too_many_arguments)]
pub fn sendrecv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    dest: i32,
    sendtag: i32,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    source: i32,
    recvtag: i32,
    comm: CommHandle,
    status: &mut Status,
) -> Result<()> {
    let send = Message {
        buf: sendbuf,
        count: sendcount,
        datatype: sendtype,
        rank: dest,
        tag: sendtag,
        comm,
    };
    let receive = Message {
        buf: recvbuf,
        count: recvcount,
        datatype: recvtype,
        rank: source,
        tag: recvtag,
        comm,
    };
    let both = cx.messages().send_receive_slow(send, receive)?;
    finish(cx, both, status)
}

/// `MPI_Sendrecv_replace`.
#[allow(clippy::too_many_arguments)]
pub fn sendrecv_replace(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: CommHandle,
    status: &mut Status,
) -> Result<()> {
    let send = Message { buf, count, datatype, rank: dest, tag: sendtag, comm };
    let receive = Message { buf, count, datatype, rank: source, tag: recvtag, comm };
    let both = cx.messages().isend_receive_replace(send, receive)?;
    finish(cx, both, status)
}

/// `MPI_Isendrecv`.
#[allow(clippy::too_many_arguments)]
pub fn isendrecv(
    cx: &mut Cx<'_>,
    sendbuf: UserBuffer,
    sendcount: i64,
    sendtype: DatatypeHandle,
    dest: i32,
    sendtag: i32,
    recvbuf: UserBuffer,
    recvcount: i64,
    recvtype: DatatypeHandle,
    source: i32,
    recvtag: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let send = Message {
        buf: sendbuf,
        count: sendcount,
        datatype: sendtype,
        rank: dest,
        tag: sendtag,
        comm,
    };
    let receive = Message {
        buf: recvbuf,
        count: recvcount,
        datatype: recvtype,
        rank: source,
        tag: recvtag,
        comm,
    };
    *request = cx.messages().isend_receive(send, receive)?;
    Ok(())
}

/// `MPI_Isendrecv_replace`.
#[allow(clippy::too_many_arguments)]
pub fn isendrecv_replace(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let send = Message { buf, count, datatype, rank: dest, tag: sendtag, comm };
    let receive = Message { buf, count, datatype, rank: source, tag: recvtag, comm };
    *request = cx.messages().isend_receive_replace(send, receive)?;
    Ok(())
}
