//! Single requests (MPI-5.0 §3.7.3, §3.7.6, §3.8.4) and generalized ones (§13.2).

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_core::completion::Report;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::RequestHandle;
use mpi_core::request::Generalized;
use mpi_core::status::Status;

use crate::cx::{Cx, Owner};
use crate::failure::of_code;

/// Reports a complete request, with the functions of a generalized one: both are called, and if one of them fails
/// the operation has (§13.2).
pub(crate) fn report(cx: &mut Cx<'_>, request: RequestHandle) -> Result<Report> {
    let mut reported = cx.requests_mut().report(request)?;
    if let Some(functions) = reported.generalized.take() {
        let queried = query(cx, &functions, &mut reported.status);
        let freed = free(cx, &functions);
        if let Err(error) = queried.and(freed) {
            reported.status.error = error.class();
            reported.failure = Some(error);
        }
    }
    Ok(reported)
}

/// The status of a complete request, which stays.
pub(crate) fn status_of(cx: &mut Cx<'_>, request: RequestHandle) -> Result<Status> {
    let mut status = cx.requests().peek_status(request)?;
    if let Some(functions) = cx.requests().generalized(request) {
        query(cx, &functions, &mut status)?;
    }
    Ok(status)
}

fn query(cx: &mut Cx<'_>, functions: &Generalized, status: &mut Status) -> Result<()> {
    let call = cx.face.call_grequest_query;
    let function: *const c_void = ptr::without_provenance(functions.query);
    let state = ptr::without_provenance_mut(functions.extra_state);
    // SAFETY: the program gave this function to MPI_Grequest_start with this state.
    let code = cx.call_out(|_| unsafe { call(function, state, status) });
    check(cx, code, "the query function of a generalized request")
}

fn free(cx: &mut Cx<'_>, functions: &Generalized) -> Result<()> {
    type Free = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
    let state = ptr::without_provenance_mut(functions.extra_state);
    // SAFETY: the program gave a function of this type to MPI_Grequest_start, with this state.
    let code = cx.call_out(|_| unsafe {
        let function: Free = std::mem::transmute::<usize, Free>(functions.free);
        function(state)
    });
    check(cx, code, "the free function of a generalized request")
}

fn check(cx: &Cx<'_>, code: c_int, what: &'static str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(of_code(cx, code, what)) }
}

/// Errors from here on go to the error handler of the request's communicator.
pub(crate) fn own(cx: &mut Cx<'_>, request: RequestHandle) {
    if let Some(comm) = cx.requests().comm(request) {
        cx.owner = Owner::Comm(comm);
    }
}

/// `MPI_Request_free`.
pub fn request_free(cx: &mut Cx<'_>, request: &mut RequestHandle) -> Result<()> {
    own(cx, *request);
    let functions = cx.free_request(*request)?;
    *request = RequestHandle::NULL;
    functions.map_or(Ok(()), |functions| free(cx, &functions))
}

/// `MPI_Cancel`.
pub fn cancel(cx: &mut Cx<'_>, request: &mut RequestHandle) -> Result<()> {
    type Cancel = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;
    own(cx, *request);
    let Some((functions, complete)) = cx.cancel(*request)? else { return Ok(()) };
    let state = ptr::without_provenance_mut(functions.extra_state);
    // SAFETY: the program gave a function of this type to MPI_Grequest_start, with this state.
    let code = cx.call_out(|_| unsafe {
        let function: Cancel = std::mem::transmute::<usize, Cancel>(functions.cancel);
        function(state, c_int::from(complete))
    });
    check(cx, code, "the cancel function of a generalized request")
}

/// `MPI_Grequest_start`.
pub fn grequest_start(
    cx: &mut Cx<'_>,
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut c_void,
    request: &mut RequestHandle,
) -> Result<()> {
    for (name, function) in [("query_fn", query_fn), ("free_fn", free_fn), ("cancel_fn", cancel_fn)]
    {
        if function.is_null() {
            return Err(Error::param(ErrorClass::ARG, name, "is NULL"));
        }
    }
    *request = cx.requests_mut().start_generalized(Generalized {
        query: query_fn.addr(),
        free: free_fn.addr(),
        cancel: cancel_fn.addr(),
        extra_state: extra_state.addr(),
    })?;
    Ok(())
}

/// `MPI_Grequest_complete`.
pub fn grequest_complete(cx: &mut Cx<'_>, request: RequestHandle) -> Result<()> {
    let forgotten = cx.complete_generalized(request)?;
    forgotten.map_or(Ok(()), |functions| free(cx, &functions))
}
