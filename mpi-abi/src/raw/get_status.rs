//! Looks at requests that change nothing (MPI-5.0 §3.7.6).

use std::ffi::c_int;

use mpi_core::constants::UNDEFINED;
use mpi_core::error::Result;
use mpi_core::status::Status;

use super::arrays::{Requests, Statuses, put};
use crate::args;
use crate::calls::requests::status_of;
use crate::cx::Cx;
use crate::face::Face;

/// `MPI_Request_get_status`.
///
/// # Safety
/// `flag` is writable, `status` too unless it is an ignore value.
pub unsafe fn request_get_status<F: Face>(
    cx: &mut Cx<'_>,
    request: F::Request,
    flag: *mut c_int,
    status: *mut F::Status,
) -> Result<()> {
    args::status_out::<F>("status", status)?;
    let request = F::request_in(request);
    if !cx.is_complete(request)? {
        cx.poll_in_passing();
    }
    let done = cx.is_complete(request)?;
    // SAFETY: the caller's promise.
    unsafe { *flag = c_int::from(done) };
    if done {
        let idle = cx.requests().is_idle(request)?;
        let known = status_of(cx, request)?;
        // SAFETY: the caller's promise.
        unsafe { put::<F>(status, &known, idle) };
    }
    Ok(())
}

/// `MPI_Request_get_status_all`.
///
/// # Safety
/// The requests are readable, `flag` is writable; so is a status for each of them unless they are to be ignored.
pub unsafe fn request_get_status_all<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_requests: *const F::Request,
    flag: *mut c_int,
    array_of_statuses: *mut F::Status,
) -> Result<()> {
    // SAFETY: the caller's promise; nothing is set to null.
    let requests = unsafe {
        Requests::<F>::reported_in_all(array_of_requests.cast_mut(), count, array_of_statuses)
    }?;
    cx.poll_in_passing();
    let complete = requests.all_complete(cx)?;
    // SAFETY: the caller's promise.
    unsafe { *flag = c_int::from(complete) };
    if complete {
        let mut statuses = Statuses::<F>::new(array_of_statuses);
        for index in 0..requests.count {
            let idle = cx.requests().is_idle(requests.at(index))?;
            let status = status_of(cx, requests.at(index))?;
            // SAFETY: the caller's promise. The call succeeds, whatever became of the requests.
            unsafe { statuses.put(&status, idle, None, None) };
        }
    }
    Ok(())
}

/// `MPI_Request_get_status_any`.
///
/// # Safety
/// The requests are readable, `index` and `flag` are writable; so is the status unless it is to be ignored.
pub unsafe fn request_get_status_any<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_requests: *const F::Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut F::Status,
) -> Result<()> {
    // SAFETY: the caller's promise; nothing is set to null.
    let requests =
        unsafe { Requests::<F>::reported_in(array_of_requests.cast_mut(), count, status) }?;
    cx.poll_in_passing();
    let active = requests.active(cx)?;
    let mut found = None;
    for &(at, request) in &active {
        if cx.is_complete(request)? {
            found = Some((at, status_of(cx, request)?));
            break;
        }
    }
    let done = found.is_some() || active.is_empty();
    // SAFETY: the caller's promise.
    unsafe {
        *flag = c_int::from(done);
        *index = found.map_or(UNDEFINED, |(at, _)| at as c_int);
        match found {
            Some((_, known)) => put::<F>(status, &known, false),
            None if done => put::<F>(status, &Status::EMPTY, true),
            None => {}
        }
    }
    Ok(())
}

/// `MPI_Request_get_status_some`.
///
/// # Safety
/// The requests are readable, `outcount` and as many indices are writable; so is a status for each of them unless
/// they are to be ignored.
pub unsafe fn request_get_status_some<F: Face>(
    cx: &mut Cx<'_>,
    incount: i64,
    array_of_requests: *const F::Request,
    outcount: *mut c_int,
    array_of_indices: *mut c_int,
    array_of_statuses: *mut F::Status,
) -> Result<()> {
    args::array("array_of_indices", array_of_indices.is_null(), incount > 0)?;
    // SAFETY: the caller's promise; nothing is set to null.
    let requests = unsafe {
        Requests::<F>::reported_in_all(array_of_requests.cast_mut(), incount, array_of_statuses)
    }?;
    cx.poll_in_passing();
    let active = requests.active(cx)?;
    let mut statuses = Statuses::<F>::new(array_of_statuses);
    for &(at, request) in &active {
        if cx.is_complete(request)? {
            let status = status_of(cx, request)?;
            // SAFETY: the caller's promise. The call succeeds, whatever became of the requests.
            unsafe {
                *array_of_indices.add(statuses.written) = at as c_int;
                statuses.put(&status, false, None, None);
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { *outcount = if active.is_empty() { UNDEFINED } else { statuses.written as c_int } };
    Ok(())
}
