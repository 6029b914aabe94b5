//! Calls of Fortran functions of the program: everything by reference, INTEGER handles, the error
//! code in the last argument (MPI-5.0 §6.9.5, §7.7.2, §9.3).

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use mpi_core::attributes::Convention;
use mpi_core::callout::UserFunction;

use crate::logicals::logical;

type Errhandler = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int);
type Reduce = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_int);
type Copy<W> = unsafe extern "C-unwind" fn(
    *mut c_int,
    *mut c_int,
    *mut W,
    *mut W,
    *mut W,
    *mut c_int,
    *mut c_int,
);
type Delete<W> = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int, *mut W, *mut W, *mut c_int);

/// Calls the error handler function at `address`.
pub(crate) unsafe fn errhandler(address: usize, object: c_int, code: c_int) -> c_int {
    let (mut object, mut code) = (object, code);
    // SAFETY: the caller vouches for the function.
    unsafe {
        let call = transmute::<usize, Errhandler>(address);
        call(&mut object, &mut code);
    }
    code
}

/// Calls a reduction function on `count` elements.
pub(crate) unsafe fn reduction(
    function: &UserFunction,
    input: *const u8,
    inout: *mut u8,
    count: i64,
    datatype: c_int,
) {
    let (mut count, mut datatype) = (count, datatype);
    // An INTEGER unless the function is a large one.
    let mut short = count as c_int;
    let count = if function.large { (&raw mut count).cast() } else { (&raw mut short).cast() };
    // SAFETY: the caller vouches for the function and the buffers.
    unsafe {
        let call = transmute::<usize, Reduce>(function.address);
        call(input.cast_mut().cast(), inout.cast(), count, &mut datatype);
    }
}

/// What the attribute functions are told besides values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// The object.
    pub(crate) object: c_int,
    /// The key.
    pub(crate) keyval: c_int,
    /// The key's extra state.
    pub(crate) extra_state: i64,
}

/// What an attribute copy function answered.
pub(crate) struct Copied {
    pub(crate) code: c_int,
    pub(crate) wanted: bool,
    pub(crate) value: i64,
}

/// Calls the attribute copy function at `address`.
pub(crate) unsafe fn copy(
    address: usize,
    convention: Convention,
    about: About,
    value: i64,
) -> Copied {
    let About { mut object, mut keyval, mut extra_state } = about;
    let (mut value, mut copy, mut flag, mut code) = (value, 0i64, 0, 0);
    // SAFETY: the caller vouches for the function, whose convention says how wide its INTEGERs are.
    unsafe {
        if convention == Convention::FortranInteger {
            let (mut state, mut old, mut new) = (extra_state as c_int, value as c_int, 0);
            let call = transmute::<usize, Copy<c_int>>(address);
            call(&mut object, &mut keyval, &mut state, &mut old, &mut new, &mut flag, &mut code);
            copy = i64::from(new);
        } else {
            let call = transmute::<usize, Copy<i64>>(address);
            let state = &mut extra_state;
            call(&mut object, &mut keyval, state, &mut value, &mut copy, &mut flag, &mut code);
        }
    }
    Copied { code, wanted: logical(flag) != 0, value: copy }
}

/// Calls the attribute delete function at `address`.
pub(crate) unsafe fn delete(
    address: usize,
    convention: Convention,
    about: About,
    value: i64,
) -> c_int {
    let About { mut object, mut keyval, mut extra_state } = about;
    let (mut value, mut code) = (value, 0);
    // SAFETY: as for `copy`.
    unsafe {
        if convention == Convention::FortranInteger {
            let (mut old, mut state) = (value as c_int, extra_state as c_int);
            let call = transmute::<usize, Delete<c_int>>(address);
            call(&mut object, &mut keyval, &mut old, &mut state, &mut code);
        } else {
            let call = transmute::<usize, Delete<i64>>(address);
            call(&mut object, &mut keyval, &mut value, &mut extra_state, &mut code);
        }
    }
    code
}
