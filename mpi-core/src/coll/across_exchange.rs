//! `MPI_ALLTOALL` and `MPI_REDUCE_SCATTER` of a communicator with several nodes, whose ranks follow one another
//! on each: what the processes of one node have for those of another crosses the network in one message.
//!
//! The first process of each node holds its node's blocks in between. As elsewhere each stage is a
//! collective operation of its own ([`across`](super::across)).

use std::sync::Arc;

use super::across::{Stages, Step, bytes_at};
use super::board::copy;
use super::layout::Layout;
use super::menu::Collective;
use super::nodes::{NodeMap, Nodes};
use super::place::{Place, Places};
use super::plan::Problem;
use super::prepared::Operands;
use crate::buffer::UserBuffer;
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;
use crate::room::Room;

/// Blocks of an all-to-all put into another order, by the first process of a node.
pub(super) struct Turn {
    nodes: Arc<Nodes>,
    /// The own node.
    node: usize,
    /// Bytes of a block.
    block: i64,
    from: UserBuffer,
    into: UserBuffer,
    way: Way,
}

/// Which order the blocks have, and which they get.
#[derive(Clone, Copy)]
enum Way {
    /// By who sends them, then by whom they are for; to by node, then by who sends them.
    Out,
    /// By node, then by who sends them, then by whom they are for; to by whom they are for.
    In,
}

impl Turn {
    /// Copies all blocks.
    pub(super) fn run(&self) {
        let map: &NodeMap = &self.nodes.map;
        let (mine, all) = (map.range(self.node).len(), map.size());
        for other in 0..map.count() {
            let theirs = map.range(other);
            // Where that node's part begins, of blocks by node.
            let part = mine * theirs.start;
            match self.way {
                Way::Out => (0..mine).for_each(|source| {
                    let into = part + source * theirs.len();
                    self.copy(source * all + theirs.start, into, theirs.len());
                }),
                Way::In => theirs.clone().for_each(|source| {
                    let from = part + (source - theirs.start) * mine;
                    (0..mine).for_each(|target| self.copy(from + target, target * all + source, 1));
                }),
            }
        }
    }

    /// Copies `count` blocks from one place to another, both counted in blocks.
    fn copy(&self, from: usize, into: usize, count: usize) {
        let at = |blocks: usize| self.block * blocks as i64;
        let len = at(count) as u64;
        let from = Packer::contiguous(self.from.offset(at(from)), len);
        copy(from, Unpacker::contiguous(self.into.offset(at(into)), len));
    }
}

/// The sums of a reduce-scatter on their way.
pub(super) struct Shares {
    /// Of all blocks; at the first process of a node alone.
    sum: UserBuffer,
    /// The blocks of this node, there.
    of_node: Places,
    /// Where this process's own goes.
    own: Place,
}

impl<P: Port> Entry<'_, P> {
    /// Where the sums of a reduce-scatter are; `sums` is memory for them.
    pub(super) fn shares_of_nodes(
        &self,
        stages: &Stages,
        blocks: &Layout,
        data: &Operands,
        sums: &mut Room,
    ) -> Result<Shares> {
        let own = self.elements_at(data.recv, blocks.len(stages.rank), data)?;
        if !stages.leads() {
            return Ok(Shares { sum: UserBuffer::BOTTOM, of_node: Places::None, own });
        }
        let sum = UserBuffer(sums.of((blocks.total() * data.unit) as usize));
        let ranks = stages.nodes.map.range(stages.node());
        let first = blocks.start(ranks.start);
        let block = |rank: usize| {
            let at = sum.offset((blocks.start(rank) - first) * data.unit);
            self.elements_at(at, blocks.len(rank), data)
        };
        let of_node = Places::Each(ranks.map(block).collect::<Result<_>>()?);
        Ok(Shares { sum, of_node, own })
    }
}

impl Stages {
    /// `MPI_ALLTOALL`: to the first process of the node, from node to node, and to whom it is for.
    pub(super) fn exchange(
        &mut self,
        block: i64,
        [from, into]: [Place; 2],
        held: &mut [Vec<u8>; 2],
    ) {
        let (near, leads) = (self.nodes.near, self.leads());
        let (mine, all) = (self.nodes.map.range(self.node()).len(), self.nodes.map.size());
        let one = all as i64 * block;
        let total = one * mine as i64;
        let held = held.each_mut().map(|held| {
            held.resize(if leads { total as usize } else { 0 }, 0);
            UserBuffer(held.as_mut_ptr())
        });
        let blocks = |held| match leads {
            true => Places::Even(bytes_at(held, one), one, mine),
            false => Places::None,
        };
        let [collected, sorted] = held.map(blocks);
        let problem = Problem::Gather { root: 0, block: one, in_place: false };
        self.moves(near, Collective::Gather, problem, total, [Places::one(from), collected]);
        if leads {
            self.exchange_across(block, held);
        }
        let problem = Problem::Scatter { root: 0, block: one, in_place: false };
        self.moves(near, Collective::Scatter, problem, total, [sorted, Places::one(into)]);
    }

    /// What this node has for all, in the first memory, comes to be what all have for it, in the second.
    fn exchange_across(&mut self, block: i64, [first, second]: [UserBuffer; 2]) {
        let (nodes, node) = (self.nodes.clone(), self.node());
        let mine = nodes.map.range(node).len();
        let len = |other| (mine * nodes.map.range(other).len()) as i64 * block;
        let cut = Layout::of((0..nodes.map.count()).map(len));
        let parts = |held: UserBuffer| {
            let part = |other| bytes_at(held.offset(cut.start(other)), cut.len(other));
            Places::Each((0..nodes.map.count()).map(part).collect())
        };
        let turn = |way| {
            let nodes = nodes.clone();
            Step::Turn(Turn { nodes, node, block, from: first, into: second, way })
        };
        self.steps.push(turn(Way::Out));
        let [incoming, outgoing] = [parts(first), parts(second)];
        let (from, into) = (cut.clone(), cut.clone());
        let problem = Problem::Alltoallv { outgoing: from, incoming: into, in_place: false };
        self.moves(nodes.across, Collective::Alltoallv, problem, 0, [outgoing, incoming]);
        self.steps.push(turn(Way::In));
    }

    /// `MPI_REDUCE_SCATTER`: to the first process of the node, whose nodes each get their part, and
    /// deal it out.
    pub(super) fn reduce_and_deal(
        &mut self,
        blocks: &Layout,
        in_place: bool,
        bytes: i64,
        data: &Operands,
        shares: Shares,
    ) {
        let nodes = self.nodes.clone();
        let ranks = nodes.map.range(self.node());
        self.reduce_near(blocks.total(), in_place, bytes, data, shares.sum);
        if self.leads() {
            let span = |node| nodes.map.range(node).map(|rank| blocks.len(rank)).sum();
            let of_nodes = Layout::of((0..nodes.map.count()).map(span));
            let problem = Problem::ReduceScatter { blocks: of_nodes, in_place: true };
            let data = Operands { send: UserBuffer::IN_PLACE, recv: shares.sum, ..*data };
            self.reduces(nodes.across, problem, bytes, data);
        }
        let packed = |rank| blocks.len(rank) * data.unit;
        let problem = Problem::Scatterv {
            root: 0,
            own: packed(self.rank),
            blocks: self.leads().then(|| Layout::of(ranks.map(packed))),
            in_place: false,
        };
        let data = [shares.of_node, Places::one(shares.own)];
        self.moves(nodes.near, Collective::Scatterv, problem, 0, data);
    }
}
