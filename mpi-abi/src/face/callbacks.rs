//! Calls of functions that the program gave to the library, with its own ABI's handles and
//! constants as arguments (MPI-5.0 §6.9.5, §7.7.2, §9.3, §13.2).
//!
//! The signatures are the same in all three ABIs. The null and duplicating attribute functions
//! are real functions or the addresses 0 and 1 of the standard ABI; a null address never is
//! anything else, and no function has the address 1, so both are understood for every face.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use mpi_core::handle::*;
use mpi_core::status::Status;

use super::{ConstantGroup, Face};

/// `MPI_COMM_NULL_COPY_FN` and its like where they are constants.
const NULL_FUNCTION: usize = 0;
/// `MPI_COMM_DUP_FN` and its like where they are constants.
const DUP_FUNCTION: usize = 1;

type UserFunction<H> = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_int, *mut H);
type UserFunctionLarge<H> = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut i64, *mut H);
type CopyFunction<H> = unsafe extern "C-unwind" fn(
    H,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
type DeleteFunction<H> = unsafe extern "C-unwind" fn(H, c_int, *mut c_void, *mut c_void) -> c_int;
type ErrhandlerFunction<H> = unsafe extern "C-unwind" fn(*mut H, *mut c_int, ...);
type QueryFunction<S> = unsafe extern "C-unwind" fn(*mut c_void, *mut S) -> c_int;

/// See [`Face::call_op`].
///
/// # Safety
/// As there.
pub unsafe fn call_op<F: Face>(
    function: *const c_void,
    large: bool,
    input: *const u8,
    inout: *mut u8,
    count: i64,
    datatype: DatatypeHandle,
) {
    let mut datatype = F::datatype_out(datatype);
    let input = input.cast_mut().cast();
    let inout = inout.cast();
    // SAFETY: the caller vouches for the function's type and the buffers; the other arguments
    // are local. A function that is not large is given counts that fit an int.
    unsafe {
        if large {
            let mut count = count;
            let call: UserFunctionLarge<F::Datatype> = transmute(function);
            call(input, inout, &mut count, &mut datatype);
        } else {
            let mut count = count as c_int;
            let call: UserFunction<F::Datatype> = transmute(function);
            call(input, inout, &mut count, &mut datatype);
        }
    }
}

/// See [`Face::call_copy_attr`].
///
/// # Safety
/// As there.
pub unsafe fn call_copy_attr<F: Face>(
    function: *const c_void,
    kind: u32,
    object: u32,
    keyval: i32,
    extra_state: *mut c_void,
    value: *mut c_void,
) -> (c_int, *mut c_void, bool) {
    match function as usize {
        NULL_FUNCTION => return (0, value, false),
        DUP_FUNCTION => return (0, value, true),
        _ => {}
    }
    let keyval = F::constant_out(ConstantGroup::Keyval, keyval);
    let mut copy: *mut c_void = std::ptr::null_mut();
    let mut flag: c_int = 0;
    let (out, flag_out) = (&raw mut copy, &raw mut flag);
    // SAFETY: the caller vouches that this is a copy function for handles of this kind.
    let code = unsafe {
        match kind {
            CommKind::NUMBER => {
                let call: CopyFunction<F::Comm> = transmute(function);
                let object = F::comm_out(Handle::from_raw(object));
                call(object, keyval, extra_state, value, out, flag_out)
            }
            WinKind::NUMBER => {
                let call: CopyFunction<F::Win> = transmute(function);
                let object = F::win_out(Handle::from_raw(object));
                call(object, keyval, extra_state, value, out, flag_out)
            }
            _ => {
                let call: CopyFunction<F::Datatype> = transmute(function);
                let object = F::datatype_out(Handle::from_raw(object));
                call(object, keyval, extra_state, value, out, flag_out)
            }
        }
    };
    (code, copy, flag != 0)
}

/// See [`Face::call_delete_attr`].
///
/// # Safety
/// As there.
pub unsafe fn call_delete_attr<F: Face>(
    function: *const c_void,
    kind: u32,
    object: u32,
    keyval: i32,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> c_int {
    if function as usize == NULL_FUNCTION {
        return 0;
    }
    let keyval = F::constant_out(ConstantGroup::Keyval, keyval);
    // SAFETY: the caller vouches that this is a delete function for handles of this kind.
    unsafe {
        match kind {
            CommKind::NUMBER => {
                let call: DeleteFunction<F::Comm> = transmute(function);
                call(F::comm_out(Handle::from_raw(object)), keyval, value, extra_state)
            }
            WinKind::NUMBER => {
                let call: DeleteFunction<F::Win> = transmute(function);
                call(F::win_out(Handle::from_raw(object)), keyval, value, extra_state)
            }
            _ => {
                let call: DeleteFunction<F::Datatype> = transmute(function);
                call(F::datatype_out(Handle::from_raw(object)), keyval, value, extra_state)
            }
        }
    }
}

/// See [`Face::call_errhandler`].
///
/// # Safety
/// As there.
pub unsafe fn call_errhandler<F: Face>(
    function: *const c_void,
    kind: u32,
    object: u32,
    code: c_int,
) -> c_int {
    let mut code = code;
    // SAFETY: the caller vouches that this is an error handler function for objects of this
    // kind; handle and code are local.
    unsafe {
        match kind {
            WinKind::NUMBER => {
                let call: ErrhandlerFunction<F::Win> = transmute(function);
                call(&mut F::win_out(Handle::from_raw(object)), &mut code);
            }
            FileKind::NUMBER => {
                let call: ErrhandlerFunction<F::File> = transmute(function);
                call(&mut F::file_out(Handle::from_raw(object)), &mut code);
            }
            SessionKind::NUMBER => {
                let call: ErrhandlerFunction<F::Session> = transmute(function);
                call(&mut F::session_out(Handle::from_raw(object)), &mut code);
            }
            _ => {
                let call: ErrhandlerFunction<F::Comm> = transmute(function);
                call(&mut F::comm_out(Handle::from_raw(object)), &mut code);
            }
        }
    }
    code
}

/// See [`Face::call_grequest_query`].
///
/// # Safety
/// As there.
pub unsafe fn call_grequest_query<F: Face>(
    function: *const c_void,
    extra_state: *mut c_void,
    status: &mut Status,
) -> c_int {
    let mut shown = std::mem::MaybeUninit::<F::Status>::zeroed();
    // SAFETY: the caller vouches for the function; a status is plain integers, so that zeroes
    // are one, and it is filled before it is shown.
    unsafe {
        F::status_out(shown.as_mut_ptr(), status, true);
        let call: QueryFunction<F::Status> = transmute(function);
        let code = call(extra_state, shown.as_mut_ptr());
        // What became of the operation is what the function returns (MPI-5.0 §13.2).
        *status = Status { error: status.error, ..F::status_in(shown.as_ptr()) };
        code
    }
}
