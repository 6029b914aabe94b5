//! What all sweeps over algorithms, sizes and parameters share.

use super::data::mix;
use super::sim::{Memory, run};
use crate::coll::hierarchy::{self, groups::Groups};
use crate::coll::menu::{Algorithm, Collective, Needs};
use crate::coll::plan::{Problem, plan};
use crate::coll::schedule::Schedule;
use crate::coll::select::{Choice, Selection, Shape};

/// All small sizes, and some around powers of two, of three and of ten.
pub(super) const SIZES: &[usize] =
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 27, 31, 32, 33, 64, 100];

/// Some sizes with every interesting property, for sweeps that are wide otherwise.
pub(super) const FEW_SIZES: &[usize] = &[1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33];

/// Lengths of messages and blocks.
pub(super) const LENS: &[i64] = &[0, 1, 2, 7, 41];

/// Longer messages among many processes show nothing that fewer or shorter ones do not.
const LEN_TIMES_SIZE_MAX: i64 = 700;

/// Collectives for which there are schedules node by node, and whether the ranks of a node may be any.
const BY_NODES: &[(Collective, bool)] = &[
    (Collective::Barrier, true),
    (Collective::Bcast, true),
    (Collective::Reduce, true),
    (Collective::Allreduce, true),
    (Collective::Gather, false),
    (Collective::Scatter, false),
    (Collective::Allgather, false),
    (Collective::Alltoall, false),
    (Collective::ReduceScatter, false),
    (Collective::ReduceScatterBlock, false),
    (Collective::Scan, false),
    (Collective::Exscan, false),
];

/// Everything that is chosen in a test, but for the problem itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) size: usize,
    pub(super) root: usize,
    pub(super) len: i64,
    pub(super) in_place: bool,
    pub(super) commutative: bool,
    pub(super) choice: Choice,
}

impl Case {
    /// Calls `check` for every algorithm of the collective with every size, length, number of
    /// ports and root; roots are sampled.
    pub(super) fn sweep(collective: Collective, sizes: &[usize], mut check: impl FnMut(Case)) {
        for &(algorithm, needs) in collective.menu() {
            let by_nodes = BY_NODES.iter().find(|(served, _)| *served == collective);
            let by_nodes = by_nodes.filter(|_| needs == Needs::Nodes);
            for &size in sizes {
                for (ports, &len) in (0..LENS.len() * 4).map(|i| (i % 4 + 1, &LENS[i / 4])) {
                    if len * size as i64 > LEN_TIMES_SIZE_MAX {
                        continue;
                    }
                    let roots = [0, size - 1, mix(len as u64, ports as u64) as usize % size];
                    for (i, root) in roots.into_iter().enumerate() {
                        let commutative = match by_nodes {
                            Some((_, any)) => *any && i == 2,
                            None => needs.met(size, true) && !needs.met(size, false),
                        };
                        if by_nodes.is_some() || needs.met(size, commutative) {
                            let choice = Choice { algorithm, ports, segment: ports as i64 };
                            let in_place = (i + ports) % 2 == 0;
                            check(Case { size, root, len, in_place, commutative, choice });
                        }
                    }
                }
            }
        }
    }

    /// The algorithm's name, for messages.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.choice.algorithm
    }

    /// Nodes for an algorithm that goes by them, of which there are more or larger ones with more ports:
    /// ranks that follow one another, or if the operation is commutative dealt in turn.
    fn nodes(&self) -> Option<Groups> {
        let number = self.choice.ports + 1;
        let first = |rank: usize| match self.commutative {
            true => rank % number,
            false => rank / number * number,
        };
        let map =
            || Groups::new(&(0..self.size).map(|rank| first(rank) as u32).collect::<Vec<_>>());
        (self.algorithm() == Algorithm::Nodes).then(map)?
    }

    /// By what stages get their algorithms; where processes share processors these are others.
    fn shape(&self) -> Shape {
        Shape {
            collective: Collective::Barrier,
            size: self.size,
            ranks_per_node: self.choice.ports + 1,
            oversubscribed: self.in_place,
            processors: self.choice.ports,
            bytes: self.len,
            unit: [1, 1 << 12][self.root % 2],
            commutative: self.commutative,
            shared_memory: false,
            nodes: true,
            blocking: false,
        }
    }

    /// The schedule of a rank.
    pub(super) fn plan(&self, rank: usize, problem: &Problem) -> Schedule {
        let planned = match self.nodes() {
            Some(groups) => {
                let (shape, ports) = (self.shape(), self.choice.ports);
                hierarchy::plan(rank, &groups, problem, &shape, ports, &Selection::default())
            }
            None => plan(rank, self.size, problem, &self.choice),
        };
        planned.unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    /// Plans for all ranks and runs the plans.
    pub(super) fn run(
        &self,
        problem: impl Fn(usize) -> Problem,
        memory: impl Fn(usize) -> Memory,
    ) -> Vec<Memory> {
        let schedules: Vec<Schedule> =
            (0..self.size).map(|rank| self.plan(rank, &problem(rank))).collect();
        let seed = mix(self.size as u64 * 64 + self.choice.ports as u64, self.root as u64)
            ^ u64::from(self.in_place)
            ^ self.len as u64;
        match run(&schedules, (0..self.size).map(memory).collect(), seed) {
            Ok(memory) => memory,
            Err(fault) => panic!("{self:?}: {fault}"),
        }
    }
}
