//! Persistent operations (MPI-5.0 §3.9): the arguments are checked once and kept.

use std::sync::Arc;

use super::Messages;
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, RequestHandle};
use crate::p2p::{Message, Mode};
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Persistent, Recipe, Request};

impl<P: Port> Messages<'_, P> {
    /// `MPI_Send_init` and its three kin.
    pub fn send_init(&mut self, message: Message, mode: Mode) -> Result<RequestHandle> {
        self.check_send(&message)?;
        self.persistent(Recipe::Send(message, mode), message.comm)
    }

    /// `MPI_Recv_init`.
    pub fn receive_init(&mut self, message: Message) -> Result<RequestHandle> {
        self.check_receive(&message)?;
        self.persistent(Recipe::Receive(message), message.comm)
    }
}

impl<P: Port> Process<P> {
    /// A request that is started by `recipe` on `comm`, which it holds. It has a handle of its own for a derived
    /// datatype, since the program may free its (§5.1.9: what was built on a freed datatype is not affected).
    pub(crate) fn persistent(
        &mut self,
        mut recipe: Recipe,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        if let Recipe::Send(message, _) | Recipe::Receive(message) = &mut recipe
            && !message.datatype.is_predefined()
        {
            let datatype = Arc::clone(self.datatypes.get(message.datatype)?);
            message.datatype = self.datatypes.keep(datatype)?;
        }
        self.hold_comm(comm)?;
        let state = Box::new(Persistent { recipe, active: None });
        let operation = Operation::Persistent(state);
        let request = Request::active(operation, Owner::Program, comm);
        self.vci.requests.insert(request)
    }
}

impl<P: Port> Entry<'_, P> {
    /// `MPI_Start`.
    pub fn start(&mut self, request: RequestHandle) -> Result<()> {
        // The communicator may have another handle by now than when the request was made.
        let Request { operation, comm, .. } = self.vci.requests.get(request)?;
        let comm = *comm;
        let recipe = match operation {
            Operation::Persistent(persistent) if persistent.active.is_none() => {
                persistent.recipe.clone()
            }
            Operation::Persistent(_) => return Err(not_startable("is active already")),
            _ => return Err(not_startable("is not a persistent request")),
        };
        let active = match recipe {
            Recipe::Send(message, mode) => {
                self.messages().isend(Message { comm, ..message }, mode)?
            }
            Recipe::Receive(message) => self.messages().ireceive(Message { comm, ..message })?,
            Recipe::Collective(operation) => {
                self.collectives().start_persistent_collective(&operation, comm)?
            }
            Recipe::Partitioned(plan) => self.partitioned().start(plan, comm)?,
        };
        if let Operation::Persistent(persistent) =
            &mut self.vci.requests.get_mut(request)?.operation
        {
            persistent.active = Some(active);
        }
        Ok(())
    }

    /// Gives up what the request kept, when its request is freed.
    pub(crate) fn release_recipe(&mut self, recipe: Recipe) -> Result<()> {
        match recipe {
            Recipe::Send(message, _) | Recipe::Receive(message) => {
                if !message.datatype.is_predefined() {
                    self.datatypes.give_up(message.datatype)?;
                }
                Ok(())
            }
            Recipe::Collective(operation) => {
                self.collectives().release_persistent_collective(&operation)
            }
            Recipe::Partitioned(plan) => {
                self.partitioned().release(&plan);
                Ok(())
            }
        }
    }
}

fn not_startable(what: &'static str) -> Error {
    Error::param(ErrorClass::REQUEST, "request", what)
}
