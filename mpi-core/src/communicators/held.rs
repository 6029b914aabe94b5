//! Communicators that the program has freed, but operations still need.
//!
//! `MPI_Comm_free` ends a communicator only when there is no other reference to it (MPI-5.0 §7.4.3). A request that can
//! be started again is one: MPICH goes on starting such requests of all kinds, Open MPI those that send or receive. So
//! is an operation under way, and a message that was probed for: if they fail, the communicator's error handler hears
//! of it (§9.3), and a buffered send gives back its place in the communicator's buffer. So a communicator that has some
//! when the program frees it gets another handle, which the program never sees. Its segment and its nodes go at once,
//! since all processes give them up together: what is started later has its schedule, or a room of its own.

use std::collections::HashSet;

use crate::attached_buffer::BufferId;
use crate::comm::Comm;
use crate::error::Result;
use crate::handle::{CommHandle, MessageHandle, RequestHandle};
use crate::objects::Objects;
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Request};

impl Objects {
    /// A persistent request is made on `comm`.
    pub(crate) fn hold_comm(&mut self, comm: CommHandle) -> Result<()> {
        self.comm_mut(comm)?.held.requests += 1;
        Ok(())
    }

    /// Gives up what a communicator had.
    fn give_up_comm(&mut self, state: Comm) -> Result<()> {
        let Comm { errhandler, info, .. } = state;
        if !info.is_null() {
            self.always.infos.lock().remove(info)?;
        }
        self.always.errhandlers.lock().release(errhandler)
    }
}

impl<P: Port> Process<P> {
    /// A persistent request on `comm` is gone.
    pub(crate) fn release_comm(&mut self, comm: CommHandle) -> Result<()> {
        let held = &mut self.comm_mut(comm)?.held;
        held.requests -= 1;
        if held.freed { self.forget_comms() } else { Ok(()) }
    }

    /// The program's handle of a communicator goes, and the communicator with it if nothing holds it.
    pub(super) fn drop_comm(&mut self, comm: CommHandle) -> Result<()> {
        self.forget_comms()?;
        if !self.is_held(comm)? {
            let state = self.comms.remove(comm)?;
            return self.give_up_comm(state);
        }
        let mut state = self.comms.remove(comm)?;
        state.held.freed = true;
        let hidden = self.comms.insert(state)?;
        self.freed_comms.push(hidden);
        self.rename_comm(comm, hidden)
    }

    /// Gives up communicators that were freed and that nothing holds any more. Nobody is told when the last operation
    /// on one ends, so some stay until the next time that one is freed.
    fn forget_comms(&mut self) -> Result<()> {
        if self.freed_comms.is_empty() {
            return Ok(());
        }
        // Of all at once: a program may free thousands on which something is under way.
        let on_requests = self.heard_requests().map(|(_, request)| request.comm);
        let on_messages = self.matched.iter().map(|(_, message)| message.comm);
        let used: HashSet<CommHandle> = on_requests.chain(on_messages).collect();
        let mut at = 0;
        while let Some(&comm) = self.freed_comms.get(at) {
            if used.contains(&comm) || self.comm(comm)?.held.requests > 0 {
                at += 1;
                continue;
            }
            self.freed_comms.swap_remove(at);
            let state = self.comms.remove(comm)?;
            self.give_up_comm(state)?;
        }
        Ok(())
    }

    fn is_held(&self, comm: CommHandle) -> Result<bool> {
        let is_persistent = self.comm(comm)?.held.requests > 0;
        Ok(is_persistent
            || self.requests_on(comm).next().is_some()
            || self.messages_on(comm).next().is_some())
    }

    /// The requests of which the program hears, or its buffer.
    fn heard_requests(&self) -> impl Iterator<Item = (RequestHandle, &Request)> {
        let heard = |owner: Owner| matches!(owner, Owner::Program | Owner::Buffer { .. });
        let closing = |handle| self.closing.iter().any(|(request, _)| *request == handle);
        let heard = self.vci.requests.iter().filter(move |(_, request)| heard(request.owner));
        heard.filter(move |(handle, _)| !closing(*handle))
    }

    /// Those on a communicator.
    fn requests_on(&self, comm: CommHandle) -> impl Iterator<Item = RequestHandle> {
        let on_it = self.heard_requests().filter(move |(_, request)| request.comm == comm);
        on_it.map(|(handle, _)| handle)
    }

    /// The messages that came on a communicator and were probed for.
    fn messages_on(&self, comm: CommHandle) -> impl Iterator<Item = MessageHandle> {
        self.matched
            .iter()
            .filter(move |(_, message)| message.comm == comm)
            .map(|(handle, _)| handle)
    }

    /// Lets all that is on a communicator name it by its new handle.
    fn rename_comm(&mut self, before: CommHandle, now: CommHandle) -> Result<()> {
        for request in Vec::from_iter(self.requests_on(before)) {
            let state = self.vci.requests.get_mut(request)?;
            state.comm = now;
            let buffer = match (&mut state.owner, &mut state.operation) {
                (Owner::Buffer { buffer, .. }, _) | (_, Operation::Flush { buffer, .. }) => buffer,
                _ => continue,
            };
            if *buffer == BufferId::Comm(before) {
                *buffer = BufferId::Comm(now);
            }
        }
        for message in Vec::from_iter(self.messages_on(before)) {
            self.matched.get_mut(message)?.comm = now;
        }
        Ok(())
    }
}
