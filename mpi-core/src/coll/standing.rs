//! Persistent collectives (MPI-5.0 §6.13): planned once, started many times.
//!
//! Processes make them in the same order, but may start them in any; so each has a tag of its
//! own, beside those of the other collective calls, and its rounds keep their order because the
//! messages of one pair under one tag do.

use std::rc::Rc;

use super::prepared::{Form, Ground, Prepared};
use super::schedule::Schedule;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::{CommHandle, RequestHandle};
use crate::port::Port;
use crate::request::Recipe;

/// A collective operation that is kept to be started.
pub(crate) struct Standing {
    comm: CommHandle,
    schedule: Rc<Schedule>,
    ground: Ground,
    tag: i32,
}

impl Standing {
    /// The communicator it is on.
    pub(crate) fn comm(&self) -> CommHandle {
        self.comm
    }
}

impl<P: Port> Entry<'_, P> {
    /// Keeps a collective operation to be started: `MPI_Barrier_init` and its kin.
    pub fn keep(&mut self, call: Prepared) -> Result<RequestHandle> {
        if self.selection.checked {
            self.check_now(&call)?;
        }
        let choice = self.choose(&call, Form::Persistent)?;
        let schedule = self.schedule(&call, &choice)?;
        let (comm, ground) = (call.comm, self.ground(&call)?);
        let state = self.comm_mut(comm)?;
        // The smallest integers, where the numbers of the other calls never come.
        let tag = i32::MIN + state.standing_number as i32;
        state.standing_number = (state.standing_number + 1) & i32::MAX as u32 >> 1;
        let standing = Standing { comm, schedule, ground, tag };
        self.persistent(Recipe::Collective(Rc::new(standing)))
    }

    /// Starts a round.
    pub(crate) fn start_standing(&mut self, standing: &Standing) -> Result<RequestHandle> {
        let temps = self.executions.temps();
        let (memory, reducer) = standing.ground.clone().memory(&standing.schedule, temps);
        let schedule = standing.schedule.clone();
        self.launch(standing.comm, standing.tag, schedule, memory, reducer)
    }
}
