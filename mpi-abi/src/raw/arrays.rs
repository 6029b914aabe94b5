//! The program's arrays of requests and of statuses, and the status of a call that reports one.

use mpi_core::completion::Report;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{CommHandle, RequestHandle};
use mpi_core::status::Status;

use crate::args;
use crate::calls::requests::report;
use crate::cx::{Cx, Owner};
use crate::face::Face;

/// The program's array of requests.
pub(super) struct Requests<F: Face> {
    first: *mut F::Request,
    pub(super) count: usize,
}

impl<F: Face> Requests<F> {
    /// The `count` requests at `first`; a null pointer only where there are none.
    ///
    /// # Safety
    /// They are readable and writable (only readable if [`Requests::set_null`] is not called).
    pub(super) unsafe fn new(first: *mut F::Request, count: i64) -> Result<Requests<F>> {
        if first.is_null() && count > 0 {
            mpi_core::fail!(ARG, "array_of_requests", "is NULL, but there are {count} requests");
        }
        Ok(Requests { first, count: count as usize })
    }

    /// The same for a call that writes one status.
    ///
    /// # Safety
    /// As [`Requests::new`].
    pub(super) unsafe fn reported_in(
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
    pub(super) unsafe fn reported_in_all(
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
    pub(super) fn at(&self, index: usize) -> RequestHandle {
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
    pub(super) fn report(&self, cx: &mut Cx<'_>, index: usize) -> Result<Report> {
        let reported = report(cx, self.at(index))?;
        if reported.released {
            self.set_null(index);
        }
        Ok(reported)
    }

    /// The requests that are neither null nor inactive, by index.
    pub(super) fn active(&self, cx: &Cx<'_>) -> Result<Vec<(usize, RequestHandle)>> {
        let mut active = Vec::new();
        for index in 0..self.count {
            if !cx.requests().is_idle(self.at(index))? {
                active.push((index, self.at(index)));
            }
        }
        Ok(active)
    }

    /// Whether all are complete, if need be after a round of progress.
    pub(super) fn all_complete_soon(&self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.all_complete(cx)? {
            return Ok(true);
        }
        cx.poll_in_passing();
        self.all_complete(cx)
    }

    pub(super) fn all_complete(&self, cx: &Cx<'_>) -> Result<bool> {
        for index in 0..self.count {
            if !cx.is_complete(self.at(index))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Writes the status of a call that reports one request. Its error field is a part of the empty status, which a null or
/// inactive request gives (§3.7.3), and of no other (§3.2.5).
///
/// # Safety
/// The status is writable unless it is to be ignored.
pub(super) unsafe fn put<F: Face>(to: *mut F::Status, status: &Status, idle: bool) {
    if !F::is_status_ignore(to) {
        // SAFETY: the caller's promise.
        unsafe { F::status_out(to, status, idle) };
    }
}

/// The statuses of a call that reports several requests. They have error fields if one of those failed; those of a call
/// that succeeds stay as they are (§3.2.5).
pub(super) struct Statuses<F: Face> {
    to: *mut F::Status,
    pub(super) written: usize,
    first_failure: Option<(Error, Option<CommHandle>)>,
}

impl<F: Face> Statuses<F> {
    pub(super) fn new(to: *mut F::Status) -> Statuses<F> {
        Statuses { to, written: 0, first_failure: None }
    }

    /// Writes the next one, of a request on `comm`; that of an idle one has an error field always, as in [`put`].
    ///
    /// # Safety
    /// The array has an entry for each request, unless it is to be ignored.
    pub(super) unsafe fn put(
        &mut self,
        status: &Status,
        idle: bool,
        failure: Option<Error>,
        comm: Option<CommHandle>,
    ) {
        if self.first_failure.is_none() && failure.is_some() {
            self.first_failure = failure.map(|failure| (failure, comm));
            // SAFETY: the caller's promise; these are written.
            unsafe { self.say_that_all_succeeded() };
        }
        if !F::is_status_ignore(self.to) {
            let with_error = idle || self.first_failure.is_some();
            // SAFETY: the caller's promise.
            unsafe { F::status_out(self.to.add(self.written), status, with_error) };
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
    pub(super) fn finish(self, cx: &mut Cx<'_>) -> Result<()> {
        match self.first_failure {
            Some((failure, comm)) => Err(in_status(cx, &failure, comm)),
            None => Ok(()),
        }
    }
}

/// The error of a call that reports several requests, of which at least one failed; it goes to
/// the error handler of that one's communicator.
fn in_status(cx: &mut Cx<'_>, failure: &Error, comm: Option<CommHandle>) -> Error {
    if let Some(comm) = comm {
        cx.owner = Owner::Comm(comm);
    }
    let error = Error::new(ErrorClass::IN_STATUS, format!("a request failed: {failure}"))
        .hint("The error fields of the statuses say which requests failed and how.");
    let error = if failure.is_secondary() { error.secondary() } else { error };
    match failure.unreached() {
        Some(rank) => error.out_of_reach(rank),
        None => error,
    }
}
