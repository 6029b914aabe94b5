//! Buffers of buffered sends (MPI-5.0 §3.6).

use mpi_core::attached_buffer::BufferId;
use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, RequestHandle, SessionHandle};

use crate::cx::Cx;

/// `MPI_Buffer_attach`.
pub fn buffer_attach(cx: &mut Cx<'_>, buffer: UserBuffer, size: i64) -> Result<()> {
    cx.attach_buffer(BufferId::Process, buffer, size)
}

/// `MPI_Comm_attach_buffer`.
pub fn comm_attach_buffer(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    buffer: UserBuffer,
    size: i64,
) -> Result<()> {
    cx.attach_buffer(BufferId::Comm(comm), buffer, size)
}

/// `MPI_Buffer_detach`.
pub fn buffer_detach(cx: &mut Cx<'_>, buffer_addr: &mut UserBuffer, size: &mut i64) -> Result<()> {
    let (address, bytes) = cx.detach_buffer(BufferId::Process)?;
    (*buffer_addr, *size) = (address, bytes as i64);
    Ok(())
}

/// `MPI_Comm_detach_buffer`.
pub fn comm_detach_buffer(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    buffer_addr: &mut UserBuffer,
    size: &mut i64,
) -> Result<()> {
    let (address, bytes) = cx.detach_buffer(BufferId::Comm(comm))?;
    (*buffer_addr, *size) = (address, bytes as i64);
    Ok(())
}

/// `MPI_Buffer_flush`.
pub fn buffer_flush(cx: &mut Cx<'_>) -> Result<()> {
    cx.flush_buffer(BufferId::Process)
}

/// `MPI_Comm_flush_buffer`.
pub fn comm_flush_buffer(cx: &mut Cx<'_>, comm: CommHandle) -> Result<()> {
    cx.flush_buffer(BufferId::Comm(comm))
}

/// `MPI_Buffer_iflush`.
pub fn buffer_iflush(cx: &mut Cx<'_>, request: &mut RequestHandle) -> Result<()> {
    *request = cx.iflush_buffer(BufferId::Process)?;
    Ok(())
}

/// `MPI_Comm_iflush_buffer`.
pub fn comm_iflush_buffer(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request = cx.iflush_buffer(BufferId::Comm(comm))?;
    Ok(())
}

/// `MPI_Session_attach_buffer`.
pub fn session_attach_buffer(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    buffer: UserBuffer,
    size: i64,
) -> Result<()> {
    cx.attach_buffer(BufferId::Session(session), buffer, size)
}

/// `MPI_Session_detach_buffer`.
pub fn session_detach_buffer(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    buffer_addr: &mut UserBuffer,
    size: &mut i64,
) -> Result<()> {
    let (address, bytes) = cx.detach_buffer(BufferId::Session(session))?;
    (*buffer_addr, *size) = (address, bytes as i64);
    Ok(())
}

/// `MPI_Session_flush_buffer`.
pub fn session_flush_buffer(cx: &mut Cx<'_>, session: SessionHandle) -> Result<()> {
    cx.flush_buffer(BufferId::Session(session))
}

/// `MPI_Session_iflush_buffer`.
pub fn session_iflush_buffer(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    *request = cx.iflush_buffer(BufferId::Session(session))?;
    Ok(())
}
