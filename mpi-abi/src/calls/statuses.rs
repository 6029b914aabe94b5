//! Queries of statuses (MPI-5.0 §3.2.5, §5.1.11, §13.3).

use mpi_core::constants::UNDEFINED;
use mpi_core::error::{ErrorClass, Result};
use mpi_core::handle::DatatypeHandle;
use mpi_core::status::Status;

use crate::entry::{AlwaysCx, Cx};

/// `MPI_Test_cancelled`.
pub fn test_cancelled(_: &mut Cx<'_>, status: &Status, flag: &mut bool) -> Result<()> {
    *flag = status.cancelled;
    Ok(())
}

/// `MPI_Status_set_cancelled`.
pub fn status_set_cancelled(_: &mut AlwaysCx, status: &mut Status, flag: bool) -> Result<()> {
    status.cancelled = flag;
    Ok(())
}

/// `MPI_Status_get_source`.
pub fn status_get_source(_: &mut AlwaysCx, status: &Status, source: &mut i32) -> Result<()> {
    *source = status.source;
    Ok(())
}

/// `MPI_Status_get_tag`.
pub fn status_get_tag(_: &mut AlwaysCx, status: &Status, tag: &mut i32) -> Result<()> {
    *tag = status.tag;
    Ok(())
}

/// `MPI_Status_get_error`.
pub fn status_get_error(_: &mut AlwaysCx, status: &Status, err: &mut ErrorClass) -> Result<()> {
    *err = status.error;
    Ok(())
}

/// `MPI_Status_set_source`.
pub fn status_set_source(_: &mut AlwaysCx, status: &mut Status, source: i32) -> Result<()> {
    status.source = source;
    Ok(())
}

/// `MPI_Status_set_tag`.
pub fn status_set_tag(_: &mut AlwaysCx, status: &mut Status, tag: i32) -> Result<()> {
    status.tag = tag;
    Ok(())
}

/// `MPI_Status_set_error`.
pub fn status_set_error(_: &mut AlwaysCx, status: &mut Status, err: ErrorClass) -> Result<()> {
    status.error = err;
    Ok(())
}

/// A number of elements as the procedures tell it.
fn told(number: Option<u64>) -> i64 {
    number.and_then(|number| i64::try_from(number).ok()).unwrap_or(i64::from(UNDEFINED))
}

/// `MPI_Get_count`.
pub fn get_count(
    cx: &mut Cx<'_>,
    status: &Status,
    datatype: DatatypeHandle,
    count: &mut i64,
) -> Result<()> {
    *count = told(cx.datatype(datatype)?.count_in(status.bytes));
    Ok(())
}

/// `MPI_Get_elements`.
pub fn get_elements(
    cx: &mut Cx<'_>,
    status: &Status,
    datatype: DatatypeHandle,
    count: &mut i64,
) -> Result<()> {
    *count = told(cx.datatype(datatype)?.elements_in(status.bytes));
    Ok(())
}

/// `MPI_Get_elements_x`.
pub fn get_elements_x(
    cx: &mut Cx<'_>,
    status: &Status,
    datatype: DatatypeHandle,
    count: &mut i64,
) -> Result<()> {
    get_elements(cx, status, datatype, count)
}

/// `MPI_Status_set_elements`: what `MPI_Get_elements` then finds.
pub fn status_set_elements(
    cx: &mut Cx<'_>,
    status: &mut Status,
    datatype: DatatypeHandle,
    count: i64,
) -> Result<()> {
    let datatype = cx.datatype(datatype)?;
    let bytes = u64::try_from(count).ok().and_then(|count| datatype.bytes_of_elements(count));
    let Some(bytes) = bytes else {
        mpi_core::fail!(COUNT, "count", "is {count}, which no message of the datatype can have");
    };
    status.bytes = bytes;
    Ok(())
}

/// `MPI_Status_set_elements_x`.
pub fn status_set_elements_x(
    cx: &mut Cx<'_>,
    status: &mut Status,
    datatype: DatatypeHandle,
    count: i64,
) -> Result<()> {
    status_set_elements(cx, status, datatype, count)
}
