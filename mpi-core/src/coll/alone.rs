//! Collectives of one process (MPI-5.0 chapter 6): what a process has for itself is copied to where it wants
//! it. There is nobody to agree with, so nothing is planned, compared or waited for.
//!
//! Enters: a prepared call, or on the short way the arguments of one. Leaves: the call is done; on the short
//! way perhaps nothing, and the ordinary way words what is wrong.

use super::board::{copy, copy_run, polls, run};
use super::calls::Typed;
use super::plan::Problem;
use super::prepared::{Data, Operands, Prepared};
use crate::buffer::UserBuffer;
use crate::comm::Comm;
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::{CommHandle, OpHandle};
use crate::port::Port;

impl Comm {
    /// Whether it is of one process.
    #[inline]
    fn is_of_one(&self) -> bool {
        self.size() == 1 && self.remote.is_none()
    }
}

impl<P: Port> Entry<'_, P> {
    #[inline]
    fn is_of_one(&self, comm: CommHandle) -> bool {
        self.comms.find(comm).is_some_and(Comm::is_of_one)
    }

    /// Whether a call is one of the collectives, and of one process.
    #[inline]
    pub(super) fn is_alone(&self, call: &Prepared) -> Result<bool> {
        Ok(call.collective.is_some() && self.comm(call.comm)?.is_of_one())
    }

    /// The whole of such a call.
    pub(super) fn run_alone(&mut self, call: &Prepared) -> Result<()> {
        match &call.data {
            Data::Moved { send, recv } => {
                if let (Some(from), Some(into)) = (send.first(), recv.first()) {
                    copy(self.packer(from)?, self.unpacker(into)?);
                }
            }
            Data::Reduced(data) => self.keep_contribution(&call.problem, data)?,
        }
        if polls(self.next_call(call.comm)? as u32) {
            self.poll();
        }
        Ok(())
    }

    /// The contribution of one process is the result.
    fn keep_contribution(&self, problem: &Problem, data: &Operands) -> Result<()> {
        let count = match problem {
            Problem::Reduce { len, .. }
            | Problem::Allreduce { len, .. }
            | Problem::Scan { len, .. } => *len,
            Problem::ReduceScatter { blocks, .. } => blocks.total(),
            // Before the first process there is none.
            _ => 0,
        };
        if !data.send.is_in_place() {
            let datatype = self.datatype(data.datatype)?;
            let from = Packer::new(data.send, count, datatype);
            copy(from, Unpacker::new(data.recv, count, datatype));
        }
        Ok(())
    }

    /// The short way of a call that has nothing to copy; whether `comm` is of one process, so that it is done.
    #[cold]
    pub(super) fn done_alone(&mut self, comm: CommHandle) -> Result<bool> {
        let Some(state) = self.comms.find(comm) else { return Ok(false) };
        if !state.is_of_one() || polls(state.collective_number) {
            return Ok(false);
        }
        self.next_call(comm).map(|_| true)
    }

    /// The same of one that copies plain data, from one run of memory to another. These are asked for only
    /// then: arguments that mean nothing to other processes may be anything.
    #[cold]
    pub(super) fn copied_alone(
        &mut self,
        comm: CommHandle,
        runs: impl FnOnce() -> Option<[(UserBuffer, usize); 2]>,
    ) -> Result<bool> {
        if !self.is_of_one(comm) {
            return Ok(false);
        }
        let Some([(from, len), (into, room)]) = runs() else { return Ok(false) };
        if len != room || from == into || !self.done_alone(comm)? {
            return Ok(false);
        }
        copy_run(from, into, len);
        Ok(true)
    }

    /// The same of one that reduces plain data, of which the result is a copy, or `send` is in place.
    #[cold]
    pub(super) fn reduced_alone(
        &mut self,
        comm: CommHandle,
        op: OpHandle,
        send: UserBuffer,
        operands: impl FnOnce() -> [Typed; 2],
    ) -> Result<bool> {
        if !self.is_of_one(comm) {
            return Ok(false);
        }
        let [own, into] = operands();
        if self.quick_kernel(op, own.datatype).is_none() {
            return Ok(false);
        }
        if send.is_in_place() {
            return Ok(run(into).is_some() && self.done_alone(comm)?);
        }
        self.copied_alone(comm, || Some([run(own)?, run(into)?]))
    }
}
