//! MPICH's `MPI_Status`: the count in 63 bits over two words, with the cancelled flag below.

use mpi_abi::face::{Face, StatusFields};
use mpi_abi::mpi_core::status::Status;

use crate::Mpich;

/// `MPI_Status` as the header lays it out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct MpichStatus {
    count_low: i32,
    count_high_and_cancelled: i32,
    source: i32,
    tag: i32,
    error: i32,
}

const _: () = assert!(size_of::<MpichStatus>() == 20);

/// See [`Face::status_out`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn write(to: *mut MpichStatus, status: &Status, with_error: bool) {
    let high = (status.bytes >> 32) as i32;
    // SAFETY: the caller says that `to` is writable.
    unsafe {
        (*to).count_low = status.bytes as i32;
        (*to).count_high_and_cancelled = high << 1 | i32::from(status.cancelled);
        (*to).source = Mpich::rank_out(status.source);
        (*to).tag = Mpich::tag_out(status.tag);
        if with_error {
            (*to).error = Mpich::error_out(status.error);
        }
    }
}

/// See [`Face::status_in`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn read(from: *const MpichStatus) -> Status {
    // SAFETY: the caller says that `from` is readable.
    let from = unsafe { from.read() };
    let high = (from.count_high_and_cancelled as u32 >> 1) as u64;
    Status {
        source: Mpich::rank_in(from.source),
        tag: Mpich::tag_in(from.tag),
        error: Mpich::error_in(from.error),
        bytes: high << 32 | from.count_low as u32 as u64,
        cancelled: from.count_high_and_cancelled & 1 != 0,
    }
}

/// See [`Face::status_fields`].
///
/// # Safety
/// As there.
pub(crate) unsafe fn fields(status: *mut MpichStatus) -> StatusFields {
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
pub(crate) unsafe fn set_bytes(to: *mut MpichStatus, bytes: u64) {
    // SAFETY: the caller says that `to` is writable.
    unsafe {
        (*to).count_low = bytes as i32;
        (*to).count_high_and_cancelled &= 1;
        (*to).count_high_and_cancelled |= ((bytes >> 32) as i32) << 1;
    }
}

/// See [`Face::status_set_cancelled`].
///
/// # Safety
/// As there.
pub(crate) unsafe fn set_cancelled(to: *mut MpichStatus, cancelled: bool) {
    // SAFETY: the caller says that `to` is writable.
    unsafe {
        (*to).count_high_and_cancelled &= !1;
        (*to).count_high_and_cancelled |= i32::from(cancelled);
    }
}
