//! From one rank's view of a collective call to its schedule.
//!
//! `MPI_IN_PLACE` is a flag of the problem: such a rank's schedule takes its contribution from
//! where the standard says that it lies in the receive buffer, and never mentions the send buffer.

use super::algorithms::{
    allgather, allgather_bruck, allgather_tree, allreduce, alltoall, alltoall_bruck, barrier,
    bcast, gather, neighbor, rabenseifner, reduce, reduce_scatter, scan, scatter,
};
use super::builder::Builder;
use super::inter::{self, Between, Sides};
use super::layout::Layout;
use super::menu::Algorithm;
use super::schedule::{Buffer, Region, Schedule};
use super::shape::Choice;
use crate::error::Result;
use crate::fail;

/// A collective call as one rank sees it. Lengths are in units: bytes of packed data where data
/// is moved, elements where it is reduced. Blocks are indexed by rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// `MPI_BARRIER`.
    Barrier,
    /// `MPI_BCAST`, of the whole of `Recv`.
    Bcast {
        /// The root.
        root: usize,
        /// Length of the message.
        len: i64,
    },
    /// `MPI_GATHER`: `Send` is one block, the root's `Recv` has one a rank.
    Gather {
        /// The root.
        root: usize,
        /// Length of each block.
        block: i64,
        /// The root's own block is in place.
        in_place: bool,
    },
    /// `MPI_GATHERV`.
    Gatherv {
        /// The root.
        root: usize,
        /// Length of the block in `Send`.
        own: i64,
        /// The blocks of `Recv`, at the root.
        blocks: Option<Layout>,
        /// The root's own block is in place.
        in_place: bool,
    },
    /// `MPI_SCATTER`: the root's `Send` has one block a rank, `Recv` is one block.
    Scatter {
        /// The root.
        root: usize,
        /// Length of each block.
        block: i64,
        /// The root's own block stays where it is.
        in_place: bool,
    },
    /// `MPI_SCATTERV`.
    Scatterv {
        /// The root.
        root: usize,
        /// Length of the block in `Recv`.
        own: i64,
        /// The blocks of `Send`, at the root.
        blocks: Option<Layout>,
        /// The root's own block stays where it is.
        in_place: bool,
    },
    /// `MPI_ALLGATHER` and `MPI_ALLGATHERV`: `Send` is one block, `Recv` has one a rank.
    Allgather {
        /// The blocks of `Recv`.
        blocks: Layout,
        /// The own block is in place.
        in_place: bool,
    },
    /// `MPI_ALLTOALL`: `Send` and `Recv` have one block a rank.
    Alltoall {
        /// Length of each block.
        block: i64,
        /// The outgoing blocks are in `Recv`.
        in_place: bool,
    },
    /// `MPI_ALLTOALLV` and `MPI_ALLTOALLW`.
    Alltoallv {
        /// The blocks of `Send`; in place, those of `Recv` once more.
        outgoing: Layout,
        /// The blocks of `Recv`.
        incoming: Layout,
        /// The outgoing blocks are in `Recv`.
        in_place: bool,
    },
    /// `MPI_REDUCE`; only the root has a `Recv`.
    Reduce {
        /// The root.
        root: usize,
        /// Number of elements.
        len: i64,
        /// The root's contribution is in `Recv`.
        in_place: bool,
    },
    /// `MPI_ALLREDUCE`.
    Allreduce {
        /// Number of elements.
        len: i64,
        /// The contribution is in `Recv`.
        in_place: bool,
    },
    /// `MPI_REDUCE_SCATTER` and its `_BLOCK` form; the result is at the start of `Recv`.
    ReduceScatter {
        /// The blocks of the contribution.
        blocks: Layout,
        /// The contribution is in `Recv`.
        in_place: bool,
    },
    /// A collective between neighbours; see [`plan_neighbors`].
    Neighbors {
        /// Those that send, with where it goes.
        sources: Vec<(usize, Region)>,
        /// Those that are sent to, with what.
        targets: Vec<(usize, Region)>,
    },
    /// A collective between two groups.
    Between(Sides, Between),
    /// `MPI_SCAN`.
    Scan {
        /// Number of elements.
        len: i64,
        /// The contribution is in `Recv`.
        in_place: bool,
    },
    /// `MPI_EXSCAN`; on rank 0 `Recv` is not touched.
    Exscan {
        /// Number of elements.
        len: i64,
        /// The contribution is in `Recv`.
        in_place: bool,
    },
    /// `Recv` becomes `Send` reduced with `Recv`, in this order, at each process for itself.
    Combine {
        /// Number of elements.
        len: i64,
    },
}

