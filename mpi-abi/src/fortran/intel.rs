//! What the modules of Intel MPI, compiled by Intel's compiler, call in their library: handles and statuses
//! are the same numbers in C and in Fortran there.

use std::ffi::c_int;

/// INTEGERs of a status.
const STATUS_SIZE: usize = 5;

/// The number of a handle, which is the handle.
pub unsafe extern "C-unwind" fn toint(handle: *const c_int, number: *mut c_int) {
    // SAFETY: the program's variables.
    unsafe { *number = *handle };
}

/// A handle of C for one of Fortran, or the other way.
pub unsafe extern "C-unwind" fn same(handle: *const c_int) -> c_int {
    // SAFETY: the program's variable.
    unsafe { *handle }
}

/// Assigns a status of C to one of Fortran, or the other way.
pub unsafe extern "C-unwind" fn assign_status(to: *mut c_int, from: *const c_int) {
    // SAFETY: the program's variables, which may be one.
    unsafe { std::ptr::copy(from, to, STATUS_SIZE) };
}

/// Whether memory of a device can be passed: no.
pub unsafe extern "C-unwind" fn denied(answer: *mut c_int) {
    // SAFETY: the program's variable.
    unsafe { *answer = 0 };
}
