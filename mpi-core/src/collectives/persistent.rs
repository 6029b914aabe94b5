//! Persistent collectives (MPI-5.0 §6.13): planned once, started many times.
//!
//! Processes make them in the same order, but may start them in any. So one that suits a segment gets a shadow
//! communicator, a communicator that the program never sees: on its segment there is nothing but the rounds of this
//! operation, which all processes start in the same order. Any other one has a tag of its own, beside those of the
//! other collective calls, and its rounds keep their order because the messages of one pair under one tag do.

use std::rc::Rc;

use super::execute::Peculiar;
use crate::coll::memory::Memory;
use crate::coll::menu::Algorithm;
use crate::coll::place::Places;
use crate::coll::prepared::{Data, Form, PersistentCollective, Prepared, Way};
use crate::coll::tags;
use crate::collectives::Collectives;
use crate::datatype::Datatypes;
use crate::error::Result;
use crate::handle::{CommHandle, DatatypeHandle, RequestHandle};
use crate::limits::SHADOWS_MAX;
use crate::port::Port;
use crate::request::Recipe;

impl<P: Port> Collectives<'_, P> {
    /// Keeps a collective operation to be started: `MPI_Barrier_init` and its kin.
    pub fn keep(&mut self, mut call: Prepared) -> Result<RequestHandle> {
        if self.selection.checked {
            self.check_now(&call)?;
        }
        let comm = call.comm;
        let state = self.comm_mut(comm)?;
        let number = state.persistent_number;
        state.persistent_number = (number + 1) % tags::PERSISTENT_NUMBERS;
        let way = match self.shadow(&mut call, number)? {
            Some(algorithm) => {
                let datatypes = own_datatypes(&mut self.datatypes, &mut call)?;
                Way::Shadow { call, algorithm, datatypes }
            }
            None => {
                let choice = self.choose(&call, Form::Persistent)?;
                let schedule = self.schedule(&call, &call.problem, &choice)?;
                let tag = tags::PERSISTENT + number as i32;
                Way::Messages { schedule, ground: call.ground(&self.datatypes)?, tag }
            }
        };
        self.persistent(Recipe::Collective(Rc::new(PersistentCollective { way })), comm)
    }

    /// Moves a call to a shadow communicator, the `number`th of its communicator, if it suits a segment and
    /// all processes have memory for one; the algorithm there.
    fn shadow(&mut self, call: &mut Prepared, number: u32) -> Result<Option<Algorithm>> {
        let comm = call.comm;
        if !self.choose(call, Form::Shadow)?.algorithm.is_shared_memory() {
            return Ok(None);
        }
        let state = self.comm(comm)?;
        let (context, group) = (state.context, state.group.clone());
        let name = format!("persistent {number}");
        let shadow = self.adopt_within(comm, &name, context, group)?;
        let affords = self.shadows < SHADOWS_MAX;
        if self.join_own_segment(shadow, affords)?.is_some() {
            call.comm = shadow;
            // Now it is known who shares processors.
            let choice = self.choose(call, Form::Nonblocking)?;
            if choice.algorithm.is_shared_memory() {
                self.shadows += 1;
                return Ok(Some(choice.algorithm));
            }
            call.comm = comm;
        }
        self.communicators().free(shadow)?;
        Ok(None)
    }

    /// Starts a round of an operation on `comm`.
    pub(crate) fn start_persistent_collective(
        &mut self,
        operation: &PersistentCollective,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        match &operation.way {
            Way::Shadow { call, algorithm, .. } => self.begin_on_segment(call, *algorithm),
            Way::Messages { schedule, ground, tag } => {
                let temps = self.executions.temps();
                let (memory, reducer, failure) = match ground.clone().memory(schedule, temps) {
                    Ok((memory, reducer)) => (memory, reducer, None),
                    // The others have started it, or will.
                    Err(why) => (Memory::Failed, None, Some(why)),
                };
                let peculiar = Peculiar { failure, check: None };
                self.executor().launch_with(comm, *tag, schedule.clone(), memory, reducer, peculiar)
            }
        }
    }

    /// The program has given an operation up, which is not under way.
    pub(crate) fn release_persistent_collective(
        &mut self,
        operation: &PersistentCollective,
    ) -> Result<()> {
        let Way::Shadow { call, datatypes, .. } = &operation.way else { return Ok(()) };
        for datatype in datatypes {
            self.datatypes.give_up(*datatype)?;
        }
        self.shadows -= 1;
        self.communicators().free(call.comm)
    }
}

/// Gives a call handles of its own for the datatypes that it still needs.
fn own_datatypes(datatypes: &mut Datatypes, call: &mut Prepared) -> Result<Vec<DatatypeHandle>> {
    let mut made = Vec::new();
    if let Data::Moved { send, recv } = &mut call.data {
        for place in [send, recv].into_iter().flat_map(Places::iter_mut) {
            let Some(needed) = place.needed_datatype() else { continue };
            let datatype = datatypes.get(*needed)?.clone();
            *needed = datatypes.keep(datatype)?;
            made.push(*needed);
        }
    }
    Ok(made)
}
