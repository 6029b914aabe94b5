//! Reads and writes of one field of a status (MPI-5.0 §3.2.5, §13.3), which leave the others as they
//! are. The public ones go as the program's integers, since any value may stand there.

use std::ffi::c_int;

use mpi_core::error::Result;

use crate::args;
use crate::cx::{AlwaysCx, Cx};
use crate::face::Face;

/// `MPI_Status_get_source`.
///
/// # Safety
/// `status` is a status or what may not stand for one; `source` is writable.
pub unsafe fn status_get_source<F: Face>(
    _: &mut AlwaysCx,
    status: *const F::Status,
    source: *mut c_int,
) -> Result<()> {
    args::status::<F>("status", status)?;
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { *source = *F::status_fields(status.cast_mut()).source };
    Ok(())
}

/// `MPI_Status_get_tag`.
///
/// # Safety
/// `status` is a status or what may not stand for one; `tag` is writable.
pub unsafe fn status_get_tag<F: Face>(
    _: &mut AlwaysCx,
    status: *const F::Status,
    tag: *mut c_int,
) -> Result<()> {
    args::status::<F>("status", status)?;
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { *tag = *F::status_fields(status.cast_mut()).tag };
    Ok(())
}

/// `MPI_Status_get_error`.
///
/// # Safety
/// `status` is a status or what may not stand for one; `err` is writable.
pub unsafe fn status_get_error<F: Face>(
    _: &mut AlwaysCx,
    status: *const F::Status,
    err: *mut c_int,
) -> Result<()> {
    args::status::<F>("status", status)?;
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { *err = *F::status_fields(status.cast_mut()).error };
    Ok(())
}

/// `MPI_Status_set_source`.
///
/// # Safety
/// `status` is a status or what may not stand for one.
pub unsafe fn status_set_source<F: Face>(
    _: &mut AlwaysCx,
    status: *mut F::Status,
    source: c_int,
) -> Result<()> {
    args::status::<F>("status", status)?;
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { *F::status_fields(status).source = source };
    Ok(())
}

/// `MPI_Status_set_tag`.
///
/// # Safety
/// `status` is a status or what may not stand for one.
pub unsafe fn status_set_tag<F: Face>(
    _: &mut AlwaysCx,
    status: *mut F::Status,
    tag: c_int,
) -> Result<()> {
    args::status::<F>("status", status)?;
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { *F::status_fields(status).tag = tag };
    Ok(())
}

/// `MPI_Status_set_error`.
///
/// # Safety
/// `status` is a status or what may not stand for one.
pub unsafe fn status_set_error<F: Face>(
    _: &mut AlwaysCx,
    status: *mut F::Status,
    err: c_int,
) -> Result<()> {
    args::status::<F>("status", status)?;
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { *F::status_fields(status).error = err };
    Ok(())
}

/// `MPI_Status_set_cancelled`.
///
/// # Safety
/// `status` is a status or what may not stand for one.
pub unsafe fn status_set_cancelled<F: Face>(
    _: &mut AlwaysCx,
    status: *mut F::Status,
    flag: c_int,
) -> Result<()> {
    args::status::<F>("status", status)?;
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { F::status_set_cancelled(status, flag != 0) };
    Ok(())
}

/// `MPI_Status_set_elements`: what `MPI_Get_elements` then finds.
///
/// # Safety
/// `status` is a status or what may not stand for one.
pub unsafe fn status_set_elements<F: Face>(
    cx: &mut Cx<'_>,
    status: *mut F::Status,
    datatype: F::Datatype,
    count: i64,
) -> Result<()> {
    args::status::<F>("status", status)?;
    let datatype = cx.datatypes.get(F::datatype_in(datatype))?;
    let bytes = u64::try_from(count).ok().and_then(|count| datatype.bytes_of_elements(count));
    let Some(bytes) = bytes else {
        mpi_core::fail!(COUNT, "count", "is {count}, which no message of the datatype can have");
    };
    // SAFETY: the caller's promise, and none of the special values.
    unsafe { F::status_set_bytes(status, bytes) };
    Ok(())
}

/// `MPI_Status_set_elements_x`.
///
/// # Safety
/// As for [`status_set_elements`].
pub unsafe fn status_set_elements_x<F: Face>(
    cx: &mut Cx<'_>,
    status: *mut F::Status,
    datatype: F::Datatype,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise is the same.
    unsafe { status_set_elements::<F>(cx, status, datatype, count) }
}
