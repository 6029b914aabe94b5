//! The fast path of waits (MPI-5.0 §3.7.3, §3.7.5): requests of one plain operation whose
//! completion has nothing to tell but a status.
//!
//! Enters: requests as the program holds them. Leaves: their statuses, or nothing happened and
//! the slow path ([`super`]) takes over, which knows every kind of request, every
//! failure, and words all errors.

use crate::entry::Entry;
use crate::handle::RequestHandle;
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Request, Requests};
use crate::status::Status;

/// What a look at a request shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peek {
    /// It is null, or a send that was complete when it began: its status is empty.
    Empty,
    /// It has completed well.
    Complete,
    /// It is persistent, and its round has completed well.
    Round,
    /// Progress will complete it.
    Pending,
    /// Another kind of request, a failed one, or none.
    Other,
}

impl Requests {
    /// Whether a request is [`Peek::Empty`].
    #[inline]
    pub fn has_empty_status(&self, request: RequestHandle) -> bool {
        request == self.sent || request.is_null()
    }

    /// Looks at a request.
    #[inline]
    pub fn peek(&self, request: RequestHandle) -> Peek {
        if self.has_empty_status(request) {
            return Peek::Empty;
        }
        match self.find(request) {
            Some(Request { operation: Operation::Finished, failure: None, .. }) => Peek::Complete,
            Some(Request {
                operation: Operation::Receive(_) | Operation::Send(_) | Operation::Collective,
                owner,
                ..
            }) if *owner != Owner::Nobody => Peek::Pending,
            Some(Request { operation: Operation::Persistent(persistent), .. }) => {
                persistent.active.map_or(Peek::Other, |active| self.peek_at_round(active))
            }
            _ => Peek::Other,
        }
    }

    fn peek_at_round(&self, active: RequestHandle) -> Peek {
        match self.peek(active) {
            Peek::Empty | Peek::Complete => Peek::Round,
            other => other,
        }
    }

    /// Reports the round of a request if it is [`Peek::Round`], which is inactive then. `None` for
    /// any other.
    #[inline]
    pub fn collect_round(&mut self, request: RequestHandle) -> Option<Status> {
        let Operation::Persistent(persistent) = &self.find(request)?.operation else {
            return None;
        };
        let active = persistent.active?;
        let status = match self.has_empty_status(active) {
            true => Status::EMPTY,
            false => self.collect(active)?,
        };
        if let Operation::Persistent(persistent) = &mut self.get_mut(request).ok()?.operation {
            persistent.active = None;
        }
        Some(status)
    }

    /// Reports a request that is [`Peek::Complete`]; it is gone then. `None` for any other.
    #[inline]
    pub fn collect(&mut self, request: RequestHandle) -> Option<Status> {
        self.discard_if(request, |request| match request {
            Request { operation: Operation::Finished, failure: None, status, .. } => Some(*status),
            _ => None,
        })
    }
}

impl<P: Port> Entry<'_, P> {
    /// Waits as long as a request is [`Peek::Pending`]; what it is then.
    #[inline]
    pub fn settled(&mut self, request: RequestHandle) -> Peek {
        match self.vci.requests.peek(request) {
            Peek::Pending => self.block_while_pending(request),
            settled => settled,
        }
    }

    /// Looks at a request, and once more after one round of progress if it is [`Peek::Pending`].
    #[inline]
    pub fn peek_twice(&mut self, request: RequestHandle) -> Peek {
        match self.vci.requests.peek(request) {
            Peek::Pending => {
                self.poll_in_passing();
                self.vci.requests.peek(request)
            }
            settled => settled,
        }
    }

    #[inline(never)]
    fn block_while_pending(&mut self, request: RequestHandle) -> Peek {
        let mut shown = Peek::Pending;
        let call = |process: &Process<P>| process.waits_for_requests([request]);
        self.block_in(call, |process| {
            shown = process.vci.requests.peek(request);
            shown != Peek::Pending
        });
        shown
    }
}
