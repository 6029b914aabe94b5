//! Names: the collectives, the algorithms, and which algorithm serves which collective when.

use std::fmt;
use std::str::FromStr;

macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $type { $($(#[$variant_doc])* $variant,)* }

        impl $type {
            /// All of them.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            /// The name in tables and settings.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<$type, String> {
                let found = $type::ALL.iter().copied().find(|it| it.name() == text);
                found.ok_or_else(|| unknown(text, $type::ALL.iter().map(|it| it.name())))
            }
        }
    };
}

names! {
    /// A collective operation for which an algorithm is chosen.
    Collective {
        /// `MPI_BARRIER`.
        Barrier = "barrier",
        /// `MPI_BCAST`.
        Bcast = "bcast",
        /// `MPI_GATHER`.
        Gather = "gather",
        /// `MPI_GATHERV`.
        Gatherv = "gatherv",
        /// `MPI_SCATTER`.
        Scatter = "scatter",
        /// `MPI_SCATTERV`.
        Scatterv = "scatterv",
        /// `MPI_ALLGATHER`.
        Allgather = "allgather",
        /// `MPI_ALLGATHERV`.
        Allgatherv = "allgatherv",
        /// `MPI_ALLTOALL`.
        Alltoall = "alltoall",
        /// `MPI_ALLTOALLV`.
        Alltoallv = "alltoallv",
        /// `MPI_ALLTOALLW`.
        Alltoallw = "alltoallw",
        /// `MPI_REDUCE`.
        Reduce = "reduce",
        /// `MPI_ALLREDUCE`.
        Allreduce = "allreduce",
        /// `MPI_REDUCE_SCATTER`.
        ReduceScatter = "reduce_scatter",
        /// `MPI_REDUCE_SCATTER_BLOCK`.
        ReduceScatterBlock = "reduce_scatter_block",
        /// `MPI_SCAN`.
        Scan = "scan",
        /// `MPI_EXSCAN`.
        Exscan = "exscan",
    }
}

names! {
    /// An algorithm; several collectives may have one of the same name.
    Algorithm {
        /// Everything directly to or from where it belongs.
        Linear = "linear",
        /// k-port binomial tree.
        Binomial = "binomial",
        /// Segments along a chain of all ranks.
        Chain = "chain",
        /// Round the ring of all ranks.
        Ring = "ring",
        /// Scatter and all-gather by a ring.
        ScatterRing = "scatter_ring",
        /// Scatter and all-gather by recursive doubling.
        ScatterDoubling = "scatter_doubling",
        /// Signals at doubling distances.
        Dissemination = "dissemination",
        /// Up a tree and down again.
        Tree = "tree",
        /// Exchanges at doubling distances.
        RecursiveDoubling = "recursive_doubling",
        /// Exchanges of halves at halving distances.
        RecursiveHalving = "recursive_halving",
        /// Exchanges of halves at doubling distances, in rank order.
        PermutedHalving = "permuted_halving",
        /// Bruck's concatenation or index algorithm.
        Bruck = "bruck",
        /// Swaps with both neighbours in turn.
        NeighborExchange = "neighbor_exchange",
        /// One partner after the other, or k at a time.
        Pairwise = "pairwise",
        /// Reduce-scatter, then collect.
        Rabenseifner = "rabenseifner",
        /// Over the shared segment of one node, straight from and to everybody.
        SharedMemory = "shared_memory",
        /// Over the segment, each process reducing its share of the elements.
        SharedMemoryShares = "shared_memory_shares",
        /// Within each node, or each last-level cache, and across them by one process of each.
        Nodes = "nodes",
    }
}

impl Algorithm {
    /// Whether it runs over a segment and not as a schedule.
    pub fn is_shared_memory(self) -> bool {
        use Algorithm::{SharedMemory, SharedMemoryShares};
        matches!(self, SharedMemory | SharedMemoryShares)
    }
}

/// Names what was not found, the nearest name and all that there are.
pub(crate) fn unknown<'a>(text: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = names
        .clone()
        .max_by(|a, b| strsim::jaro_winkler(a, text).total_cmp(&strsim::jaro_winkler(b, text)));
    let all: Vec<&str> = names.collect();
    let near = near.unwrap_or_default();
    format!("\"{text}\" is unknown; did you mean \"{near}\"? (one of: {})", all.join(", "))
}

/// What an algorithm requires of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A commutative operation.
    Commutative,
    /// A number of processes that is a power of two.
    PowerOfTwo,
    /// An even number of processes.
    EvenSize,
    /// A segment, and a call that blocks.
    SharedMemory,
    /// Several nodes, one of them with several processes, and a call that blocks and suits them.
    Nodes,
}

