//! Virtual topologies (MPI-5.0 chapter 8): which processes of a communicator are neighbours.
//!
//! A topology hangs on its communicator and is never changed.

pub mod cart;
pub mod dims;
pub mod graph;

use cart::Cart;
use graph::{Adjacent, Graph};

use super::Comm;
use crate::error::{Error, ErrorClass, Result};

/// What `MPI_Topo_test` answers (§8.5.5), as the standard ABI numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum TopologyKind {
    /// `MPI_CART`.
    Cart = 211,
    /// `MPI_GRAPH`.
    Graph = 212,
    /// `MPI_DIST_GRAPH`.
    DistGraph = 213,
}

/// The topology of a communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Topology {
    /// A grid, which may wrap round.
    Cart(Cart),
    /// A graph that every process knows whole.
    Graph(Graph),
    /// A graph of which a process knows its own edges.
    DistGraph(Adjacent),
}

impl Topology {
    /// Which of the three it is.
    pub fn kind(&self) -> TopologyKind {
        match self {
            Topology::Cart(_) => TopologyKind::Cart,
            Topology::Graph(_) => TopologyKind::Graph,
            Topology::DistGraph(_) => TopologyKind::DistGraph,
        }
    }
}

impl Comm {
    /// The grid of a communicator.
    pub fn cart(&self) -> Result<&Cart> {
        match self.topology.as_deref() {
            Some(Topology::Cart(cart)) => Ok(cart),
            _ => Err(no_topology("Cartesian", "MPI_Cart_create")),
        }
    }

    /// The graph of a communicator.
    pub fn graph(&self) -> Result<&Graph> {
        match self.topology.as_deref() {
            Some(Topology::Graph(graph)) => Ok(graph),
            _ => Err(no_topology("graph", "MPI_Graph_create")),
        }
    }

    /// The own edges in a communicator's distributed graph.
    pub fn dist_graph(&self) -> Result<&Adjacent> {
        match self.topology.as_deref() {
            Some(Topology::DistGraph(adjacent)) => Ok(adjacent),
            _ => Err(no_topology("distributed graph", "MPI_Dist_graph_create")),
        }
    }

    /// A rank of this communicator that a topology inquiry is about.
    pub fn member(&self, rank: i32) -> Result<u32> {
        self.target(rank, "rank").map(|_| rank as u32)
    }
}

fn no_topology(kind: &str, maker: &str) -> Error {
    Error::param(ErrorClass::TOPOLOGY, "comm", format!("has no {kind} topology"))
        .hint(format!("Only communicators from {maker}, or duplicates of them, have one."))
}
