//! Probes (MPI-5.0 §3.8).

use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, MessageHandle};
use mpi_core::status::Status;

use crate::cx::Cx;

/// `MPI_Iprobe`.
pub fn iprobe(
    cx: &mut Cx<'_>,
    source: i32,
    tag: i32,
    comm: CommHandle,
    flag: &mut bool,
    status: &mut Status,
) -> Result<()> {
    let found = cx.messages().iprobe(source, tag, comm)?;
    *flag = found.is_some();
    *status = found.unwrap_or(Status::EMPTY);
    Ok(())
}

/// `MPI_Improbe`.
pub fn improbe(
    cx: &mut Cx<'_>,
    source: i32,
    tag: i32,
    comm: CommHandle,
    flag: &mut bool,
    message: &mut MessageHandle,
    status: &mut Status,
) -> Result<()> {
    let found = cx.messages().improbe(source, tag, comm)?;
    *flag = found.is_some();
    (*message, *status) = found.unwrap_or((MessageHandle::NULL, Status::EMPTY));
    Ok(())
}
