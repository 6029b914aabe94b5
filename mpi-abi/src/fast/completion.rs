//! The fast paths of waits and tests (MPI-5.0 §3.7.3, §3.7.5).
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::missing_safety_doc)]

use std::ffi::c_int;

use mpi_core::completion::fast::Peek;
use mpi_core::entry::Entry;
use mpi_core::handle::RequestHandle;
use mpi_core::status::Status;

use super::{Way, is_sound, put};
use crate::face::Face;
use crate::procedure::Procedure;
use transports::node::LocalPort;

/// `MPI_Wait`.
#[inline(always)]
pub unsafe fn wait<F: Face, W: Way>(request: *mut F::Request, status: *mut F::Status) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    if request.is_null() || !is_sound::<F>(status) {
        return false;
    }
    entry.procedure = Procedure::Wait.number();
    // SAFETY: the program's promise, and not null.
    let handle = F::request_in(unsafe { *request });
    let empty = entry.settled(handle) == Peek::Empty;
    // SAFETY: as above, and the status is sound.
    unsafe { report::<F>(&mut entry, (request, handle, empty), status, false) }
}

/// `MPI_Test`.
#[inline(always)]
pub unsafe fn test<F: Face, W: Way>(
    request: *mut F::Request,
    flag: *mut c_int,
    status: *mut F::Status,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    if request.is_null() || flag.is_null() || !is_sound::<F>(status) {
        return false;
    }
    entry.procedure = Procedure::Test.number();
    // SAFETY: the program's promise, and not null.
    let handle = F::request_in(unsafe { *request });
    let shown = entry.peek_twice(handle);
    let (pending, empty) = (shown == Peek::Pending, shown == Peek::Empty);
    // SAFETY: as above, and the status is sound.
    unsafe {
        let done = pending || report::<F>(&mut entry, (request, handle, empty), status, false);
        if done {
            *flag = c_int::from(!pending);
        }
        done
    }
}

/// `MPI_Waitall`: reports none before all have completed well.
#[inline(always)]
pub unsafe fn waitall<F: Face, W: Way>(
    count: c_int,
    array_of_requests: *mut F::Request,
    array_of_statuses: *mut F::Status,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    let Ok(count) = usize::try_from(count) else { return false };
    if array_of_requests.is_null() || !is_sound::<F>(array_of_statuses) {
        return false;
    }
    entry.procedure = Procedure::Waitall.number();
    for index in 0..count {
        // SAFETY: the program's array has `count` requests.
        let handle = F::request_in(unsafe { *array_of_requests.add(index) });
        if entry.settled(handle) == Peek::Other {
            return false;
        }
    }
    // SAFETY: as above; so has the array of statuses, if they are not to be ignored.
    unsafe { report_all::<F>(&mut entry, count, array_of_requests, array_of_statuses) }
}

/// `MPI_Testall`: reports none before all have completed well.
#[inline(always)]
pub unsafe fn testall<F: Face, W: Way>(
    count: c_int,
    array_of_requests: *mut F::Request,
    flag: *mut c_int,
    array_of_statuses: *mut F::Status,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    let Ok(count) = usize::try_from(count) else { return false };
    if array_of_requests.is_null() || flag.is_null() || !is_sound::<F>(array_of_statuses) {
        return false;
    }
    entry.procedure = Procedure::Testall.number();
    for index in 0..count {
        // SAFETY: the program's array has `count` requests.
        let handle = F::request_in(unsafe { *array_of_requests.add(index) });
        match entry.peek_twice(handle) {
            Peek::Empty | Peek::Complete | Peek::Round => {}
            Peek::Pending => {
                // SAFETY: the program's promise, and not null.
                unsafe { *flag = 0 };
                return true;
            }
            Peek::Other => return false,
        }
    }
    // SAFETY: as above; so has the array of statuses, if they are not to be ignored.
    unsafe {
        let done = report_all::<F>(&mut entry, count, array_of_requests, array_of_statuses);
        if done {
            *flag = 1;
        }
        done
    }
}

/// Reports requests that all have completed well; whether they have.
///
/// # Safety
/// Both arrays have `count` entries; the statuses may be ignored.
#[inline(always)]
unsafe fn report_all<F: Face>(
    entry: &mut Entry<'_, LocalPort>,
    count: usize,
    requests: *mut F::Request,
    statuses: *mut F::Status,
) -> bool {
    let ignored = F::is_status_ignore(statuses);
    for index in 0..count {
        let status = if ignored { statuses } else { statuses.wrapping_add(index) };
        // SAFETY: by the caller's promise.
        let reported = unsafe {
            let request = requests.add(index);
            let handle = F::request_in(*request);
            let empty = entry.requests().has_empty_status(handle);
            report::<F>(entry, (request, handle, empty), status, false)
        };
        // One request may stand twice in the array.
        if !reported {
            return false;
        }
    }
    true
}

/// Reports a request, told by place, handle and being [`Peek::Empty`], that has completed well; whether it has.
///
/// # Safety
/// The place can be written; so can the status, unless it is to be ignored.
#[inline(always)]
unsafe fn report<F: Face>(
    entry: &mut Entry<'_, LocalPort>,
    (place, handle, empty): (*mut F::Request, RequestHandle, bool),
    status: *mut F::Status,
    with_error: bool,
) -> bool {
    let (known, stays) = match empty {
        true => (Some(Status::EMPTY), false),
        false => match entry.requests_mut().collect(handle) {
            None => (entry.requests_mut().collect_round(handle), true),
            known => (known, false),
        },
    };
    let Some(known) = known else { return false };
    // SAFETY: by the caller's promise.
    unsafe {
        if !stays {
            *place = F::request_out(RequestHandle::NULL);
        }
        // The error field is a part of the empty status, which a null handle gives (§3.7.3).
        put::<F>(status, &known, with_error || handle.is_null());
    }
    true
}
