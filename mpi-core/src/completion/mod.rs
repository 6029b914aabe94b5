//! Waiting for requests and testing them (MPI-5.0 §3.7.3, §3.7.5, §3.9).
//!
//! One request is *reported* when the program learns of its completion: its status is handed out
//! and the handle becomes null, or the persistent request inactive. The any, some and all forms
//! are loops over that; the arrays themselves belong to the face.

pub mod fast;

use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, RequestHandle};
use crate::port::Port;
use crate::process::Process;
use crate::request::{Generalized, Operation, Owner, Request, Requests};
use crate::status::Status;

/// What the program learns of a completed request.
pub struct Report {
    /// The status; its error field is the failure's class.
    pub status: Status,
    /// Why the operation failed.
    pub failure: Option<Error>,
    /// Whether the handle is to become null; a persistent one stays.
    pub released: bool,
    /// Whether it was null or inactive: the program gets the whole empty status, error field and all (§3.7.3).
    pub idle: bool,
    /// The functions of a generalized request, which the caller has yet to call: query for the
    /// status and, as the request is gone, free.
    pub generalized: Option<Generalized>,
}

impl Report {
    /// For null and inactive requests (§3.7.3).
    fn empty() -> Report {
        Report {
            status: Status::EMPTY,
            failure: None,
            released: false,
            idle: true,
            generalized: None,
        }
    }
}

/// The error of a call that is given a handle which the program has kept.
#[cold]
fn freed() -> Error {
    Error::param(ErrorClass::REQUEST, "request", "has been freed while its operation goes on")
        .hint("Nobody is told when that ends: free only requests that are not waited for.")
}

impl Requests {
    /// Whether a request is null or inactive: waits return at once, any-forms pass over it.
    ///
    /// # Errors
    /// As for [`Process::is_complete`].
    pub fn is_idle(&self, request: RequestHandle) -> Result<bool> {
        Ok(request.is_null() || self.kept(request)?.is_inactive())
    }

    /// A request that the program has not freed.
    #[inline]
    fn kept(&self, request: RequestHandle) -> Result<&Request> {
        match self.get(request)? {
            state if state.owner != Owner::Nobody => Ok(state),
            _ => Err(freed()),
        }
    }

    /// The status of a complete request, which stays as it is (`MPI_Request_get_status`).
    pub fn peek_status(&self, request: RequestHandle) -> Result<Status> {
        if request.is_null() {
            return Ok(Status::EMPTY);
        }
        let state = self.get(request)?;
        match &state.operation {
            Operation::Persistent(persistent) => match persistent.active {
                None => Ok(Status::EMPTY),
                Some(active) => self.peek_status(active),
            },
            Operation::Both { receive, .. } => self.peek_status(*receive),
            _ => Ok(state.status),
        }
    }

    /// Reports a complete request and releases it, or makes a persistent one inactive.
    #[inline]
    pub fn report(&mut self, request: RequestHandle) -> Result<Report> {
        if request.is_null() {
            return Ok(Report::empty());
        }
        if request == self.sent {
            return Ok(Report { released: true, idle: false, ..Report::empty() });
        }
        if let Operation::Persistent(persistent) = &mut self.get_mut(request)?.operation {
            return match persistent.active.take() {
                None => Ok(Report::empty()),
                Some(active) => Ok(Report { released: false, ..self.report(active)? }),
            };
        }
        let done = self.remove(request)?;
        if let Operation::Both { send, receive } = done.operation {
            let sent = self.report(send)?;
            let received = self.report(receive)?;
            let failure = received.failure.or(sent.failure);
            let error = failure.as_ref().map_or(received.status.error, Error::class);
            return Ok(Report { failure, status: Status { error, ..received.status }, ..received });
        }
        let generalized = done.operation.generalized();
        let (status, failure) = (done.status, done.failure);
        Ok(Report { status, failure, released: true, idle: false, generalized })
    }

