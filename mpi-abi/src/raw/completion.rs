//! Waits and tests over arrays of requests (MPI-5.0 §3.7.5). The rules of one request are the core's; here are the
//! arrays.

use std::ffi::c_int;

use mpi_core::completion::Report;
use mpi_core::constants::UNDEFINED;
use mpi_core::error::Result;
use mpi_core::handle::RequestHandle;
use mpi_core::status::Status;

use super::arrays::{Requests, Statuses, put};
use crate::args;
use crate::calls::requests::own;
use crate::cx::Cx;
use crate::face::Face;
use crate::node::Node;

/// `MPI_Wait`.
///
/// # Safety
/// `request` is writable, `status` too unless it is an ignore value.
pub unsafe fn wait<F: Face>(
    cx: &mut Cx<'_>,
    request: *mut F::Request,
    status: *mut F::Status,
) -> Result<()> {
    args::out("request", request.is_null())?;
    // SAFETY: the caller's promise.
    let requests = unsafe { Requests::<F>::reported_in(request, 1, status) }?;
    let handle = requests.at(0);
    cx.is_complete(handle)?;
    cx.block_on(handle);
    // SAFETY: the caller's promise.
    unsafe { report_at(cx, &requests, 0, status) }
}

/// `MPI_Test`.
///
/// # Safety
/// As for [`wait`]; `flag` is writable.
pub unsafe fn test<F: Face>(
    cx: &mut Cx<'_>,
    request: *mut F::Request,
    flag: *mut c_int,
    status: *mut F::Status,
) -> Result<()> {
    args::out("request", request.is_null())?;
    // SAFETY: the caller's promise.
    let requests = unsafe { Requests::<F>::reported_in(request, 1, status) }?;
    let complete = requests.all_complete_soon(cx)?;
    // SAFETY: the caller's promise.
    unsafe { *flag = c_int::from(complete) };
    match complete {
        // SAFETY: the caller's promise.
        true => unsafe { report_at(cx, &requests, 0, status) },
        false => Ok(()),
    }
}

/// Reports the complete request at `at` into the one status of a call.
///
/// # Safety
/// `status` is writable unless it is to be ignored.
unsafe fn report_at<F: Face>(
    cx: &mut Cx<'_>,
    requests: &Requests<F>,
    at: usize,
    status: *mut F::Status,
) -> Result<()> {
    own(cx, requests.at(at));
    let Report { status: known, idle, failure, .. } = requests.report(cx, at)?;
    // SAFETY: the caller's promise.
    unsafe { put::<F>(status, &known, idle) };
    failure.map_or(Ok(()), Err)
}

/// `MPI_Waitall`.
///
/// # Safety
/// The arrays have `count` entries; the statuses may be an ignore value.
pub unsafe fn waitall<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_requests: *mut F::Request,
    array_of_statuses: *mut F::Status,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let requests =
        unsafe { Requests::<F>::reported_in_all(array_of_requests, count, array_of_statuses) }?;
    for index in 0..requests.count {
        cx.is_complete(requests.at(index))?;
    }
    for index in 0..requests.count {
        cx.block_on(requests.at(index));
    }
    // SAFETY: the caller's promise.
    unsafe { report_all(cx, &requests, array_of_statuses) }
}

/// Reports complete requests; failures go into the statuses.
///
/// # Safety
/// The statuses have an entry for each request, or are an ignore value.
unsafe fn report_all<F: Face>(
    cx: &mut Cx<'_>,
    requests: &Requests<F>,
    statuses: *mut F::Status,
) -> Result<()> {
    let mut statuses = Statuses::<F>::new(statuses);
    for index in 0..requests.count {
        let comm = cx.requests().comm(requests.at(index));
        let Report { status, idle, failure, .. } = requests.report(cx, index)?;
        // SAFETY: the caller's promise.
        unsafe { statuses.put(&status, idle, failure, comm) };
    }
    statuses.finish(cx)
}

/// `MPI_Testall`.
///
/// # Safety
/// As for [`waitall`]; `flag` is writable.
pub unsafe fn testall<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_requests: *mut F::Request,
    flag: *mut c_int,
    array_of_statuses: *mut F::Status,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let requests =
        unsafe { Requests::<F>::reported_in_all(array_of_requests, count, array_of_statuses) }?;
    let complete = requests.all_complete_soon(cx)?;
    // SAFETY: the caller's promise.
    unsafe { *flag = c_int::from(complete) };
    match complete {
        // SAFETY: the caller's promise.
        true => unsafe { report_all(cx, &requests, array_of_statuses) },
        false => Ok(()),
    }
}

/// `MPI_Waitany`.
///
/// # Safety
/// The array has `count` entries; `index` is writable, `status` too unless ignored.
pub unsafe fn waitany<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_requests: *mut F::Request,
    index: *mut c_int,
    status: *mut F::Status,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let requests = unsafe { Requests::<F>::reported_in(array_of_requests, count, status) }?;
    let active = requests.active(cx)?;
    let mut found = None;
    if !active.is_empty() {
        let handles = active.iter().map(|(_, request)| *request);
        let call = |process: &Node| process.waits_for_any(handles.clone());
        cx.block_in(call, |process| {
            let complete = active.iter().find(|(_, r)| process.is_complete(*r).unwrap_or(true));
            found = complete.map(|(at, _)| *at);
            found.is_some()
        });
    }
    // SAFETY: the caller's promise.
    unsafe { report_one(cx, &requests, found, index, status) }
}

