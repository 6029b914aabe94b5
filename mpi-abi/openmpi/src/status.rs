//! Open MPI's `MPI_Status`: the three public fields, the cancelled flag and the byte count.

use mpi_abi::face::Face;
use mpi_abi::mpi_core::status::Status;

use crate::face::OpenMpi;

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
        (*to).source = OpenMpi::rank_out(status.source);
        (*to).tag = OpenMpi::tag_out(status.tag);
        if with_error {
            (*to).error = OpenMpi::error_out(status.error);
        }
        (*to).cancelled = i32::from(status.cancelled);
        (*to).bytes = status.bytes;
    }
}

/// See [`Face::status_in`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn read(from: *const OpenMpiStatus) -> Status {
    // SAFETY: the caller says that `from` is readable.
    let from = unsafe { from.read() };
    Status {
        source: OpenMpi::rank_in(from.source),
        tag: OpenMpi::tag_in(from.tag),
        error: OpenMpi::error_in(from.error),
        bytes: from.bytes,
        cancelled: from.cancelled != 0,
    }
}
