//! The answers that any thread may ask for at any time, also while another is inside the library
//! (MPI-5.0 §11.6): they need nothing of the process.
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::missing_safety_doc)]

use std::ffi::c_int;

use crate::face::{ConstantGroup, Face};
use crate::library::{Phase, phase, thread_level};

/// Writes `value` where the program wants it; whether there is such a place.
unsafe fn answer(place: *mut c_int, value: c_int) -> bool {
    if !place.is_null() {
        // SAFETY: by the promise of all functions here.
        unsafe { *place = value };
    }
    !place.is_null()
}

/// `MPI_Initialized`.
pub unsafe fn initialized<F: Face>(flag: *mut c_int) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { answer(flag, (phase() >= Phase::Running).into()) }
}

/// `MPI_Finalized`.
pub unsafe fn finalized<F: Face>(flag: *mut c_int) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { answer(flag, (phase() == Phase::After).into()) }
}

/// `MPI_Query_thread`, while the library runs.
pub unsafe fn query_thread<F: Face>(provided: *mut c_int) -> bool {
    let level = F::constant_out(ConstantGroup::ThreadLevel, thread_level().0);
    // SAFETY: by the caller's promise.
    phase() == Phase::Running && unsafe { answer(provided, level) }
}

/// `MPI_Is_thread_main`, while the library runs.
pub unsafe fn is_thread_main<F: Face>(flag: *mut c_int) -> bool {
    // SAFETY: gettid cannot fail.
    let main = thread_level().1 == unsafe { libc::gettid() };
    // SAFETY: by the caller's promise.
    phase() == Phase::Running && unsafe { answer(flag, main.into()) }
}
