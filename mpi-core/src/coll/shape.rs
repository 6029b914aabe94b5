//! What the algorithm of a collective is chosen by, and what is chosen.

use super::menu::{Algorithm, Collective};

/// What a choice may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The operation.
    pub collective: Collective,
    /// Number of processes of the communicator.
    pub size: usize,
    /// The largest number of its processes on one node.
    pub ranks_per_node: usize,
    /// Whether some of its processes are known to share processors with others.
    pub oversubscribed: bool,
    /// Processors that those of a node have, as far as is known: as many as themselves if none is shared.
    pub processors: usize,
    /// Bytes of type signature: of the message (broadcast), of the vector (reductions, and all
    /// of it for a reduce-scatter), or of all blocks together of one process that has one for
    /// each rank. 0 where the ranks cannot know it ([`Collective::has_common_bytes`]).
    pub bytes: i64,
    /// Bytes in one unit of the schedule: the size of an element for a reduction, else 1.
    pub unit: i64,
    /// Whether the operation is commutative; `true` where nothing is reduced.
    pub commutative: bool,
    /// Whether the call may go over a segment: the communicator has one, or has not tried yet and the
    /// call blocks; and what is reduced is reduced by a kernel of ours on elements without gaps.
    pub shared_memory: bool,
    /// Whether the call may go node by node: the communicator is known to have several nodes, and their
    /// order and the elements suit.
    pub nodes: bool,
    /// Whether the call blocks.
    pub blocking: bool,
}

/// An algorithm and its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Number of ports k, at least 1.
    pub ports: usize,
    /// Length of a segment in units, at least 1.
    pub segment: i64,
}

impl Choice {
    /// For a call that there is one way to do.
    pub const ONLY: Choice = Choice { algorithm: Algorithm::Linear, ports: 1, segment: 1 };
    /// For a call over a segment, which knows neither ports nor segments.
    pub const SHARED_MEMORY: Choice =
        Choice { algorithm: Algorithm::SharedMemory, ports: 1, segment: 1 };
}
