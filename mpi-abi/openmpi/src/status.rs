//! Open MPI's `MPI_Status`: the three public fields, the cancelled flag and the byte count.
//!
//! In Fortran it is an array of INTEGERs (MPI-5.0 §19.3.5), which need not begin where a byte count
//! may: so nothing here counts on the alignment of the C type.

use mpi_abi::face::{Face, StatusFields};
use mpi_abi::mpi_core::status::Status;

use crate::OpenMpi;

/// `MPI_Status` as the header lays it out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenMpiStatus {
    source: i32,
    tag: i32,
    error: i32,
    cancelled: i32,
    bytes: u64,
}

const _: () = assert!(size_of::<OpenMpiStatus>() == 24);

/// See [`Face::status_out`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn write(to: *mut OpenMpiStatus, status: &Status, with_error: bool) {
    // SAFETY: the caller says that `to` is writable.
    unsafe {
        (&raw mut (*to).source).write_unaligned(OpenMpi::rank_out(status.source));
        (&raw mut (*to).tag).write_unaligned(OpenMpi::tag_out(status.tag));
        if with_error {
            (&raw mut (*to).error).write_unaligned(OpenMpi::error_out(status.error));
        }
        (&raw mut (*to).cancelled).write_unaligned(i32::from(status.cancelled));
        (&raw mut (*to).bytes).write_unaligned(status.bytes);
    }
}

/// See [`Face::status_in`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn read(from: *const OpenMpiStatus) -> Status {
    // SAFETY: the caller says that `from` is readable.
    let from = unsafe { from.read_unaligned() };
    Status {
        source: OpenMpi::rank_in(from.source),
        tag: OpenMpi::tag_in(from.tag),
        error: OpenMpi::error_in(from.error),
        bytes: from.bytes,
        cancelled: from.cancelled != 0,
    }
}

/// See [`Face::status_fields`].
///
/// # Safety
/// As there.
pub(crate) unsafe fn fields(status: *mut OpenMpiStatus) -> StatusFields {
    // SAFETY: the caller says that there is room for a status.
    unsafe {
        StatusFields {
            source: &raw mut (*status).source,
            tag: &raw mut (*status).tag,
            error: &raw mut (*status).error,
        }
    }
}

/// See [`Face::status_set_bytes`].
///
/// # Safety
/// As there.
pub(crate) unsafe fn set_bytes(to: *mut OpenMpiStatus, bytes: u64) {
    // SAFETY: the caller says that `to` is writable.
    unsafe { (&raw mut (*to).bytes).write_unaligned(bytes) };
}

/// See [`Face::status_set_cancelled`].
///
/// # Safety
/// As there.
pub(crate) unsafe fn set_cancelled(to: *mut OpenMpiStatus, cancelled: bool) {
    // SAFETY: the caller says that `to` is writable.
    unsafe { (&raw mut (*to).cancelled).write_unaligned(i32::from(cancelled)) };
}
