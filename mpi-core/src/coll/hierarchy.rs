//! Schedules of a communicator with several nodes: within each node, and between one process of
//! each, so that what a node has crosses the network once. By these go the calls that only begin or are
//! kept, which cannot wait from one stage to the next as [`across`](super::across) does.
//!
//! Who speaks for a node is its first process, on the root's node the root. As everywhere the data
//! alone say what may run at the same time: a long broadcast flows through both stages in segments.

use super::algorithms::{allgather, allreduce, barrier, bcast, gather, reduce, scatter};
use super::builder::Builder;
use super::layout::Layout;
use super::nodes::NodeMap;
use super::plan::Problem;
use super::schedule::{Buffer, Region, Schedule};
use crate::error::Result;
use crate::fail;

/// Long messages are passed on in segments of so many bytes.
const SEGMENT: i64 = 128 << 10;
/// A broadcast to more nodes than these, longer than a segment, is cut up rather than sent whole along a tree.
const FEW_NODES: usize = 4;
/// What the nodes have, up to so many bytes on an average, is collected and dealt out along a tree.
const SHORT: i64 = 8 << 10;

/// Longer blocks are gathered one by one: they would move once more. Two nodes of four ranks faked over loopback
/// TCP, blocks of 1, 8 and 32 KiB: one by one 24, 70 and 152 µs, so 16, 78 and 201.
const GATHERED: i64 = 4 << 10;

/// Longer vectors are added up, and more than [`SHARED`] is told to all, by everyone's part in it rather than through
/// who speaks: he would send and receive all of it. Two nodes of two ranks over loopback TCP, nonblocking
/// allreduce of 512 KiB: 200 µs rather than 312; all-gather of 1 MiB in all: 218 rather than 277.
const ADDED: i64 = 256 << 10;
/// Bytes of all blocks together.
const SHARED: i64 = 512 << 10;

impl Problem {
    /// Whether there are schedules node by node for it, and if so whether they need the ranks of each node to
    /// follow one another.
    pub(super) fn hierarchy(&self) -> Option<bool> {
        match self {
            Problem::Barrier
            | Problem::Bcast { .. }
            | Problem::Reduce { .. }
            | Problem::Allreduce { .. } => Some(false),
            Problem::Gather { .. } | Problem::Scatter { .. } | Problem::Allgather { .. } => {
                Some(true)
            }
            _ => None,
        }
    }

    /// Whether so many bytes of it are too long for such a schedule.
    pub(super) fn is_better_flat(&self, bytes: i64) -> bool {
        match self {
            Problem::Gather { block, .. } => *block > GATHERED,
            Problem::Allreduce { .. } => bytes > ADDED,
            Problem::Allgather { .. } => bytes > SHARED,
            _ => false,
        }
    }
}

/// The processes as one of them sees them.
struct Teams<'a> {
    map: &'a NodeMap,
    rank: usize,
    /// The number of this process's node.
    node: usize,
    /// The ranks of this node.
    near: Vec<usize>,
    /// Who speaks for each node.
    speakers: Vec<usize>,
    /// Of trees within a node.
    ports: usize,
}

/// The schedule of `rank` for a call on a communicator with these nodes, within which trees have so many
/// ports: with many of them a short message is for each process one step away from who speaks for it, which
/// counts where processes share processors.
///
/// # Errors
/// There is no such schedule for this collective.
pub(super) fn plan(
    rank: usize,
    map: &NodeMap,
    problem: &Problem,
    ports: usize,
) -> Result<Schedule> {
    let mut b = Builder::new(rank, map.size());
    let teams = |root| Teams::new(map, rank, root, ports);
    match *problem {
        Problem::Barrier => teams(0).meet(&mut b),
        Problem::Bcast { root, len } => teams(root).spread(&mut b, root, whole(Buffer::Recv, len)),
        Problem::Gather { root, block, in_place } => {
            teams(root).collect(&mut b, root, block, in_place);
        }
        Problem::Scatter { root, block, in_place } => {
            teams(root).deal(&mut b, root, block, in_place);
        }
        Problem::Allgather { ref blocks, in_place } => teams(0).share(&mut b, blocks, in_place),
        Problem::Reduce { root, len, in_place } => {
            teams(root).reduce_to(&mut b, root, len, in_place);
        }
        Problem::Allreduce { len, in_place } => teams(0).reduce_all(&mut b, len, in_place),
        _ => fail!(ARG, "no schedule goes node by node for {problem:?}"),
    }
    Ok(b.finish())
}