/// The schedule of `rank` among `size` for a call by the chosen algorithm, which has to be the
/// same on all ranks and, for an operation that is not commutative, one that keeps rank order.
///
/// # Errors
/// The algorithm does not serve this collective, or not on this number of processes. The rank's
/// message to itself has two lengths.
pub fn plan(rank: usize, size: usize, problem: &Problem, choice: &Choice) -> Result<Schedule> {
    if let Some((sent, received)) = problem.to_itself(rank) {
        check_to_itself(rank, sent, received)?;
    }
    match problem {
        Problem::Neighbors { sources, targets } => {
            return plan_neighbors(rank, size, sources, targets);
        }
        Problem::Between(sides, call) => return Ok(inter::plan(rank, sides, call)),
        _ => {}
    }
    let mut b = Builder::new(rank, size);
    if problem.write_down(&mut b, choice).is_none() {
        let algorithm = choice.algorithm;
        fail!(ARG, "algorithm {algorithm} does not serve this call on {size} ranks: {problem:?}");
    }
    Ok(b.finish())
}

/// The schedule of a neighbourhood exchange (MPI-5.0 §8.6): receives from `sources`, sends to
/// `targets`, both ranks with a region; see [`neighbor::linear`] for their order.
///
/// # Errors
/// A message of the rank to itself has two lengths.
pub fn plan_neighbors(
    rank: usize,
    size: usize,
    sources: &[(usize, Region)],
    targets: &[(usize, Region)],
) -> Result<Schedule> {
    for (from, into) in neighbor::to_itself(rank, sources, targets) {
        check_to_itself(rank, from.len, into.len)?;
    }
    let mut b = Builder::new(rank, size);
    neighbor::linear(&mut b, sources, targets);
    Ok(b.finish())
}

/// Collectives do not let a message be shorter than its receive buffer either (MPI-5.0 §6.1).
fn check_to_itself(rank: usize, sent: i64, received: i64) -> Result<()> {
    if sent != received {
        fail!(TRUNCATE, "rank {rank} sends {sent} bytes to itself but receives {received}");
    }
    Ok(())
}

/// Where a rank's contribution is.
fn source(in_place: bool) -> Buffer {
    if in_place { Buffer::Recv } else { Buffer::Send }
}

impl Problem {
    /// The lengths of what the rank sends to itself and receives from itself, where it says both.
    fn to_itself(&self, rank: usize) -> Option<(i64, i64)> {
        match self {
            Problem::Gatherv { own, blocks: Some(blocks), in_place: false, .. } => {
                Some((*own, blocks.len(rank)))
            }
            Problem::Scatterv { own, blocks: Some(blocks), in_place: false, .. } => {
                Some((blocks.len(rank), *own))
            }
            Problem::Alltoallv { outgoing, incoming, in_place: false } => {
                Some((outgoing.len(rank), incoming.len(rank)))
            }
            _ => None,
        }
    }

    /// The same without the messages of the rank to itself between neighbours, which may not fit.
    pub(crate) fn among_others(&self, rank: usize) -> Problem {
        let mut problem = self.clone();
        if let Problem::Neighbors { sources, targets } = &mut problem {
            sources.retain(|(source, _)| *source != rank);
            targets.retain(|(target, _)| *target != rank);
        }
        problem
    }

    /// The root, by rank.
    pub(crate) fn root(&self) -> Option<usize> {
        match self {
            Problem::Bcast { root, .. }
            | Problem::Gather { root, .. }
            | Problem::Gatherv { root, .. }
            | Problem::Scatter { root, .. }
            | Problem::Scatterv { root, .. }
            | Problem::Reduce { root, .. } => Some(*root),
            _ => None,
        }
    }

    /// Whether it is a reduction among all.
    pub(crate) fn reduces(&self) -> bool {
        use Problem::{Allreduce, Combine, Exscan, Reduce, ReduceScatter, Scan};
        matches!(
            self,
            Reduce { .. }
                | Allreduce { .. }
                | ReduceScatter { .. }
                | Scan { .. }
                | Exscan { .. }
                | Combine { .. }
        )
    }

