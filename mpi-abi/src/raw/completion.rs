//! Waits and tests over arrays of requests (MPI-5.0 §3.7.5), and the looks that change nothing
//! (§3.7.6). The rules of one request are the core's; here are the arrays.

use std::ffi::c_int;

use mpi_core::constants::UNDEFINED;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{CommHandle, RequestHandle};
use mpi_core::request::completion::Report;
use mpi_core::status::Status;

use crate::args;
use crate::calls::requests::{own, report, status_of};
use crate::entry::{Cx, Owner};
use crate::face::Face;
use crate::node::Node;

/// The program's array of requests.
struct Requests<F: Face> {
    first: *mut F::Request,
    count: usize,
}

impl<F: Face> Requests<F> {
    /// The `count` requests at `first`; a null pointer only where there are none.
    ///
    /// # Safety
    /// They are readable and writable (only readable if [`Requests::set_null`] is not called).
    unsafe fn new(first: *mut F::Request, count: i64) -> Result<Requests<F>> {
        if first.is_null() && count > 0 {
            mpi_core::fail!(ARG, "array_of_requests", "is NULL, but there are {count} requests");
        }
        Ok(Requests { first, count: count as usize })
    }

    /// The same for a call that writes one status.
    ///
    /// # Safety
    /// As [`Requests::new`].
    unsafe fn reported_in(
        first: *mut F::Request,
        count: i64,
        status: *const F::Status,
    ) -> Result<Requests<F>> {
        args::status_out::<F>("status", status)?;
        // SAFETY: the caller's promise.
        unsafe { Requests::new(first, count) }
    }

    /// The same for a call that writes a status for each.
    ///
    /// # Safety
    /// As [`Requests::new`].
    unsafe fn reported_in_all(
        first: *mut F::Request,
        count: i64,
        statuses: *const F::Status,
    ) -> Result<Requests<F>> {
        if count > 0 && statuses.is_null() && !F::is_status_ignore(statuses) {
            mpi_core::fail!(
                ARG,
                "array_of_statuses",
                "is NULL, but must be an array or MPI_STATUSES_IGNORE"
            );
        }
        // SAFETY: the caller's promise.
        unsafe { Requests::new(first, count) }
    }

    #[inline]
    fn at(&self, index: usize) -> RequestHandle {
        debug_assert!(index < self.count);
        // SAFETY: `new`'s caller promised `count` requests.
        F::request_in(unsafe { *self.first.add(index) })
    }

    fn set_null(&self, index: usize) {
        debug_assert!(index < self.count);
        // SAFETY: `new`'s caller promised `count` requests.
        unsafe { *self.first.add(index) = F::request_out(RequestHandle::NULL) };
    }

    /// Reports the complete request at `index`.
    fn report(&self, cx: &mut Cx<'_>, index: usize) -> Result<Report> {
        let reported = report(cx, self.at(index))?;
        if reported.released {
            self.set_null(index);
        }
        Ok(reported)
    }

    /// The requests that are neither null nor inactive, by index.
    fn active(&self, cx: &Cx<'_>) -> Result<Vec<(usize, RequestHandle)>> {
        let mut active = Vec::new();
        for index in 0..self.count {
            if !cx.is_request_idle(self.at(index))? {
                active.push((index, self.at(index)));
            }
        }
        Ok(active)
    }

