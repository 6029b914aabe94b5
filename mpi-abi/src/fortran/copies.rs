//! Copies of arguments, whose length the program chooses: where there is no memory for one the call fails.

use std::ffi::c_int;

use mpi_core::error::Result;

use super::{Fortran, done};
use crate::cx::Owner;
use crate::entry;
use crate::procedure::Procedure;

/// The copy, or nothing after the error that there is none, of which `owner` hears and which is reported.
#[inline]
pub unsafe fn copied<F: Fortran, T>(
    procedure: Procedure,
    owner: impl FnOnce() -> Owner,
    copy: Result<T>,
    ierror: *mut c_int,
) -> Option<T> {
    let error = match copy {
        Ok(copy) => return Some(copy),
        Err(error) => error,
    };
    let code = entry::call::<F>(procedure, owner(), |_| Err(error));
    // SAFETY: the program's variable.
    unsafe { done(ierror, code) };
    None
}
