//! `MPI_SCAN` and `MPI_EXSCAN` of a communicator with several nodes, whose ranks follow one another on each:
//! what the processes of a node reduce to crosses the network once.
//!
//! Each node has its own prefixes and its whole sum; the first processes find out what all nodes before theirs sum
//! up to, tell their node, and each process puts that in front of what it has. As elsewhere each
//! stage is a collective operation of its own ([`across`](super::across)).

use super::across::{Stages, room};
use super::place::Place;
use super::plan::Problem;
use super::prepared::Operands;
use crate::buffer::UserBuffer;
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// Where the sums of whole nodes are, meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// Of this node; at its first process alone.
    sum: UserBuffer,
    /// Of the nodes before it.
    before: Place,
    /// The process's result, which a first process takes that sum to if it wants nothing else.
    result: Place,
}

impl<P: Port> Entry<'_, P> {
    /// Memory for the sums of whole nodes.
    pub(super) fn parts_before(
        &self,
        stages: &Stages,
        len: i64,
        data: &Operands,
        sums: &mut Vec<u128>,
    ) -> Result<Parts> {
        let bytes = data.unit * len;
        let each = (bytes / 16 + 1) * 16;
        let before = room(sums, if stages.leads() { 2 * each } else { each });
        let sum = if stages.leads() { before.offset(each) } else { UserBuffer::BOTTOM };
        let [before, result] = [before, data.recv].map(|at| self.elements_at(at, len, data));
        Ok(Parts { sum, before: before?, result: result? })
    }
}

impl Stages {
    /// `MPI_SCAN`.
    pub(super) fn scan(
        &mut self,
        len: i64,
        in_place: bool,
        bytes: i64,
        data: &Operands,
        parts: Parts,
    ) {
        self.reduce_near(len, in_place, bytes, data, parts.sum);
        self.reduces(self.nodes.near, Problem::Scan { len, in_place }, bytes, *data);
        self.come_before(len, bytes, data, parts.sum, parts.before);
        if self.node() > 0 {
            self.put_in_front(len, bytes, data, parts.before);
        }
    }

    /// `MPI_EXSCAN`. What the nodes before it sum up to is all that the first process of a node wants.
    pub(super) fn scan_before(
        &mut self,
        len: i64,
        in_place: bool,
        bytes: i64,
        data: &Operands,
        parts: Parts,
    ) {
        self.reduce_near(len, in_place, bytes, data, parts.sum);
        self.reduces(self.nodes.near, Problem::Exscan { len, in_place }, bytes, *data);
        let before = if self.leads() { parts.result } else { parts.before };
        self.come_before(len, bytes, data, parts.sum, before);
        if self.node() > 0 {
            self.put_in_front(if self.leads() { 0 } else { len }, bytes, data, before);
        }
    }

    /// The sum of all nodes before this one goes to `before` at each of its processes, if there are any.
    fn come_before(
        &mut self,
        len: i64,
        bytes: i64,
        data: &Operands,
        sum: UserBuffer,
        before: Place,
    ) {
        if self.leads() {
            let data = Operands { send: sum, recv: before.address(), ..*data };
            let problem = Problem::Exscan { len, in_place: false };
            self.reduces(self.nodes.across, problem, bytes, data);
        }
        if self.node() > 0 {
            self.bcast(self.nodes.near, 0, before);
        }
    }

    fn put_in_front(&mut self, len: i64, bytes: i64, data: &Operands, before: Place) {
        let data = Operands { send: before.address(), ..*data };
        self.reduces(self.nodes.near, Problem::Combine { len }, bytes, data);
    }
}