fn whole(buffer: Buffer, len: i64) -> Region {
    Region::new(buffer, len)
}

/// Where a contribution is.
fn source(in_place: bool, len: i64) -> Region {
    whole(if in_place { Buffer::Recv } else { Buffer::Send }, len)
}

impl Teams<'_> {
    fn new(map: &NodeMap, rank: usize, root: usize, ports: usize) -> Teams<'_> {
        let (node, home) = (map.node_of(rank), map.node_of(root));
        let speaks = |node| if node == home { root } else { map.leader(node) };
        let speakers = (0..map.count()).map(speaks).collect();
        Teams { map, rank, node, near: map.members(node).collect(), speakers, ports }
    }

    fn speaks(&self) -> bool {
        self.speakers[self.node] == self.rank
    }

    /// The place of who speaks for this node among its processes.
    fn place(&self) -> usize {
        self.map.place(self.speakers[self.node])
    }

    /// What the processes of this node do among themselves.
    fn near(&self, b: &mut Builder, memory: [Option<Region>; 2], emit: impl FnOnce(&mut Builder)) {
        b.among(self.near.iter().copied(), memory, emit);
    }

    /// What those do who speak for the nodes.
    fn across(
        &self,
        b: &mut Builder,
        memory: [Option<Region>; 2],
        emit: impl FnOnce(&mut Builder),
    ) {
        if self.speaks() {
            b.among(self.speakers.iter().copied(), memory, emit);
        }
    }

    /// `MPI_BARRIER`.
    fn meet(&self, b: &mut Builder) {
        self.near(b, [None; 2], |b| barrier::arrive(b, self.ports));
        self.across(b, [None; 2], |b| barrier::dissemination(b, 1));
        self.near(b, [None; 2], |b| barrier::leave(b, self.ports));
    }

    /// `MPI_BCAST`.
    fn spread(&self, b: &mut Builder, root: usize, data: Region) {
        let home = self.map.node_of(root);
        let cut = self.speakers.len() > FEW_NODES && data.len > SEGMENT;
        if cut {
            self.across(b, [None; 2], |b| bcast::scatter_ring(b, home, data, 1));
        }
        for part in bcast::segments(data, SEGMENT) {
            if !cut {
                self.across(b, [None; 2], |b| bcast::binomial(b, home, part, 1));
            }
            self.tell(b, part);
        }
    }

    /// Who speaks for a node tells it.
    fn tell(&self, b: &mut Builder, data: Region) {
        self.near(b, [None; 2], |b| bcast::binomial(b, self.place(), data, self.ports));
    }

    /// The node's sum, at who speaks for it: in `into`, or where a root or everyone has the result.
    fn reduce_near(&self, b: &mut Builder, input: Region, into: Option<Region>) {
        self.near(b, [None, into], |b| reduce::binomial(b, self.place(), input, self.ports));
    }

    /// `MPI_REDUCE`.
    fn reduce_to(&self, b: &mut Builder, root: usize, len: i64, in_place: bool) {
        let sum = (self.speaks() && self.rank != root).then(|| b.temp(len));
        self.reduce_near(b, source(in_place, len), sum);
        let home = self.map.node_of(root);
        self.across(b, [None, sum], |b| reduce::binomial(b, home, whole(Buffer::Recv, len), 1));
    }

    /// `MPI_ALLREDUCE`.
    fn reduce_all(&self, b: &mut Builder, len: i64, in_place: bool) {
        let result = whole(Buffer::Recv, len);
        self.reduce_near(b, source(in_place, len), None);
        self.across(b, [None; 2], |b| allreduce::recursive_doubling(b, result));
        self.tell(b, result);
    }

    /// The blocks of the nodes.
    fn of_nodes(&self, blocks: &Layout) -> Layout {
        let len = |node| blocks.span(Buffer::Recv, self.map.range(node)).len;
        Layout::of((0..self.map.count()).map(len))
    }

    /// The blocks of this node, and which part they are of all in a buffer.
    fn of_node(&self, blocks: &Layout, buffer: Buffer) -> (Layout, Region) {
        let ranks = self.map.range(self.node);
        (Layout::of(ranks.clone().map(|rank| blocks.len(rank))), blocks.span(buffer, ranks))
    }

    /// Whether what the nodes have of these blocks is short; all of them say the same.
    fn are_short(&self, blocks: &Layout) -> bool {
        blocks.total() <= SHORT * self.map.count() as i64
    }

    /// Where who speaks for this node has its blocks: a root in its own memory.
    fn held(&self, b: &mut Builder, root: usize, part: Region) -> Option<Region> {
        match self.rank == root {
            true => Some(part),
            false => self.speaks().then(|| b.temp(part.len)),
        }
    }

    /// `MPI_ALLGATHER` and `MPI_ALLGATHERV`.
    fn share(&self, b: &mut Builder, blocks: &Layout, in_place: bool) {
        let all = whole(Buffer::Recv, blocks.total());
        let (mine, part) = self.of_node(blocks, Buffer::Recv);
        let place = blocks.block(Buffer::Recv, self.rank);
        let own = if in_place { place } else { whole(Buffer::Send, place.len) };
        // Who speaks has its block where it belongs, and the others' come there, too.
        if self.speaks() {
            b.copy(own, place);
        }
        let (own, into) = if self.speaks() { (None, Some(part)) } else { (Some(own), None) };
        self.near(b, [None, into], |b| gather::binomial(b, 0, &mine, own, self.ports));
        let of_nodes = self.of_nodes(blocks);
        self.across(b, [None; 2], |b| match b.size().is_power_of_two() {
            true => allgather::recursive_doubling(b, all, &of_nodes),
            false => allgather::ring(b, all, &of_nodes, 0),
        });
        bcast::segments(all, SEGMENT).for_each(|part| self.tell(b, part));
    }

    /// `MPI_GATHER`.
    fn collect(&self, b: &mut Builder, root: usize, block: i64, in_place: bool) {
        let blocks = Layout::uniform(block, self.map.size());
        let (mine, part) = self.of_node(&blocks, Buffer::Recv);
        let held = self.held(b, root, part);
        let own = (!in_place).then_some(whole(Buffer::Send, block));
        self.near(b, [None, held], |b| gather::binomial(b, self.place(), &mine, own, self.ports));
        let (home, of_nodes) = (self.map.node_of(root), self.of_nodes(&blocks));
        let own = held.filter(|_| self.rank != root);
        self.across(b, [None; 2], |b| match self.are_short(&blocks) {
            true => gather::binomial(b, home, &of_nodes, own, 1),
            false => gather::linear(b, home, &of_nodes, own, b.size()),
        });
    }

    /// `MPI_SCATTER`.
    fn deal(&self, b: &mut Builder, root: usize, block: i64, in_place: bool) {
        let blocks = Layout::uniform(block, self.map.size());
        let (mine, part) = self.of_node(&blocks, Buffer::Send);
        let held = self.held(b, root, part);
        let (home, of_nodes) = (self.map.node_of(root), self.of_nodes(&blocks));
        let own = held.filter(|_| self.rank != root);
        self.across(b, [None; 2], |b| match self.are_short(&blocks) {
            true => scatter::binomial(b, home, &of_nodes, own, 1),
            false => scatter::linear(b, home, &of_nodes, own, b.size()),
        });
        let own = (!in_place).then_some(whole(Buffer::Recv, block));
        self.near(b, [held, None], |b| scatter::binomial(b, self.place(), &mine, own, self.ports));
    }
}