/// Reports the request that was found, or that there is none.
///
/// # Safety
/// `index` is writable, `status` too unless ignored.
unsafe fn report_one<F: Face>(
    cx: &mut Cx<'_>,
    requests: &Requests<F>,
    found: Option<usize>,
    index: *mut c_int,
    status: *mut F::Status,
) -> Result<()> {
    let Some(at) = found else {
        // SAFETY: the caller's promise.
        unsafe {
            *index = UNDEFINED;
            put::<F>(status, &Status::EMPTY, true);
        }
        return Ok(());
    };
    // SAFETY: the caller's promise.
    unsafe {
        *index = at as c_int;
        report_at(cx, requests, at, status)
    }
}

/// `MPI_Testany`.
///
/// # Safety
/// As for [`waitany`]; `flag` is writable.
pub unsafe fn testany<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_requests: *mut F::Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut F::Status,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let requests = unsafe { Requests::<F>::reported_in(array_of_requests, count, status) }?;
    let active = requests.active(cx)?;
    let complete = |cx: &Cx<'_>| {
        let complete = active.iter().find(|(_, r)| cx.is_complete(*r).unwrap_or(true));
        complete.map(|(at, _)| *at)
    };
    let mut found = complete(cx);
    if found.is_none() && !active.is_empty() {
        cx.poll_in_passing();
        found = complete(cx);
    }
    let done = found.is_some() || active.is_empty();
    // SAFETY: the caller's promise.
    unsafe {
        *flag = c_int::from(done);
        if !done {
            *index = UNDEFINED;
            return Ok(());
        }
        report_one(cx, &requests, found, index, status)
    }
}

/// `MPI_Waitsome`.
///
/// # Safety
/// The arrays have `incount` entries; `outcount` is writable.
pub unsafe fn waitsome<F: Face>(
    cx: &mut Cx<'_>,
    incount: i64,
    array_of_requests: *mut F::Request,
    outcount: *mut c_int,
    array_of_indices: *mut c_int,
    array_of_statuses: *mut F::Status,
) -> Result<()> {
    args::array("array_of_indices", array_of_indices.is_null(), incount > 0)?;
    // SAFETY: the caller's promise.
    let requests =
        unsafe { Requests::<F>::reported_in_all(array_of_requests, incount, array_of_statuses) }?;
    let active = requests.active(cx)?;
    if !active.is_empty() {
        let handles = active.iter().map(|(_, request)| *request);
        let call = |process: &Node| process.waits_for_any(handles.clone());
        cx.block_in(call, |process| {
            active.iter().any(|(_, request)| process.is_complete(*request).unwrap_or(true))
        });
    }
    // SAFETY: the caller's promise.
    unsafe { report_some(cx, &requests, &active, outcount, array_of_indices, array_of_statuses) }
}

/// `MPI_Testsome`.
///
/// # Safety
/// As for [`waitsome`].
pub unsafe fn testsome<F: Face>(
    cx: &mut Cx<'_>,
    incount: i64,
    array_of_requests: *mut F::Request,
    outcount: *mut c_int,
    array_of_indices: *mut c_int,
    array_of_statuses: *mut F::Status,
) -> Result<()> {
    args::array("array_of_indices", array_of_indices.is_null(), incount > 0)?;
    // SAFETY: the caller's promise.
    let requests =
        unsafe { Requests::<F>::reported_in_all(array_of_requests, incount, array_of_statuses) }?;
    let active = requests.active(cx)?;
    if !active.is_empty() {
        cx.poll_in_passing();
    }
    // SAFETY: the caller's promise.
    unsafe { report_some(cx, &requests, &active, outcount, array_of_indices, array_of_statuses) }
}

/// Reports those of the active requests that are complete, in the order of the array.
///
/// # Safety
/// The arrays have an entry for each request; `outcount` is writable.
unsafe fn report_some<F: Face>(
    cx: &mut Cx<'_>,
    requests: &Requests<F>,
    active: &[(usize, RequestHandle)],
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut F::Status,
) -> Result<()> {
    let mut statuses = Statuses::<F>::new(statuses);
    for &(at, request) in active {
        if !cx.is_complete(request)? {
            continue;
        }
        let comm = cx.requests().comm(request);
        let Report { status, idle, failure, .. } = requests.report(cx, at)?;
        // SAFETY: at most as many are reported as there are requests.
        unsafe {
            *indices.add(statuses.written) = at as c_int;
            statuses.put(&status, idle, failure, comm);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { *outcount = if active.is_empty() { UNDEFINED } else { statuses.written as c_int } };
    statuses.finish(cx)
}

/// `MPI_Startall` (§3.9): as so many calls of `MPI_Start`. Where one fails the others are made all the same, since
/// other processes wait for what they start, and the first error is told.
///
/// # Safety
/// The array has `count` entries.
pub unsafe fn startall<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_requests: *mut F::Request,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let requests = unsafe { Requests::<F>::new(array_of_requests, count) }?;
    let mut outcome = Ok(());
    for index in 0..requests.count {
        let request = requests.at(index);
        if let Err(error) = cx.start(request)
            && outcome.is_ok()
        {
            own(cx, request);
            outcome = Err(error);
        }
    }
    outcome
}
