//! The tool information interface (MPI-5.0 §15.3), which shows nothing: there are no variables, events,
//! sources or categories. What asks for one gets an error code from generated text (`no_such`); what asks for
//! all of them finds nothing to do.
//!
//! No error handler hears of errors here, and all may be called before `MPI_Init` and by any thread
//! (§15.3.4, §15.3.10): nothing is kept but how often the interface was begun.
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::missing_safety_doc)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use mpi_core::error::ErrorClass;

use crate::face::Face;

/// How often the interface was begun and not ended.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// What every session is: the address of this.
static SESSION: u8 = 0;

/// The code of a procedure that was asked for what is not there.
#[cold]
pub fn no_such<F: Face>(class: ErrorClass) -> c_int {
    F::error_out(class)
}

/// Writes a number where the program wants it.
unsafe fn answer<F: Face>(place: *mut c_int, number: c_int) -> c_int {
    if place.is_null() {
        return F::error_out(ErrorClass::T_INVALID);
    }
    // SAFETY: by the promise of all functions here.
    unsafe { *place = number };
    0
}

/// `MPI_T_init_thread`: every level is granted, since threads share nothing.
pub unsafe fn t_init_thread<F: Face>(required: c_int, provided: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    let code = unsafe { answer::<F>(provided, required) };
    if code == 0 {
        BEGUN.fetch_add(1, Ordering::Relaxed);
    }
    code
}

/// `MPI_T_finalize`.
pub unsafe fn t_finalize<F: Face>() -> c_int {
    let ended =
        BEGUN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |begun| begun.checked_sub(1));
    if ended.is_ok() { 0 } else { F::error_out(ErrorClass::T_NOT_INITIALIZED) }
}

/// `MPI_T_cvar_get_num`.
pub unsafe fn t_cvar_get_num<F: Face>(num_cvar: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { answer::<F>(num_cvar, 0) }
}

/// `MPI_T_pvar_get_num`.
pub unsafe fn t_pvar_get_num<F: Face>(num_pvar: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { answer::<F>(num_pvar, 0) }
}

/// `MPI_T_event_get_num`.
pub unsafe fn t_event_get_num<F: Face>(num_events: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { answer::<F>(num_events, 0) }
}

/// `MPI_T_source_get_num`.
pub unsafe fn t_source_get_num<F: Face>(num_sources: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { answer::<F>(num_sources, 0) }
}

/// `MPI_T_category_get_num`.
pub unsafe fn t_category_get_num<F: Face>(num_cat: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { answer::<F>(num_cat, 0) }
}

/// `MPI_T_category_changed`: they never do.
pub unsafe fn t_category_changed<F: Face>(update_number: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { answer::<F>(update_number, 0) }
}

/// `MPI_T_pvar_session_create`.
pub unsafe fn t_pvar_session_create<F: Face>(pe_session: *mut *mut c_void) -> c_int {
    if pe_session.is_null() {
        return F::error_out(ErrorClass::T_INVALID);
    }
    // SAFETY: by the caller's promise.
    unsafe { *pe_session = (&raw const SESSION).cast_mut().cast() };
    0
}

/// `MPI_T_pvar_session_free`.
pub unsafe fn t_pvar_session_free<F: Face>(pe_session: *mut *mut c_void) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe {
        if pe_session.is_null() || !ptr::addr_eq(*pe_session, &raw const SESSION) {
            return F::error_out(ErrorClass::T_INVALID_SESSION);
        }
        *pe_session = ptr::null_mut();
    }
    0
}

/// The code of a procedure for all variables of a session, or for one, of which there is none (§15.3.7).
fn of_all<F: Face>(pe_session: *mut c_void, handle: *mut c_void) -> c_int {
    if !ptr::addr_eq(pe_session, &raw const SESSION) {
        return F::error_out(ErrorClass::T_INVALID_SESSION);
    }
    if F::is_all_handles(handle) { 0 } else { no_such::<F>(ErrorClass::T_INVALID_HANDLE) }
}

/// `MPI_T_pvar_start`.
pub unsafe fn t_pvar_start<F: Face>(pe_session: *mut c_void, handle: *mut c_void) -> c_int {
    of_all::<F>(pe_session, handle)
}

/// `MPI_T_pvar_stop`.
pub unsafe fn t_pvar_stop<F: Face>(pe_session: *mut c_void, handle: *mut c_void) -> c_int {
    of_all::<F>(pe_session, handle)
}

/// `MPI_T_pvar_reset`.
pub unsafe fn t_pvar_reset<F: Face>(pe_session: *mut c_void, handle: *mut c_void) -> c_int {
    of_all::<F>(pe_session, handle)
}
