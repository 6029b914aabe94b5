//! Queries of statuses (MPI-5.0 §3.2.5, §5.1.11, §13.3).

use mpi_core::error::{ErrorClass, Result};
use mpi_core::status::Status;

use crate::entry::Cx;

/// `MPI_Test_cancelled`.
pub fn test_cancelled(_: &mut Cx<'_>, status: &Status, flag: &mut bool) -> Result<()> {
    *flag = status.cancelled;
    Ok(())
}

/// `MPI_Status_set_cancelled`.
pub fn status_set_cancelled(_: &mut Cx<'_>, status: &mut Status, flag: bool) -> Result<()> {
    status.cancelled = flag;
    Ok(())
}

/// `MPI_Status_get_source`.
pub fn status_get_source(_: &mut Cx<'_>, status: &Status, source: &mut i32) -> Result<()> {
    *source = status.source;
    Ok(())
}

/// `MPI_Status_get_tag`.
pub fn status_get_tag(_: &mut Cx<'_>, status: &Status, tag: &mut i32) -> Result<()> {
    *tag = status.tag;
    Ok(())
}

/// `MPI_Status_get_error`.
pub fn status_get_error(_: &mut Cx<'_>, status: &Status, err: &mut ErrorClass) -> Result<()> {
    *err = status.error;
    Ok(())
}

/// `MPI_Status_set_source`.
pub fn status_set_source(_: &mut Cx<'_>, status: &mut Status, source: i32) -> Result<()> {
    status.source = source;
    Ok(())
}

/// `MPI_Status_set_tag`.
pub fn status_set_tag(_: &mut Cx<'_>, status: &mut Status, tag: i32) -> Result<()> {
    status.tag = tag;
    Ok(())
}

/// `MPI_Status_set_error`.
pub fn status_set_error(_: &mut Cx<'_>, status: &mut Status, err: ErrorClass) -> Result<()> {
    status.error = err;
    Ok(())
}