    /// `MPI_Grequest_start` (§13.2).
    pub fn start_generalized(&mut self, functions: Generalized) -> Result<RequestHandle> {
        let comm = CommHandle::from_raw(crate::comm::SELF);
        let operation = Operation::Generalized(functions);
        self.insert(Request::active(operation, Owner::Program, comm))
    }

    /// The functions of a generalized request.
    pub fn generalized(&self, request: RequestHandle) -> Option<Generalized> {
        self.get(request).ok()?.operation.generalized()
    }

    /// What goes on under a request that must not be freed before its end.
    fn goes_on(&self, request: RequestHandle) -> Result<Option<&'static str>> {
        if request == self.sent {
            return Ok(None);
        }
        let state = self.get(request)?;
        match &state.operation {
            _ if state.complete => Ok(None),
            Operation::Collective => Ok(Some("a collective operation")),
            Operation::Partitioned(_) => Ok(Some("a partitioned operation")),
            Operation::Persistent(persistent) => {
                persistent.active.map_or(Ok(None), |active| self.goes_on(active))
            }
            _ => Ok(None),
        }
    }

    /// The communicator whose error handler a request's failure goes to.
    pub fn comm(&self, request: RequestHandle) -> Option<CommHandle> {
        self.get(request).ok().map(|state| state.comm)
    }
}

impl<P: Port> Process<P> {
    /// Whether a wait for the request would return at once.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if the program has freed it and kept its handle: nobody is told of its end then (§3.7.3).
    #[inline]
    pub fn is_complete(&self, request: RequestHandle) -> Result<bool> {
        if request.is_null() {
            return Ok(true);
        }
        let state = self.vci.requests.kept(request)?;
        match &state.operation {
            Operation::Persistent(persistent) => match persistent.active {
                None => Ok(true),
                Some(active) => self.is_complete(active),
            },
            Operation::Both { send, receive } => {
                Ok(self.is_complete(*send)? && self.is_complete(*receive)?)
            }
            Operation::Flush { buffer, before } => Ok(!self.holds_before(*buffer, *before)),
            _ => Ok(state.complete),
        }
    }

    /// `MPI_Cancel`: takes back a receive that has not matched, or asks for the like of a send
    /// (§3.8.4; see [`cancel`](crate::messages)).
    /// Returns the functions of a generalized request and whether it is complete: cancel is to
    /// be called.
    pub fn cancel(&mut self, request: RequestHandle) -> Result<Option<(Generalized, bool)>> {
        let state = self.vci.requests.get_mut(request)?;
        match &mut state.operation {
            Operation::Persistent(persistent) => match persistent.active {
                Some(active) => self.cancel(active),
                None => Err(Error::param(ErrorClass::REQUEST, "request", "is not active")),
            },
            Operation::Receive(receive) => {
                if let Some(posted) = receive.posted.take()
                    && self.vci.matcher.cancel(posted).is_some()
                {
                    state.status = Status { cancelled: true, ..Status::EMPTY };
                    self.vci.complete(request, None);
                }
                Ok(None)
            }
            Operation::Collective => Err(Error::param(
                ErrorClass::REQUEST,
                "request",
                "is that of a collective operation, which cannot be cancelled",
            )),
            Operation::Partitioned(round) => Err(Error::param(
                ErrorClass::REQUEST,
                "request",
                format!("is that of {}, which cannot be cancelled", round.plan),
            )),
            Operation::Generalized(functions) => Ok(Some((*functions, state.complete))),
            Operation::Both { receive, .. } => {
                let receive = *receive;
                self.cancel(receive)
            }
            Operation::Send(_) => self.cancel_send(request).map(|()| None),
            Operation::Unmatched => {
                state.status = Status { cancelled: true, ..Status::EMPTY };
                (state.failure, state.operation) = (None, Operation::Finished);
                Ok(None)
            }
            Operation::Finished | Operation::Flush { .. } => Ok(None),
        }
    }

