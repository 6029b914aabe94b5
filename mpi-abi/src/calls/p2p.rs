//! Sends and receives (MPI-5.0 §3.2, §3.4, §3.7, §3.10).

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, MessageHandle, RequestHandle};
use mpi_core::p2p::{Message, Mode};
use mpi_core::status::Status;

use crate::entry::Cx;

/// `MPI_Send`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn send(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
) -> Result<()> {
    cx.send(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Standard)
}

/// `MPI_Bsend`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn bsend(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
) -> Result<()> {
    cx.send(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Buffered)
}

/// `MPI_Ssend`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn ssend(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
) -> Result<()> {
    cx.send(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Synchronous)
}

/// `MPI_Rsend`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn rsend(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
) -> Result<()> {
    cx.send(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Ready)
}

/// `MPI_Isend`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn isend(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request = cx.isend(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Standard)?;
    Ok(())
}

/// `MPI_Ibsend`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn ibsend(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request = cx.isend(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Buffered)?;
    Ok(())
}

/// `MPI_Issend`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn issend(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request =
        cx.isend(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Synchronous)?;
    Ok(())
}

/// `MPI_Irsend`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn irsend(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request = cx.isend(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Ready)?;
    Ok(())
}

/// `MPI_Recv`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn recv(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    source: i32,
    tag: i32,
    comm: CommHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.receive(Message { buf, count, datatype, rank: source, tag, comm })?;
    Ok(())
}

/// `MPI_Irecv`.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn irecv(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    source: i32,
    tag: i32,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request = cx.ireceive(Message { buf, count, datatype, rank: source, tag, comm })?;
    Ok(())
}

/// `MPI_Mrecv`.
pub fn mrecv(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    message: &mut MessageHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.receive_matched(buf, count, datatype, message)?;
    Ok(())
}

/// `MPI_Imrecv`.
pub fn imrecv(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    message: &mut MessageHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request = cx.ireceive_matched(buf, count, datatype, message)?;
    Ok(())
}

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
    *status = cx.send_receive(send, receive)?;
    Ok(())
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
    *status = cx.send_receive_replace(send, receive)?;
    Ok(())
}
