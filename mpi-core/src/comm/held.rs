//! Communicators that persistent requests hold.
//!
//! `MPI_Comm_free` ends a communicator only when there is no other reference to it (MPI-5.0 §7.4.3), and a request
//! that can be started again is one: MPICH goes on starting such requests of all kinds, Open MPI those that send or
//! receive. So a communicator that has some when the program frees it gets another handle, which the program never
//! sees, and goes with the last of them. Its board and its nodes go at once, since all processes give them up
//! together: what is started later has its schedule, or a room of its own.

use super::Comm;
use crate::error::Result;
use crate::handle::{CommHandle, RequestHandle};
use crate::port::Port;
use crate::process::Process;
use crate::request::Operation;

/// Who holds a communicator.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Held {
    /// Persistent requests on it.
    requests: u32,
    /// The program has freed it.
    freed: bool,
}

impl<P: Port> Process<P> {
    /// A persistent request is made on `comm`.
    pub(crate) fn hold_comm(&mut self, comm: CommHandle) -> Result<()> {
        self.comm_mut(comm)?.held.requests += 1;
        Ok(())
    }

    /// A persistent request on `comm` is gone.
    pub(crate) fn release_comm(&mut self, comm: CommHandle) -> Result<()> {
        let held = &mut self.comm_mut(comm)?.held;
        held.requests -= 1;
        match held {
            Held { requests: 0, freed: true } => {
                let state = self.comms.remove(comm)?;
                self.give_up_comm(state)
            }
            _ => Ok(()),
        }
    }

    /// The program's handle of a communicator goes, and the communicator with it if nothing holds it.
    pub(super) fn drop_comm(&mut self, comm: CommHandle) -> Result<()> {
        let mut state = self.comms.remove(comm)?;
        if state.held.requests == 0 {
            return self.give_up_comm(state);
        }
        state.held.freed = true;
        let hidden = self.comms.insert(state)?;
        let on_it = |operation: &Operation| matches!(operation, Operation::Persistent(_));
        let requests = self.vci.requests.iter();
        let holders: Vec<RequestHandle> = requests
            .filter(|(_, request)| request.comm == comm && on_it(&request.operation))
            .map(|(handle, _)| handle)
            .collect();
        for request in holders {
            self.vci.requests.get_mut(request)?.comm = hidden;
        }
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
