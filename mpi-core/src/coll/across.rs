//! Blocking collectives of a communicator with several nodes: within each node over its board, and
//! across nodes between the first processes of each, so that everything crosses the network once
//! for a node and not once for a process.
//!
//! Each is a sequence of collective operations on the two communicators of [`nodes`](super::nodes).
//! Where one of them fails, this process says so in those that follow, in which others wait.

use std::sync::Arc;

use super::across_exchange::Turn;
use super::layout::Layout;
use super::menu::Collective;
use super::nodes::Nodes;
use super::place::{Place, Places};
use super::plan::Problem;
use super::prepared::{Data, Operands, Prepared};
use crate::buffer::UserBuffer;
use crate::datatype::{self, BYTE};
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::CommHandle;
use crate::port::Port;
use crate::room::Room;

/// The operations of one process, in order.
pub(super) struct Stages {
    pub(super) nodes: Arc<Nodes>,
    pub(super) rank: usize,
    pub(super) steps: Vec<Step>,
}

/// One of them.
pub(super) enum Step {
    Call(Prepared),
    Turn(Turn),
}

impl Stages {
    /// Number of this process's node.
    pub(super) fn node(&self) -> usize {
        self.nodes.map.node_of(self.rank)
    }

    pub(super) fn leads(&self) -> bool {
        !self.nodes.across.is_null()
    }

    pub(super) fn moves(
        &mut self,
        comm: CommHandle,
        collective: Collective,
        problem: Problem,
        bytes: i64,
        [send, recv]: [Places; 2],
    ) {
        let (collective, data) = (Some(collective), Data::Moved { send, recv });
        self.steps.push(Step::Call(Prepared { comm, collective, problem, bytes, data }));
    }

    pub(super) fn bcast(&mut self, comm: CommHandle, root: usize, data: Place) {
        let len = data.bytes();
        let problem = Problem::Bcast { root, len };
        self.moves(comm, Collective::Bcast, problem, len, [Places::None, Places::one(data)]);
    }

    pub(super) fn reduces(
        &mut self,
        comm: CommHandle,
        problem: Problem,
        bytes: i64,
        data: Operands,
    ) {
        let collective = match problem {
            Problem::Reduce { .. } => Some(Collective::Reduce),
            Problem::Allreduce { .. } => Some(Collective::Allreduce),
            Problem::ReduceScatter { .. } => Some(Collective::ReduceScatter),
            Problem::Scan { .. } => Some(Collective::Scan),
            Problem::Exscan { .. } => Some(Collective::Exscan),
            _ => None,
        };
        let data = Data::Reduced(data);
        self.steps.push(Step::Call(Prepared { comm, collective, problem, bytes, data }));
    }

    /// Everybody's arrival is told to the first of the node, those of the nodes meet, and tell.
    fn meet(&mut self, signals: &mut [u8]) {
        let near = self.nodes.near;
        let (one, leads) = (bytes(&mut signals[..1]), self.leads());
        let all = Places::Even(one, 1, signals.len());
        let (in_place, bytes) = (leads, signals.len() as i64);
        let data = if leads { [Places::None, all] } else { [Places::one(one), Places::None] };
        let problem = Problem::Gather { root: 0, block: 1, in_place };
        self.moves(near, Collective::Gather, problem, bytes, data);
        if leads {
            let nothing = [Places::None, Places::None];
            self.moves(self.nodes.across, Collective::Barrier, Problem::Barrier, 0, nothing);
        }
        self.bcast(near, 0, one);
    }

    /// Where the root leads no node, its node has the message before the others.
    fn spread(&mut self, root: usize, data: Place) {
        let nodes = self.nodes.clone();
        let (home, place) = (nodes.map.node_of(root), nodes.map.place(root));
        let ahead = place > 0 && self.node() == home;
        if ahead {
            self.bcast(nodes.near, place, data);
        }
        if self.leads() {
            self.bcast(nodes.across, home, data);
        }
        if !ahead {
            self.bcast(nodes.near, 0, data);
        }
    }

    /// Reduces to the first process of the node, whose result goes to `into`.
    pub(super) fn reduce_near(
        &mut self,
        len: i64,
        in_place: bool,
        bytes: i64,
        data: &Operands,
        into: UserBuffer,
    ) {
        let mut data = *data;
        let in_place = in_place && data.recv == into;
        if data.send.is_in_place() && !in_place {
            data.send = data.recv;
        }
        let problem = Problem::Reduce { root: 0, len, in_place };
        self.reduces(self.nodes.near, problem, bytes, Operands { recv: into, ..data });
    }

