//! Collectives between the two groups of an intercommunicator (MPI-5.0 §6.2.2, §6.2.3).
//!
//! Both groups are numbered through, the one that the communicator calls first before the other,
//! so that a schedule names every process by one rank. What a whole group needs goes to its
//! leader, the process of rank 0, and from there through the group; what one process needs goes
//! there directly. Algorithms inside a group are those of intracommunicators.

use std::ops::Range;

use super::algorithms::{barrier, bcast, reduce, scatter};
use super::builder::Builder;
use super::layout::Layout;
use super::schedule::{Buffer, Region, Schedule};

/// Who the root of a call is, as one process sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This process (`MPI_ROOT`).
    Here,
    /// Another of this process' own group (`MPI_PROC_NULL`): nothing is to be done.
    Beside,
    /// The process of this rank in the other group.
    There(usize),
}

/// A collective call between two groups as one process sees it. Lengths are in units, and blocks
/// are those of the other group's processes, but where it says otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Between {
    /// `MPI_BARRIER`.
    Barrier,
    /// `MPI_BCAST`, of the whole of `Recv`.
    Bcast {
        /// The root.
        root: Root,
        /// Length of the message.
        len: i64,
    },
    /// `MPI_GATHER` and `MPI_GATHERV`: the root's `Recv` has the blocks.
    Gather {
        /// The root.
        root: Root,
        /// Length of `Send`.
        own: i64,
        /// The blocks, at the root.
        blocks: Option<Layout>,
    },
    /// `MPI_SCATTER` and `MPI_SCATTERV`: the root's `Send` has the blocks.
    Scatter {
        /// The root.
        root: Root,
        /// Length of `Recv`.
        own: i64,
        /// The blocks, at the root.
        blocks: Option<Layout>,
    },
    /// `MPI_ALLGATHER` and `MPI_ALLGATHERV`.
    Allgather {
        /// Length of `Send`.
        own: i64,
        /// The blocks of `Recv`.
        blocks: Layout,
    },
    /// `MPI_ALLTOALL` and its variants.
    Alltoall {
        /// The blocks of `Send`.
        outgoing: Layout,
        /// The blocks of `Recv`.
        incoming: Layout,
    },
    /// `MPI_REDUCE`.
    Reduce {
        /// The root.
        root: Root,
        /// Number of elements.
        len: i64,
    },
    /// `MPI_ALLREDUCE`.
    Allreduce {
        /// Number of elements.
        len: i64,
    },
    /// `MPI_REDUCE_SCATTER` and its `_BLOCK` form.
    ReduceScatter {
        /// The blocks of the result, one for each process of the own group.
        blocks: Layout,
    },
}

/// The ranks of the two groups in the common numbering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sides {
    /// This process' own group.
    pub local: Range<usize>,
    /// The other one.
    pub remote: Range<usize>,
}

/// The schedule of `rank`, by the common numbering, for a call.
pub fn plan(rank: usize, sides: &Sides, call: &Between) -> Schedule {
    let mut b = Builder::new(rank, sides.local.len() + sides.remote.len());
    match *call {
        Between::Barrier => meet(&mut b, sides),
        Between::Bcast { root, len } => spread(&mut b, sides, root, Region::new(Buffer::Recv, len)),
        Between::Gather { root, own, ref blocks } => match (root, blocks) {
            (Root::Here, Some(blocks)) => collect(&mut b, sides, blocks),
            (Root::There(root), _) => b.send(sides.remote.start + root, whole_send(own)),
            _ => {}
        },
        Between::Scatter { root, own, ref blocks } => match (root, blocks) {
            (Root::Here, Some(blocks)) => deal(&mut b, sides, blocks),
            (Root::There(root), _) => {
                b.recv(sides.remote.start + root, Region::new(Buffer::Recv, own));
            }
            _ => {}
        },
        Between::Allgather { own, ref blocks } => share(&mut b, sides, own, blocks),
        Between::Alltoall { ref outgoing, ref incoming } => {
            collect(&mut b, sides, incoming);
            deal(&mut b, sides, outgoing);
        }
        Between::Reduce { root, len } => reduce_to(&mut b, sides, root, len),
        Between::Allreduce { len } => reduce_all(&mut b, sides, len),
        Between::ReduceScatter { ref blocks } => reduce_and_scatter(&mut b, sides, blocks),
    }
    b.finish()
}

