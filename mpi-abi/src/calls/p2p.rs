//! Sends and receives (MPI-5.0 §3.2, §3.4, §3.7, §3.10).

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, MessageHandle, RequestHandle};
use mpi_core::p2p::{Message, Mode};
use mpi_core::status::Status;

use super::requests::own;
use crate::cx::Cx;

/// Waits for a receive, alone or with a send; the status is that of the message also when it did
/// not fit.
#[inline]
pub(super) fn finish(cx: &mut Cx<'_>, request: RequestHandle, status: &mut Status) -> Result<()> {
    let report = cx.wait(request)?;
    *status = report.status;
    report.failure.map_or(Ok(()), Err)
}

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
    cx.messages().send_slow(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Standard)
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
    cx.messages().send(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Buffered)
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
    cx.messages().send(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Synchronous)
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
    cx.messages().send(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Ready)
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
    let message = Message { buf, count, datatype, rank: dest, tag, comm };
    *request = cx.messages().isend_slow(message, Mode::Standard)?;
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
    *request = cx
        .messages()
        .isend(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Buffered)?;
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
    *request = cx
        .messages()
        .isend(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Synchronous)?;
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
    *request = cx
        .messages()
        .isend(Message { buf, count, datatype, rank: dest, tag, comm }, Mode::Ready)?;
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
    let message = Message { buf, count, datatype, rank: source, tag, comm };
    let request = cx.messages().receive_slow(message)?;
    finish(cx, request, status)
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
    *request =
        cx.messages().ireceive_slow(Message { buf, count, datatype, rank: source, tag, comm })?;
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
    let request = cx.messages().ireceive_matched(buf, count, datatype, message)?;
    // The message came through a communicator, though the call names none.
    own(cx, request);
    finish(cx, request, status)
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
    *request = cx.messages().ireceive_matched(buf, count, datatype, message)?;
    Ok(())
}
