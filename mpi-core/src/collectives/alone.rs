//! Collectives of one process (MPI-5.0 chapter 6): what a process has for itself is copied to where it wants
//! it. There is nobody to agree with, so nothing is planned, compared or waited for.
//!
//! Enters: a prepared call. Leaves: it is done.

use super::node::{copy, polls};
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Operands, Prepared};
use crate::collectives::Collectives;
use crate::datatype::{Datatypes, Packer, Unpacker};
use crate::error::Result;
use crate::objects::Objects;
use crate::port::Port;

impl Objects {
    /// Whether a call is one of the collectives, and of one process.
    #[inline]
    pub(super) fn is_alone(&self, call: &Prepared) -> Result<bool> {
        let state = self.comm(call.comm)?;
        Ok(call.collective.is_some() && state.size() == 1 && state.remote.is_none())
    }
}

impl<P: Port> Collectives<'_, P> {
    /// The whole of such a call.
    pub(super) fn run_alone(&mut self, call: &Prepared) -> Result<()> {
        match &call.data {
            Data::Moved { send, recv } => {
                if let (Some(from), Some(into)) = (send.first(), recv.first()) {
                    copy(from.packer(&self.datatypes)?, into.unpacker(&self.datatypes)?);
                }
            }
            Data::Reduced(data) => keep_contribution(&self.datatypes, &call.problem, data)?,
        }
        if polls(self.next_call(call.comm)? as u32) {
            self.poll();
        }
        Ok(())
    }
}

/// The contribution of one process is the result.
fn keep_contribution(datatypes: &Datatypes, problem: &Problem, data: &Operands) -> Result<()> {
    let count = match problem {
        Problem::Reduce { len, .. }
        | Problem::Allreduce { len, .. }
        | Problem::Scan { len, .. } => *len,
        Problem::ReduceScatter { blocks, .. } => blocks.total(),
        // Before the first process there is none.
        _ => 0,
    };
    if !data.send.is_in_place() {
        let datatype = datatypes.get(data.datatype)?;
        let from = Packer::new(data.send, count, datatype);
        copy(from, Unpacker::new(data.recv, count, datatype));
    }
    Ok(())
}