fn whole_send(len: i64) -> Region {
    Region::new(Buffer::Send, len)
}

/// Everybody of a group has come when its leader says so to the other one, and leaves when both
/// leaders have said so.
fn meet(b: &mut Builder, sides: &Sides) {
    b.among(sides.local.clone(), [None; 2], |b| barrier::dissemination(b, 1));
    b.fence();
    if b.rank() == sides.local.start {
        b.await_signal(sides.remote.start);
        b.signal(sides.remote.start);
        b.fence();
    }
    b.among(sides.local.clone(), [None; 2], |b| barrier::dissemination(b, 1));
}

/// The root sends to the other group's leader, which passes it on.
fn spread(b: &mut Builder, sides: &Sides, root: Root, data: Region) {
    match root {
        Root::Here => b.send(sides.remote.start, data),
        Root::Beside => {}
        Root::There(root) => {
            if b.rank() == sides.local.start {
                b.recv(sides.remote.start + root, data);
            }
            b.among(sides.local.clone(), [None; 2], |b| bcast::binomial(b, 0, data, 1));
        }
    }
}

/// Receives a block of each process of the other group.
fn collect(b: &mut Builder, sides: &Sides, blocks: &Layout) {
    for (block, from) in sides.remote.clone().enumerate() {
        b.recv(from, blocks.block(Buffer::Recv, block));
    }
}

/// Sends each process of the other group its block; not all begin with the same one.
fn deal(b: &mut Builder, sides: &Sides, blocks: &Layout) {
    let (count, own) = (sides.remote.len(), b.rank() - sides.local.start);
    for step in 0..count {
        let block = (own + step) % count;
        b.send(sides.remote.start + block, blocks.block(Buffer::Send, block));
    }
}

/// Each leader collects what the other group has, then tells its own group.
fn share(b: &mut Builder, sides: &Sides, own: i64, blocks: &Layout) {
    if b.rank() == sides.local.start {
        collect(b, sides, blocks);
    }
    b.send(sides.remote.start, whole_send(own));
    let all = blocks.span(Buffer::Recv, 0..blocks.count());
    b.among(sides.local.clone(), [None; 2], |b| bcast::binomial(b, 0, all, 1));
}

/// Reduces `Send` over the own group; only the leader gets the result.
fn reduce_locally(b: &mut Builder, sides: &Sides, len: i64) -> Region {
    let sum = if b.rank() == sides.local.start { b.temp(len) } else { whole_send(len) };
    b.among(sides.local.clone(), [None, Some(sum)], |b| {
        reduce::binomial(b, 0, whole_send(len), 1);
    });
    sum
}

fn reduce_to(b: &mut Builder, sides: &Sides, root: Root, len: i64) {
    match root {
        Root::Here => b.recv(sides.remote.start, Region::new(Buffer::Recv, len)),
        Root::Beside => {}
        Root::There(root) => {
            let sum = reduce_locally(b, sides, len);
            if b.rank() == sides.local.start {
                b.send(sides.remote.start + root, sum);
            }
        }
    }
}

/// The leaders exchange the sums of their groups, `into` that of the other one.
fn exchange_sums(b: &mut Builder, sides: &Sides, sum: Region, into: Region) {
    if b.rank() == sides.local.start {
        b.exchange(sides.remote.start, sum, sides.remote.start, into);
    }
}

fn reduce_all(b: &mut Builder, sides: &Sides, len: i64) {
    let sum = reduce_locally(b, sides, len);
    let result = Region::new(Buffer::Recv, len);
    exchange_sums(b, sides, sum, result);
    b.among(sides.local.clone(), [None; 2], |b| bcast::binomial(b, 0, result, 1));
}

fn reduce_and_scatter(b: &mut Builder, sides: &Sides, blocks: &Layout) {
    let sum = reduce_locally(b, sides, blocks.total());
    let own = Region::new(Buffer::Recv, blocks.len(b.rank() - sides.local.start));
    let theirs = match b.rank() == sides.local.start {
        true => Some(b.temp(blocks.total())),
        false => None,
    };
    if let Some(theirs) = theirs {
        exchange_sums(b, sides, sum, theirs);
    }
    let ports = sides.local.len();
    b.among(sides.local.clone(), [theirs, None], |b| {
        scatter::linear(b, 0, blocks, Some(own), ports);
    });
}