    /// Emits the steps; `None` if the algorithm cannot.
    pub(crate) fn write_down(&self, b: &mut Builder, choice: &Choice) -> Option<()> {
        match *self {
            Problem::Barrier => sync(b, choice),
            Problem::Bcast { root, len } => spread(b, root, Region::new(Buffer::Recv, len), choice),
            Problem::Gather { root, block, in_place } => {
                let blocks = Layout::uniform(block, b.size());
                collect(b, root, &blocks, block, in_place, choice)
            }
            Problem::Gatherv { root, own, ref blocks, in_place } => {
                let blocks = known_at_root(b, blocks);
                gather::linear(b, root, &blocks, contribution(own, in_place), choice.ports);
                (choice.algorithm == Algorithm::Linear).then_some(())
            }
            Problem::Scatter { root, block, in_place } => {
                let blocks = Layout::uniform(block, b.size());
                distribute(b, root, &blocks, block, in_place, choice)
            }
            Problem::Scatterv { root, own, ref blocks, in_place } => {
                let blocks = known_at_root(b, blocks);
                scatter::linear(b, root, &blocks, share(own, in_place), choice.ports);
                (choice.algorithm == Algorithm::Linear).then_some(())
            }
            Problem::Allgather { ref blocks, in_place } => share_all(b, blocks, in_place, choice),
            Problem::Alltoall { block, in_place } if choice.algorithm == Algorithm::Bruck => {
                alltoall_bruck::bruck(b, source(in_place), block, choice.ports);
                Some(())
            }
            Problem::Alltoall { block, in_place } => {
                let blocks = Layout::uniform(block, b.size());
                exchange(b, &blocks, &blocks, in_place, choice)
            }
            Problem::Alltoallv { ref outgoing, ref incoming, in_place } => {
                exchange(b, outgoing, incoming, in_place, choice)
            }
            Problem::Reduce { root, len, in_place } => {
                reduce_to(b, root, Region::new(source(in_place), len), choice)
            }
            Problem::Allreduce { len, in_place } => {
                reduce_all(b, Region::new(source(in_place), len), choice)
            }
            Problem::ReduceScatter { ref blocks, in_place } => {
                reduce_and_scatter(b, source(in_place), blocks, choice)
            }
            // Not by a choice of algorithm; `plan` has turned to them before.
            Problem::Neighbors { .. } | Problem::Between(..) => None,
            Problem::Scan { len, in_place } => {
                let data = fill_result(b, Region::new(source(in_place), len));
                prefix(b, data, choice)
            }
            Problem::Exscan { len, in_place } => {
                exclusive_prefix(b, Region::new(source(in_place), len), choice)
            }
            Problem::Combine { len } => {
                b.reduce(Region::new(Buffer::Send, len), Region::new(Buffer::Recv, len));
                Some(())
            }
        }
    }
}

/// What a rank gives to a gather: its send buffer, unless its block is in place.
fn contribution(own: i64, in_place: bool) -> Option<Region> {
    (!in_place).then_some(Region::new(Buffer::Send, own))
}

/// What a rank gets from a scatter.
fn share(own: i64, in_place: bool) -> Option<Region> {
    (!in_place).then_some(Region::new(Buffer::Recv, own))
}

/// The root's layout; other ranks do not look at theirs.
fn known_at_root(b: &Builder, blocks: &Option<Layout>) -> Layout {
    blocks.clone().unwrap_or_else(|| Layout::uniform(0, b.size()))
}

/// The receive buffer, holding the contribution.
fn fill_result(b: &mut Builder, input: Region) -> Region {
    let data = Region::new(Buffer::Recv, input.len);
    b.copy(input, data);
    data
}

fn sync(b: &mut Builder, choice: &Choice) -> Option<()> {
    match choice.algorithm {
        Algorithm::Dissemination => barrier::dissemination(b, choice.ports),
        Algorithm::Tree => barrier::tree(b, choice.ports),
        _ => return None,
    }
    Some(())
}

fn spread(b: &mut Builder, root: usize, data: Region, choice: &Choice) -> Option<()> {
    let power_of_two = b.size().is_power_of_two();
    match choice.algorithm {
        Algorithm::Binomial => bcast::binomial(b, root, data, choice.ports),
        Algorithm::ScatterRing => bcast::scatter_ring(b, root, data, choice.ports),
        Algorithm::ScatterDoubling if power_of_two => {
            bcast::scatter_doubling(b, root, data, choice.ports);
        }
        Algorithm::Chain => bcast::chain(b, root, data, choice.segment),
        _ => return None,
    }
    Some(())
}

fn collect(
    b: &mut Builder,
    root: usize,
    blocks: &Layout,
    own: i64,
    in_place: bool,
    choice: &Choice,
) -> Option<()> {
    let own = contribution(own, in_place);
    match choice.algorithm {
        Algorithm::Binomial => gather::binomial(b, root, blocks, own, choice.ports),
        Algorithm::Linear => gather::linear(b, root, blocks, own, choice.ports),
        _ => return None,
    }
    Some(())
}

