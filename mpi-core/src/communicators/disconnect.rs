//! What `MPI_Comm_disconnect` waits for (MPI-5.0 §11.10.4): operations that go on inside the library after the program
//! has freed their requests, or has not waited for them.
//!
//! The standard has all communication matched before the call. Whoever breaks that rule with a send waits until it is
//! received; a receive that no message has matched yet may never end, and is not waited for.

use super::Communicators;
use crate::handle::{CommHandle, RequestHandle};
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Request};

impl<P: Port> Process<P> {
    /// An operation on `comm` that goes on, and that ends without a further call of the program's.
    pub(crate) fn pending_on(&self, comm: CommHandle) -> Option<RequestHandle> {
        let ends_by_itself = |request: &Request| match &request.operation {
            Operation::Send(_) | Operation::Collective => true,
            Operation::Receive(receive) => receive.posted.is_none(),
            _ => false,
        };
        // A segment is closed when the last process has left it, which may be long after.
        let closes = |handle| self.closing.iter().any(|(request, _)| *request == handle);
        let mut requests = self.vci.requests.iter();
        let pending = requests.find(|(handle, request)| {
            request.comm == comm && !request.complete && ends_by_itself(request) && !closes(*handle)
        });
        pending.map(|(handle, _)| handle)
    }
}

impl<P: Port> Communicators<'_, P> {
    /// Waits until what this process has begun on `comm` is complete inside the library.
    pub fn finish(&mut self, comm: CommHandle) {
        let call = |process: &Process<P>| process.waits_for_pending(comm);
        self.entry.block_in(call, |process| process.pending_on(comm).is_none());
    }
}
