//! Persistent collectives (MPI-5.0 §6.13): planned once, started many times.
//!
//! Processes make them in the same order, but may start them in any. So one that suits a board gets a room of its own,
//! a communicator that the program never sees: on its board there is nothing but the rounds of this operation, which
//! all processes start in the same order. Any other one has a tag of its own, beside those of the other collective
//! calls, and its rounds keep their order because the messages of one pair under one tag do.

use std::rc::Rc;

use super::execute::Peculiar;
use super::memory::Memory;
use super::menu::Algorithm;
use super::place::Places;
use super::prepared::{Data, Form, Ground, Prepared};
use super::schedule::Schedule;
use super::tags;
use crate::coll::Collectives;
use crate::datatype::Datatypes;
use crate::error::Result;
use crate::handle::{CommHandle, DatatypeHandle, RequestHandle};
use crate::limits::ROOMS_MAX;
use crate::port::Port;
use crate::request::Recipe;

/// A collective operation that is kept to be started.
pub(crate) struct Standing {
    way: Way,
}

/// How it is run.
enum Way {
    Messages {
        schedule: Rc<Schedule>,
        ground: Ground,
        tag: i32,
    },
    /// As a call on the room's communicator, with handles of its own for datatypes that the program may free.
    Room {
        call: Prepared,
        algorithm: Algorithm,
        datatypes: Vec<DatatypeHandle>,
    },
}

impl<P: Port> Collectives<'_, P> {
    /// Keeps a collective operation to be started: `MPI_Barrier_init` and its kin.
    pub fn keep(&mut self, mut call: Prepared) -> Result<RequestHandle> {
        if self.selection.checked {
            self.check_now(&call)?;
        }
        let comm = call.comm;
        let state = self.comm_mut(comm)?;
        let number = state.standing_number;
        state.standing_number = (number + 1) % tags::STANDING_NUMBERS;
        let way = match self.room(&mut call, number)? {
            Some(algorithm) => {
                let datatypes = own_datatypes(&mut self.datatypes, &mut call)?;
                Way::Room { call, algorithm, datatypes }
            }
            None => {
                let choice = self.choose(&call, Form::Persistent)?;
                let schedule = self.schedule(&call, &call.problem, &choice)?;
                let tag = tags::STANDING + number as i32;
                Way::Messages { schedule, ground: call.ground(&self.datatypes)?, tag }
            }
        };
        self.persistent(Recipe::Collective(Rc::new(Standing { way })), comm)
    }

    /// Moves a call to a room of its own, the `number`th of its communicator, if it suits a board and
    /// all processes have memory for one; the algorithm there.
    fn room(&mut self, call: &mut Prepared, number: u32) -> Result<Option<Algorithm>> {
        let comm = call.comm;
        if !self.choose(call, Form::Room)?.algorithm.is_board() {
            return Ok(None);
        }
        let state = self.comm(comm)?;
        let (context, group) = (state.context, state.group.clone());
        let name = format!("persistent {number}");
        let room = self.adopt_within(comm, &name, context, group)?;
        let affords = self.rooms < ROOMS_MAX;
        if self.open_own_seat(room, affords)?.is_some() {
            call.comm = room;
            // Now it is known who shares processors.
            let choice = self.choose(call, Form::Nonblocking)?;
            if choice.algorithm.is_board() {
                self.rooms += 1;
                return Ok(Some(choice.algorithm));
            }
            call.comm = comm;
        }
        self.communicators().free(room)?;
        Ok(None)
    }

    /// Starts a round of an operation on `comm`.
    pub(crate) fn start_standing(
        &mut self,
        standing: &Standing,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        match &standing.way {
            Way::Room { call, algorithm, .. } => self.begin_on_board(call, *algorithm),
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
    pub(crate) fn release_standing(&mut self, standing: &Standing) -> Result<()> {
        let Way::Room { call, datatypes, .. } = &standing.way else { return Ok(()) };
        for datatype in datatypes {
            self.datatypes.give_up(*datatype)?;
        }
        self.rooms -= 1;
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
