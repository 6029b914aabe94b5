//! Addresses as the program writes them (MPI-5.0 §5.1.5), also those that stand for something else, of which each ABI
//! has its own.

use std::ffi::c_void;

use mpi_core::error::Result;

use crate::cx::Cx;
use crate::face::Face;

/// `MPI_Get_address`.
///
/// # Safety
/// `address` is writable.
pub unsafe fn get_address<F: Face>(
    _: &mut Cx<'_>,
    location: *const c_void,
    address: *mut i64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { *address = location.addr() as i64 };
    Ok(())
}

/// `MPI_Address`, which MPI-3.0 removed.
///
/// # Safety
/// As for [`get_address`].
pub unsafe fn address<F: Face>(
    cx: &mut Cx<'_>,
    location: *const c_void,
    address: *mut i64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { get_address::<F>(cx, location, address) }
}