    fn all_complete(&self, cx: &Cx<'_>) -> Result<bool> {
        for index in 0..self.count {
            if !cx.is_complete(self.at(index))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Writes one status of a call that reports one.
unsafe fn put<F: Face>(to: *mut F::Status, status: &Status) {
    if !F::is_status_ignore(to) {
        // SAFETY: by the caller's promise it is writable unless it is to be ignored.
        unsafe { F::status_out(to, status, false) };
    }
}

/// Writes the empty status, of which the error field is a part (§3.7.3), unless it is to be ignored.
///
/// # Safety
/// As for [`put`].
unsafe fn put_empty<F: Face>(to: *mut F::Status) {
    if !F::is_status_ignore(to) {
        // SAFETY: by the caller's promise it is writable unless it is to be ignored.
        unsafe { F::status_out(to, &Status::EMPTY, true) };
    }
}

/// The statuses of a call that reports several requests. They have error fields if one of those failed; those of a call
/// that succeeds stay as they are (§3.2.5).
struct Statuses<F: Face> {
    to: *mut F::Status,
    written: usize,
    first_failure: Option<(Error, Option<CommHandle>)>,
}

impl<F: Face> Statuses<F> {
    fn new(to: *mut F::Status) -> Statuses<F> {
        Statuses { to, written: 0, first_failure: None }
    }

    /// Writes the next one, of a request on `comm`.
    ///
    /// # Safety
    /// The array has an entry for each request, unless it is to be ignored.
    unsafe fn put(&mut self, status: &Status, failure: Option<Error>, comm: Option<CommHandle>) {
        if self.first_failure.is_none() && failure.is_some() {
            self.first_failure = failure.map(|failure| (failure, comm));
            // SAFETY: the caller's promise; these are written.
            unsafe { self.say_that_all_succeeded() };
        }
        if !F::is_status_ignore(self.to) {
            // SAFETY: the caller's promise.
            unsafe {
                F::status_out(self.to.add(self.written), status, self.first_failure.is_some());
            }
        }
        self.written += 1;
    }

    /// Gives those written so far their error fields.
    ///
    /// # Safety
    /// As for [`Statuses::put`].
    #[cold]
    unsafe fn say_that_all_succeeded(&mut self) {
        if F::is_status_ignore(self.to) {
            return;
        }
        for index in 0..self.written {
            // SAFETY: the caller's promise.
            unsafe { *F::status_fields(self.to.add(index)).error = 0 };
        }
    }

    /// The end of the call.
    fn finish(self, cx: &mut Cx<'_>) -> Result<()> {
        match self.first_failure {
            Some((failure, comm)) => Err(in_status(cx, &failure, comm)),
            None => Ok(()),
        }
    }
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
        let comm = cx.request_comm(requests.at(index));
        let Report { status, failure, .. } = requests.report(cx, index)?;
        // SAFETY: the caller's promise.
        unsafe { statuses.put(&status, failure, comm) };
    }
    statuses.finish(cx)
}

/// The error of a call that reports several requests, of which at least one failed; it goes to
/// the error handler of that one's communicator.
fn in_status(cx: &mut Cx<'_>, failure: &Error, comm: Option<CommHandle>) -> Error {
    if let Some(comm) = comm {
        cx.owner = Owner::Comm(comm);
    }
    Error::new(ErrorClass::IN_STATUS, format!("a request failed: {failure}"))
        .hint("The error fields of the statuses say which requests failed and how.")
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
    let mut complete = requests.all_complete(cx)?;
    if !complete {
        cx.poll_in_passing();
        complete = requests.all_complete(cx)?;
    }
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
            found = active.iter().find(|(_, r)| process.is_complete(*r).unwrap_or(true)).copied();
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
    found: Option<(usize, RequestHandle)>,
    index: *mut c_int,
    status: *mut F::Status,
) -> Result<()> {
    let Some((at, request)) = found else {
        // SAFETY: the caller's promise.
        unsafe {
            *index = UNDEFINED;
            put_empty::<F>(status);
        }
        return Ok(());
    };
    own(cx, request);
    let reported = requests.report(cx, at)?;
    // SAFETY: the caller's promise.
    unsafe {
        *index = at as c_int;
        put::<F>(status, &reported.status);
    }
    reported.failure.map_or(Ok(()), Err)
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
        active.iter().find(|(_, request)| cx.is_complete(*request).unwrap_or(true)).copied()
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
        let comm = cx.request_comm(request);
        let Report { status, failure, .. } = requests.report(cx, at)?;
        // SAFETY: at most as many are reported as there are requests.
        unsafe {
            *indices.add(statuses.written) = at as c_int;
            statuses.put(&status, failure, comm);
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

/// `MPI_Request_get_status_all`.
///
/// # Safety
/// As for [`testall`]; the requests are only read.
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
            let status = status_of(cx, requests.at(index))?;
            // SAFETY: the caller's promise. The call succeeds, whatever became of the requests.
            unsafe { statuses.put(&status, None, None) };
        }
    }
    Ok(())
}

/// `MPI_Request_get_status_any`.
///
/// # Safety
/// As for [`testany`]; the requests are only read.
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
            Some((_, known)) => put::<F>(status, &known),
            None if done => put_empty::<F>(status),
            None => {}
        }
    }
    Ok(())
}

/// `MPI_Request_get_status_some`.
///
/// # Safety
/// As for [`testsome`]; the requests are only read.
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
                statuses.put(&status, None, None);
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { *outcount = if active.is_empty() { UNDEFINED } else { statuses.written as c_int } };
    Ok(())
}