    /// `MPI_Grequest_complete`; returns the functions if the program freed the request before:
    /// free is to be called.
    pub fn complete_generalized(&mut self, request: RequestHandle) -> Result<Option<Generalized>> {
        let state = self.vci.requests.get_mut(request)?;
        let Some(functions) = state.operation.generalized() else {
            return Err(Error::param(
                ErrorClass::REQUEST,
                "request",
                "is not a generalized request",
            ));
        };
        let forgotten = state.owner == Owner::Nobody;
        self.vci.complete(request, None);
        Ok(forgotten.then_some(functions))
    }
}

impl<P: Port> Entry<'_, P> {
    /// `MPI_Request_free`: the operation goes on and the request goes away with it.
    /// Returns the functions of a generalized request that is gone: free is to be called.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` for a collective or partitioned operation that goes on (§6.12, §6.13, §4.2): that of one which
    /// has ended is let go, although the standard forbids this as well, since nothing depends on it any more.
    pub fn free_request(&mut self, request: RequestHandle) -> Result<Option<Generalized>> {
        if let Some(operation) = self.vci.requests.goes_on(request)? {
            let what = format!("is that of {operation} that goes on, which cannot be freed");
            return Err(Error::param(ErrorClass::REQUEST, "request", what)
                .hint("Complete it first, as by MPI_Wait."));
        }
        self.let_go(request)
    }

    /// The same whatever the operation: for requests that the program has not.
    pub fn let_go(&mut self, request: RequestHandle) -> Result<Option<Generalized>> {
        if request == self.vci.requests.sent {
            return Ok(None);
        }
        let state = self.vci.requests.get_mut(request)?;
        if let Operation::Persistent(persistent) = &state.operation {
            let (active, recipe, comm) = (persistent.active, persistent.recipe.clone(), state.comm);
            self.vci.requests.remove(request)?;
            self.release_recipe(recipe)?;
            self.release_comm(comm)?;
            return active.map_or(Ok(None), |active| self.let_go(active));
        }
        match state.operation {
            Operation::Both { send, receive } => {
                self.vci.requests.remove(request)?;
                self.let_go(send)?;
                self.let_go(receive)
            }
            Operation::Flush { .. } => self.vci.requests.remove(request).map(|_| None),
            _ if state.complete => Ok(self.vci.requests.remove(request)?.operation.generalized()),
            _ => {
                state.owner = Owner::Nobody;
                Ok(None)
            }
        }
    }

    /// Waits for one request, reports it and returns its status.
    ///
    /// # Errors
    /// The operation's own failure.
    #[inline]
    pub fn wait_one(&mut self, request: RequestHandle) -> Result<Status> {
        let report = self.wait(request)?;
        match report.failure {
            None => Ok(report.status),
            Some(failure) => Err(failure),
        }
    }

    /// Waits until a request is complete; does not report it.
    #[inline]
    pub fn block_on(&mut self, request: RequestHandle) {
        let call = |process: &Process<P>| process.waits_for_requests([request]);
        self.block_in(call, |process| process.is_complete(request).unwrap_or(true));
    }

    /// Waits for one request and reports it (`MPI_Wait`).
    #[inline]
    pub fn wait(&mut self, request: RequestHandle) -> Result<Report> {
        self.is_complete(request)?;
        self.block_on(request);
        self.vci.requests.report(request)
    }

    /// Reports the request if it is complete after at most one round of progress (`MPI_Test`).
    pub fn test(&mut self, request: RequestHandle) -> Result<Option<Report>> {
        if !self.is_complete(request)? {
            self.poll_in_passing();
            if !self.is_complete(request)? {
                return Ok(None);
            }
        }
        self.vci.requests.report(request).map(Some)
    }

    /// Waits until all of the requests are complete; reports none.
    pub fn await_all(&mut self, requests: &[RequestHandle]) -> Result<()> {
        for &request in requests {
            self.is_complete(request)?;
        }
        for &request in requests {
            self.block_on(request);
        }
        Ok(())
    }
}