    fn reduce_all(&mut self, len: i64, in_place: bool, bytes: i64, data: &Operands, result: Place) {
        let (near, leads) = (self.nodes.near, self.leads());
        let into = if leads { data.recv } else { UserBuffer::BOTTOM };
        self.reduce_near(len, in_place, bytes, data, into);
        if leads {
            let problem = Problem::Allreduce { len, in_place: true };
            let data = Operands { send: UserBuffer::IN_PLACE, ..*data };
            self.reduces(self.nodes.across, problem, bytes, data);
        }
        self.bcast(near, 0, result);
    }

    /// `sum` is where the first process of a node has its node's, and in the end the whole one:
    /// the receive buffer of a root, which gets it from there otherwise.
    fn reduce_to(
        &mut self,
        root: usize,
        (len, in_place, bytes): (i64, bool, i64),
        data: &Operands,
        [sum, result]: [Option<Place>; 2],
    ) {
        let nodes = self.nodes.clone();
        let (home, place) = (nodes.map.node_of(root), nodes.map.place(root));
        let into = sum.map_or(UserBuffer::BOTTOM, Place::address);
        self.reduce_near(len, in_place, bytes, data, into);
        if self.leads() {
            let in_place = self.node() == home;
            let problem = Problem::Reduce { root: home, len, in_place };
            let send = if in_place { UserBuffer::IN_PLACE } else { into };
            self.reduces(nodes.across, problem, bytes, Operands { send, recv: into, ..*data });
        }
        if place > 0 && self.node() == home {
            self.hand_over(place, sum, result);
        }
    }

    /// The first process of this node gives all that it has to the one at `place`.
    pub(super) fn hand_over(&mut self, place: usize, all: Option<Place>, into: Option<Place>) {
        let count = self.nodes.map.members(self.node()).count();
        let bytes = all.map_or(0, |all| all.bytes());
        let len = |other| if other == place { bytes } else { 0 };
        let blocks = all.map(|_| Layout::of((0..count).map(len)));
        let block = |all: Place, other| if other == place { all } else { all.emptied() };
        let cut = |all: Place| Places::Each((0..count).map(|other| block(all, other)).collect());
        let own = into.map_or(0, |into| into.bytes());
        let problem = Problem::Scatterv { root: 0, own, blocks, in_place: all.is_some() };
        let send = all.map_or(Places::None, cut);
        let recv = into.map_or(Places::None, Places::one);
        self.moves(self.nodes.near, Collective::Scatterv, problem, 0, [send, recv]);
    }

    /// The first process of each node collects its node's blocks, then everyone's, and tells.
    fn share(
        &mut self,
        blocks: &Layout,
        in_place: bool,
        send: &Places,
        recv: &Places,
        whole: Place,
    ) {
        let nodes = self.nodes.clone();
        let ranks = |node: usize| nodes.map.range(node);
        let mine = ranks(self.node());
        let own = if in_place {
            recv.get(self.rank).map_or(Places::None, Places::one)
        } else {
            send.clone()
        };
        let data = match (self.leads(), in_place) {
            (true, true) => [Places::None, recv.range(mine.clone())],
            (true, false) => [own, recv.range(mine.clone())],
            (false, _) => [own, Places::None],
        };
        let problem = Problem::Gatherv {
            root: 0,
            own: blocks.len(self.rank),
            blocks: self.leads().then(|| Layout::of(mine.map(|rank| blocks.len(rank)))),
            in_place: in_place && self.leads(),
        };
        self.moves(nodes.near, Collective::Gatherv, problem, 0, data);
        if self.leads() {
            let span = |node| ranks(node).map(|rank| blocks.len(rank)).sum();
            let of_nodes = Layout::of((0..nodes.map.count()).map(span));
            let problem = Problem::Allgather { blocks: of_nodes, in_place: true };
            let data = [Places::None, recv.clone()];
            self.moves(nodes.across, Collective::Allgatherv, problem, blocks.total(), data);
        }
        self.bcast(nodes.near, 0, whole);
    }
}

/// The memory of what a process holds for others on the way.
#[derive(Default)]
struct Held {
    /// Packed blocks, in two orders.
    blocks: [Vec<u8>; 2],
    sums: Room,
}

/// A run of the library's own memory.
pub(super) fn bytes(memory: &mut [u8]) -> Place {
    bytes_at(UserBuffer(memory.as_mut_ptr()), memory.len() as i64)
}

/// So many bytes there.
pub(super) fn bytes_at(at: UserBuffer, len: i64) -> Place {
    let datatype = datatype::predefined(BYTE.raw()).expect("MPI_BYTE is predefined");
    Place::new(at, len, BYTE, datatype)
}

