//! `MPI_Init` and `MPI_Init_thread` (MPI-5.0 §11.2.1): both ignore the arguments of the program.

use std::ffi::{c_char, c_int};

use mpi_core::error::Result;

use crate::cx::Cx;
use crate::face::{ConstantGroup, Face};
use crate::startup;

/// `MPI_Init`.
///
/// # Safety
/// The arguments are not used; §11.2.1 allows null pointers.
pub unsafe fn init<F: Face>(
    cx: &mut Cx<'_>,
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
) -> Result<()> {
    startup::start(cx, 0).map(drop)
}

/// `MPI_Init_thread`.
///
/// # Safety
/// `provided` is writable.
pub unsafe fn init_thread<F: Face>(
    cx: &mut Cx<'_>,
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> Result<()> {
    let granted = startup::start(cx, F::constant_in(ConstantGroup::ThreadLevel, required))?;
    // SAFETY: by the caller's promise.
    unsafe { *provided = F::constant_out(ConstantGroup::ThreadLevel, granted) };
    Ok(())
}
