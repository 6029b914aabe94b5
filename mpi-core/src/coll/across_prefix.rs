//! `MPI_SCAN` and `MPI_EXSCAN` of a communicator with several nodes, whose ranks follow one another on each:
//! what the processes of a node reduce to crosses the network once.
//!
//! Each node has its own prefixes and its whole sum; the first processes find out what all nodes before theirs sum
//! up to, tell their node, and each process puts that in front of what it has. As elsewhere each
//! stage is a collective operation of its own ([`across`](super::across)).

use super::across::Stages;
use super::place::Place;
use super::plan::Problem;
use super::prepared::Operands;
use crate::buffer::UserBuffer;
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;
use crate::room::Room;

/// Where the sums of whole nodes are, meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// Of this node; at its first process alone.
    sum: UserBuffer,
    /// Of the nodes before it.
    before: Place,
    /// The process's result.
    result: Place,
}

impl<P: Port> Entry<'_, P> {
    /// Memory for the sums of whole nodes.
    pub(super) fn parts_before(
        &self,
        stages: &Stages,
        len: i64,
        data: &Operands,
        sums: &mut Room,
    ) -> Result<Parts> {
        let bytes = data.unit * len;
        let each = (bytes / 16 + 1) * 16;
        let room = if stages.leads() { 2 * each } else { each };
        let before = UserBuffer(sums.of(room as usize));
        let sum = if stages.leads() { before.offset(each) } else { UserBuffer::BOTTOM };
        let [before, result] = [before, data.recv].map(|at| self.elements_at(at, len, data));
        Ok(Parts { sum, before: before?, result: result? })
    }
}

impl Stages {
    /// `MPI_SCAN`, or if it is exclusive `MPI_EXSCAN`.
    pub(super) fn scan(
        &mut self,
        exclusive: bool,
        (len, in_place, bytes): (i64, bool, i64),
        data: &Operands,
        parts: Parts,
    ) {
        let nodes = self.nodes.clone();
        self.reduce_near(len, in_place, bytes, data, parts.sum);
        let problem = match exclusive {
            false => Problem::Scan { len, in_place },
            true => Problem::Exscan { len, in_place },
        };
        self.reduces(nodes.near, problem, bytes, *data);
        // What all nodes before it sum up to is the whole result of an exclusive one at a first process.
        let whole = exclusive && self.leads();
        let before = if whole { parts.result } else { parts.before };
        if self.leads() {
            let data = Operands { send: parts.sum, recv: before.address(), ..*data };
            self.reduces(nodes.across, Problem::Exscan { len, in_place: false }, bytes, data);
        }
        if self.node() > 0 {
            self.bcast(nodes.near, 0, before);
            let data = Operands { send: before.address(), ..*data };
            let len = if whole { 0 } else { len };
            self.reduces(nodes.near, Problem::Combine { len }, bytes, data);
        }
    }
}