impl<P: Port> Entry<'_, P> {
    /// Runs a collective operation node by node, as the rules of the table have chosen.
    #[cold]
    pub(super) fn run_by_nodes(&mut self, call: &Prepared) -> Result<()> {
        self.next_call(call.comm)?;
        let state = self.comm(call.comm)?;
        let (rank, nodes) = (state.rank as usize, state.nodes.clone());
        let Some(nodes) = nodes else { crate::fail!(INTERN, "a communicator lost its nodes") };
        let mut held = Held::default();
        let mut stages = Stages { nodes, rank, steps: Vec::new() };
        match &call.data {
            Data::Moved { send, recv } => {
                self.stage_moves(&mut stages, call, [send, recv], &mut held)?;
            }
            Data::Reduced(data) => self.stage_sums(&mut stages, call, data, &mut held)?,
        }
        self.run_stages(stages.steps)
    }

    /// The operations of a call that moves data.
    fn stage_moves(
        &self,
        stages: &mut Stages,
        call: &Prepared,
        [send, recv]: [&Places; 2],
        held: &mut Held,
    ) -> Result<()> {
        let blocks = &mut held.blocks;
        match call.problem {
            Problem::Barrier => {
                blocks[0].resize(stages.nodes.map.members(stages.node()).count(), 0);
                stages.meet(&mut blocks[0]);
            }
            Problem::Bcast { root, .. } => {
                if let Some(data) = recv.first() {
                    stages.spread(root, data);
                }
            }
            Problem::Gather { root, in_place, .. } => {
                let dealt = self.dealt(stages, root, recv, call.bytes, &mut blocks[0])?;
                stages.collect(&dealt, in_place, send, recv);
            }
            Problem::Scatter { root, in_place, .. } => {
                let dealt = self.dealt(stages, root, send, call.bytes, &mut blocks[0])?;
                stages.deal(&dealt, in_place, send, recv);
            }
            Problem::Allgather { ref blocks, in_place } => {
                let whole = self.whole(recv)?;
                stages.share(blocks, in_place, send, recv, whole);
            }
            Problem::Alltoall { block, in_place } => {
                let into = self.whole(recv)?;
                let from = if in_place { into } else { self.whole(send)? };
                stages.exchange(block, [from, into], blocks);
            }
            _ => unreachable!("the table serves no other call that moves node by node"),
        }
        Ok(())
    }

    /// The operations of a call that reduces.
    fn stage_sums(
        &self,
        stages: &mut Stages,
        call: &Prepared,
        data: &Operands,
        held: &mut Held,
    ) -> Result<()> {
        match call.problem {
            Problem::Scan { len, in_place } | Problem::Exscan { len, in_place } => {
                let exclusive = matches!(call.problem, Problem::Exscan { .. });
                let parts = self.parts_before(stages, len, data, &mut held.sums)?;
                stages.scan(exclusive, (len, in_place, call.bytes), data, parts);
            }
            Problem::ReduceScatter { ref blocks, in_place } => {
                let shares = self.shares_of_nodes(stages, blocks, data, &mut held.sums)?;
                stages.reduce_and_deal(blocks, in_place, call.bytes, data, shares);
            }
            Problem::Allreduce { len, in_place } => {
                let result = self.elements_at(data.recv, len, data)?;
                stages.reduce_all(len, in_place, call.bytes, data, result);
            }
            Problem::Reduce { root, len, in_place } => {
                let result = match stages.rank == root {
                    true => Some(self.elements_at(data.recv, len, data)?),
                    false => None,
                };
                let sum = if stages.leads() && result.is_none() {
                    let sums = UserBuffer(held.sums.of(call.bytes as usize));
                    Some(self.elements_at(sums, len, data)?)
                } else {
                    result.filter(|_| stages.leads())
                };
                let how = (len, in_place, call.bytes);
                stages.reduce_to(root, how, data, [sum, result]);
            }
            _ => unreachable!("the table serves no other call that reduces node by node"),
        }
        Ok(())
    }

    fn run_stages(&mut self, steps: Vec<Step>) -> Result<()> {
        let mut outcome = Ok(());
        for step in steps {
            outcome = match (outcome, step) {
                (Ok(()), Step::Call(call)) => self.run(call),
                (Err(error), Step::Call(call)) => {
                    // What comes of it is what the others are told, and that is known.
                    let _ = self.fail_call(&call, &error);
                    Err(error)
                }
                (outcome, Step::Turn(turn)) => {
                    turn.run();
                    outcome
                }
            };
        }
        outcome
    }

    /// Blocks that are alike as one.
    pub(super) fn whole(&self, blocks: &Places) -> Result<Place> {
        match *blocks {
            Places::Even(first, _, count) => first.times(count, self),
            _ => crate::fail!(INTERN, "the blocks of a collective are not alike"),
        }
    }

    pub(super) fn elements_at(&self, at: UserBuffer, len: i64, data: &Operands) -> Result<Place> {
        Ok(Place::new(at, len, data.datatype, self.datatype(data.datatype)?))
    }
}

impl Operands {
    /// Whether such operands may be reduced node by node, where the ranks of a node follow one
    /// another or not.
    pub(super) fn suit_nodes(&self, in_order: bool) -> bool {
        self.dense && (self.commutative || in_order)
    }
}
