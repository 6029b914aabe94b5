//! The attribute functions that the standard defines, for programs that name them (MPI-5.0 §7.7).

use std::ffi::c_int;

use super::{done, logical_out};

macro_rules! ready {
    ($($copy:ident $null:ident $delete:ident $width:ty;)*) => {$(
        /// `MPI_*_DUP_FN`: the duplicate gets the same value.
        pub unsafe extern "C-unwind" fn $copy(
            _object: *mut c_int,
            _keyval: *mut c_int,
            _extra_state: *mut $width,
            value: *mut $width,
            copy: *mut $width,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: the caller passes variables.
            unsafe {
                *copy = *value;
                *flag = 1;
                logical_out(flag);
                done(ierror, 0);
            }
        }

        /// `MPI_*_NULL_COPY_FN`: the duplicate gets nothing.
        pub unsafe extern "C-unwind" fn $null(
            _object: *mut c_int,
            _keyval: *mut c_int,
            _extra_state: *mut $width,
            _value: *mut $width,
            _copy: *mut $width,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: the caller passes variables.
            unsafe {
                *flag = 0;
                logical_out(flag);
                done(ierror, 0);
            }
        }

        /// `MPI_*_NULL_DELETE_FN`: nothing is to be done.
        pub unsafe extern "C-unwind" fn $delete(
            _object: *mut c_int,
            _keyval: *mut c_int,
            _value: *mut $width,
            _extra_state: *mut $width,
            ierror: *mut c_int,
        ) {
            // SAFETY: the caller passes a variable.
            unsafe { done(ierror, 0) };
        }
    )*};
}

ready! {
    dup_fn null_copy_fn null_delete_fn c_int;
    dup_fn_wide null_copy_fn_wide null_delete_fn_wide i64;
}
