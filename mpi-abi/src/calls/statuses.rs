//! What the opaque part of a status says (MPI-5.0 §3.2.5, §5.1.11, §3.8.4).

use mpi_core::constants::UNDEFINED;
use mpi_core::error::Result;
use mpi_core::handle::DatatypeHandle;
use mpi_core::status::Status;

use crate::cx::Cx;

/// `MPI_Test_cancelled`.
pub fn test_cancelled(_: &mut Cx<'_>, status: &Status, flag: &mut bool) -> Result<()> {
    *flag = status.cancelled;
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
    *count = told(cx.datatypes.get(datatype)?.count_in(status.bytes));
    Ok(())
}

/// `MPI_Get_elements`.
pub fn get_elements(
    cx: &mut Cx<'_>,
    status: &Status,
    datatype: DatatypeHandle,
    count: &mut i64,
) -> Result<()> {
    *count = told(cx.datatypes.get(datatype)?.elements_in(status.bytes));
    Ok(())
}