fn distribute(
    b: &mut Builder,
    root: usize,
    blocks: &Layout,
    own: i64,
    in_place: bool,
    choice: &Choice,
) -> Option<()> {
    let own = share(own, in_place);
    match choice.algorithm {
        Algorithm::Binomial => scatter::binomial(b, root, blocks, own, choice.ports),
        Algorithm::Linear => scatter::linear(b, root, blocks, own, choice.ports),
        _ => return None,
    }
    Some(())
}

fn share_all(b: &mut Builder, blocks: &Layout, in_place: bool, choice: &Choice) -> Option<()> {
    let data = blocks.span(Buffer::Recv, 0..b.size());
    let place = blocks.block(Buffer::Recv, b.rank());
    let own = if in_place { place } else { Region::new(Buffer::Send, place.len) };
    if choice.algorithm == Algorithm::Bruck {
        allgather_bruck::bruck(b, own, blocks, choice.ports);
        return Some(());
    }
    if choice.algorithm == Algorithm::Tree {
        allgather_tree::tree(b, (!in_place).then_some(own), blocks, choice.ports);
        return Some(());
    }
    b.copy(own, place);
    match choice.algorithm {
        Algorithm::Ring => allgather::ring(b, data, blocks, 0),
        Algorithm::RecursiveDoubling if b.size().is_power_of_two() => {
            allgather::recursive_doubling(b, data, blocks);
        }
        Algorithm::NeighborExchange if b.size().is_multiple_of(2) => {
            allgather::neighbor_exchange(b, data, blocks);
        }
        _ => return None,
    }
    Some(())
}

fn exchange(
    b: &mut Builder,
    outgoing: &Layout,
    incoming: &Layout,
    in_place: bool,
    choice: &Choice,
) -> Option<()> {
    match choice.algorithm {
        Algorithm::Pairwise | Algorithm::Linear if in_place => {
            alltoall::pairwise_in_place(b, incoming, choice.ports);
        }
        Algorithm::Pairwise => alltoall::pairwise(b, outgoing, incoming, choice.ports),
        Algorithm::Linear => alltoall::linear(b, outgoing, incoming),
        _ => return None,
    }
    Some(())
}

fn reduce_to(b: &mut Builder, root: usize, input: Region, choice: &Choice) -> Option<()> {
    match choice.algorithm {
        Algorithm::Binomial => reduce::binomial(b, root, input, choice.ports),
        Algorithm::Linear => reduce::linear(b, root, input, choice.ports),
        Algorithm::Rabenseifner => rabenseifner::reduce(b, root, input),
        _ => return None,
    }
    Some(())
}

fn reduce_all(b: &mut Builder, input: Region, choice: &Choice) -> Option<()> {
    match choice.algorithm {
        Algorithm::RecursiveDoubling => allreduce::recursive_doubling(b, input),
        Algorithm::Rabenseifner => rabenseifner::allreduce(b, input),
        Algorithm::Tree => allreduce::tree(b, input, choice.ports),
        Algorithm::Ring => {
            let data = fill_result(b, input);
            allreduce::ring(b, data);
        }
        _ => return None,
    }
    Some(())
}

fn reduce_and_scatter(
    b: &mut Builder,
    input: Buffer,
    blocks: &Layout,
    choice: &Choice,
) -> Option<()> {
    match choice.algorithm {
        Algorithm::RecursiveHalving => reduce_scatter::recursive_halving(b, input, blocks),
        Algorithm::PermutedHalving => reduce_scatter::permuted_halving(b, input, blocks),
        Algorithm::Pairwise => reduce_scatter::pairwise(b, input, blocks, choice.ports),
        _ => return None,
    }
    Some(())
}

fn prefix(b: &mut Builder, data: Region, choice: &Choice) -> Option<()> {
    match choice.algorithm {
        Algorithm::RecursiveDoubling => scan::recursive_doubling(b, data),
        Algorithm::Chain => scan::chain(b, data, choice.segment),
        _ => return None,
    }
    Some(())
}

fn exclusive_prefix(b: &mut Builder, input: Region, choice: &Choice) -> Option<()> {
    match choice.algorithm {
        Algorithm::RecursiveDoubling => scan::exclusive_doubling(b, input),
        Algorithm::Chain => scan::exclusive_chain(b, input, choice.segment),
        _ => return None,
    }
    Some(())
}