impl Needs {
    /// Whether any call on `size` processes fulfils it, a schedule's too.
    pub fn met(self, size: usize, commutative: bool) -> bool {
        match self {
            Needs::Nothing => true,
            Needs::Commutative => commutative,
            Needs::PowerOfTwo => size.is_power_of_two(),
            Needs::EvenSize => size.is_multiple_of(2),
            Needs::SharedMemory | Needs::Nodes => false,
        }
    }
}

/// The menu of `MPI_ALLGATHER`.
const ALLGATHER: &[(Algorithm, Needs)] = &[
    (Algorithm::Ring, Needs::Nothing),
    (Algorithm::RecursiveDoubling, Needs::PowerOfTwo),
    (Algorithm::Bruck, Needs::Nothing),
    (Algorithm::NeighborExchange, Needs::EvenSize),
    (Algorithm::Tree, Needs::Nothing),
    (Algorithm::SharedMemory, Needs::SharedMemory),
    (Algorithm::Nodes, Needs::Nodes),
];

/// The menu of `MPI_SCAN` and `MPI_EXSCAN`.
const SCAN: &[(Algorithm, Needs)] = &[
    (Algorithm::RecursiveDoubling, Needs::Nothing),
    (Algorithm::Chain, Needs::Nothing),
    (Algorithm::SharedMemory, Needs::SharedMemory),
    (Algorithm::Nodes, Needs::Nodes),
];

impl Collective {
    /// The algorithms that serve this collective. The first needs nothing: it is what is left
    /// when no rule applies.
    pub fn menu(self) -> &'static [(Algorithm, Needs)] {
        use Algorithm::*;
        use Needs::{Commutative, Nothing, PowerOfTwo};
        match self {
            Collective::Barrier => &[
                (Dissemination, Nothing),
                (Tree, Nothing),
                (SharedMemory, Needs::SharedMemory),
                (Nodes, Needs::Nodes),
            ],
            Collective::Bcast => &[
                (Binomial, Nothing),
                (ScatterRing, Nothing),
                (ScatterDoubling, PowerOfTwo),
                (Chain, Nothing),
                (SharedMemory, Needs::SharedMemory),
                (Nodes, Needs::Nodes),
            ],
            Collective::Gather | Collective::Scatter => &[
                (Binomial, Nothing),
                (Linear, Nothing),
                (SharedMemory, Needs::SharedMemory),
                (Nodes, Needs::Nodes),
            ],
            Collective::Gatherv | Collective::Scatterv => {
                &[(Linear, Nothing), (SharedMemory, Needs::SharedMemory)]
            }
            Collective::Allgather => ALLGATHER,
            // Not node by node, for which all blocks have to be one run of elements.
            Collective::Allgatherv => &ALLGATHER[..ALLGATHER.len() - 1],
            Collective::Alltoall => &[
                (Pairwise, Nothing),
                (Linear, Nothing),
                (Bruck, Nothing),
                (SharedMemory, Needs::SharedMemory),
                (Nodes, Needs::Nodes),
            ],
            Collective::Alltoallv | Collective::Alltoallw => {
                &[(Pairwise, Nothing), (Linear, Nothing), (SharedMemory, Needs::SharedMemory)]
            }
            Collective::Reduce => &[
                (Binomial, Nothing),
                (Rabenseifner, Nothing),
                (Linear, Nothing),
                (SharedMemory, Needs::SharedMemory),
                (SharedMemoryShares, Needs::SharedMemory),
                (Nodes, Needs::Nodes),
            ],
            Collective::Allreduce => &[
                (RecursiveDoubling, Nothing),
                (Rabenseifner, Nothing),
                (Ring, Commutative),
                (Tree, Nothing),
                (SharedMemory, Needs::SharedMemory),
                (SharedMemoryShares, Needs::SharedMemory),
                (Nodes, Needs::Nodes),
            ],
            Collective::ReduceScatter | Collective::ReduceScatterBlock => &[
                (PermutedHalving, Nothing),
                (RecursiveHalving, Commutative),
                (Pairwise, Nothing),
                (SharedMemory, Needs::SharedMemory),
                (Nodes, Needs::Nodes),
            ],
            Collective::Scan | Collective::Exscan => SCAN,
        }
    }

    /// What `algorithm` needs in order to serve this collective; `None` if it cannot at all.
    pub fn needs(self, algorithm: Algorithm) -> Option<Needs> {
        self.menu().iter().find(|(served, _)| *served == algorithm).map(|(_, needs)| *needs)
    }

    /// Whether all ranks know how many bytes move, so that a rule may depend on it.
    pub fn has_common_bytes(self) -> bool {
        !matches!(
            self,
            Collective::Barrier
                | Collective::Gatherv
                | Collective::Scatterv
                | Collective::Alltoallv
                | Collective::Alltoallw
        )
    }
}
