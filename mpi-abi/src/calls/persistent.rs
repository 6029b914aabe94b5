//! Persistent sends and receives (MPI-5.0 §3.9), and what makes a collective persistent (§6.13).

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::Prepared;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, InfoHandle, RequestHandle};
use mpi_core::p2p::{Message, Mode};

use crate::calls::info::check;
use crate::cx::{Cx, Owner};

/// `MPI_Send_init`.
#[allow(clippy::too_many_arguments)]
pub fn send_init(
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
    *request = cx.messages().send_init(message, Mode::Standard)?;
    Ok(())
}

/// `MPI_Bsend_init`.
#[allow(clippy::too_many_arguments)]
pub fn bsend_init(
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
    *request = cx.messages().send_init(message, Mode::Buffered)?;
    Ok(())
}

/// `MPI_Ssend_init`.
#[allow(clippy::too_many_arguments)]
pub fn ssend_init(
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
    *request = cx.messages().send_init(message, Mode::Synchronous)?;
    Ok(())
}

/// `MPI_Rsend_init`.
#[allow(clippy::too_many_arguments)]
pub fn rsend_init(
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
    *request = cx.messages().send_init(message, Mode::Ready)?;
    Ok(())
}

/// `MPI_Recv_init`.
#[allow(clippy::too_many_arguments)]
pub fn recv_init(
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
        cx.messages().receive_init(Message { buf, count, datatype, rank: source, tag, comm })?;
    Ok(())
}

/// `MPI_Start`.
pub fn start(cx: &mut Cx<'_>, request: &mut RequestHandle) -> Result<()> {
    if let Some(comm) = cx.requests().comm(*request) {
        cx.owner = Owner::Comm(comm);
    }
    cx.start(*request)
}

/// Keeps a prepared collective to be started. No hint of `info` changes how.
pub(crate) fn keep(cx: &mut Cx<'_>, prepared: Prepared, info: InfoHandle) -> Result<RequestHandle> {
    if !info.is_null() {
        check(&cx.always, info)?;
    }
    cx.collectives().keep(prepared)
}
