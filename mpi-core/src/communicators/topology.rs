//! Communicators with a topology (MPI-5.0 §8.5.1 to §8.5.4, §8.5.7).
//!
//! Reordering is permitted, not required (§8.1): ranks stay as they are, because the processes
//! of a job are equally near to each other as far as the library knows.

use std::sync::Arc;

use super::Communicators;
use super::distribute::Edge;
use crate::comm::topology::Topology;
use crate::comm::topology::cart::Cart;
use crate::comm::topology::graph::{Adjacent, Graph, check_end};
use crate::constants::UNDEFINED;
use crate::error::Result;
use crate::fail;
use crate::handle::CommHandle;
use crate::objects::Objects;
use crate::port::Port;

impl Objects {
    /// `MPI_Cart_map` (§8.5.8): the rank that this process has in such a grid.
    pub fn cart_map(&self, comm: CommHandle, dims: Vec<i32>, periods: Vec<bool>) -> Result<i32> {
        let state = self.intracomm(comm, "comm")?;
        let cart = Cart::new(dims, periods, state.size())?;
        Ok(mapped(state.rank, cart.size()))
    }

    /// `MPI_Graph_map` (§8.5.8).
    pub fn graph_map(&self, comm: CommHandle, index: Vec<i32>, edges: Vec<i32>) -> Result<i32> {
        let state = self.intracomm(comm, "comm")?;
        let nodes = nodes(index.len(), state.size())?;
        Graph::new(index, edges)?;
        Ok(mapped(state.rank, nodes))
    }

    fn attach(&mut self, comm: CommHandle, topology: Topology) -> Result<CommHandle> {
        self.comm_mut(comm)?.topology = Some(Arc::new(topology));
        Ok(comm)
    }
}

/// The rank of a process in a topology of the first `size` processes.
fn mapped(rank: u32, size: u32) -> i32 {
    if rank < size { rank as i32 } else { UNDEFINED }
}

fn nodes(nodes: usize, size: u32) -> Result<u32> {
    if nodes > size as usize {
        fail!(ARG, "nnodes", "is {nodes}, but the communicator has {size} processes");
    }
    Ok(nodes as u32)
}

impl<P: Port> Communicators<'_, P> {
    /// `MPI_Cart_create`; null for processes that the grid has no place for.
    pub fn cart_create(
        &mut self,
        comm: CommHandle,
        dims: Vec<i32>,
        periods: Vec<bool>,
    ) -> Result<CommHandle> {
        let cart = Cart::new(dims, periods, self.entry.intracomm(comm, "comm")?.size())?;
        let size = cart.size();
        self.first_with(comm, size, Topology::Cart(cart))
    }

    /// `MPI_Cart_sub`.
    pub fn cart_sub(&mut self, comm: CommHandle, remain: &[bool]) -> Result<CommHandle> {
        let state = self.entry.comm(comm)?;
        let (cart, which) = state.cart()?.sub(state.rank, remain);
        let made = self.split(comm, which as i32, 0)?;
        self.entry.attach(made, Topology::Cart(cart))
    }

    /// `MPI_Graph_create`; null for processes beyond the nodes, and for all if there is none.
    pub fn graph_create(
        &mut self,
        comm: CommHandle,
        index: Vec<i32>,
        edges: Vec<i32>,
    ) -> Result<CommHandle> {
        let nodes = nodes(index.len(), self.entry.intracomm(comm, "comm")?.size())?;
        let graph = Graph::new(index, edges)?;
        self.first_with(comm, nodes, Topology::Graph(graph))
    }

    /// `MPI_Dist_graph_create_adjacent`.
    pub fn dist_graph_adjacent(
        &mut self,
        comm: CommHandle,
        adjacent: Adjacent,
    ) -> Result<CommHandle> {
        let size = self.entry.intracomm(comm, "comm")?.size();
        adjacent.sources.check(size, "sources")?;
        adjacent.destinations.check(size, "destinations")?;
        let made = self.duplicate(comm)?;
        self.entry.attach(made, Topology::DistGraph(adjacent))
    }

    /// `MPI_Dist_graph_create`: the edges are those that any process named.
    pub fn dist_graph(
        &mut self,
        comm: CommHandle,
        named: &[Edge],
        weighted: bool,
    ) -> Result<CommHandle> {
        let size = self.entry.intracomm(comm, "comm")?.size();
        for edge in named {
            check_end(edge.source, size, "sources")?;
            check_end(edge.destination, size, "destinations")?;
            if edge.weight < 0 {
                fail!(ARG, "weights", "has {}, but must not be negative", edge.weight);
            }
        }
        let adjacent = Adjacent { weighted, ..self.entry.members(comm).bring_edges(named)? };
        let made = self.duplicate(comm)?;
        self.entry.attach(made, Topology::DistGraph(adjacent))
    }

    /// A communicator of the first `size` processes of `comm`, with a topology.
    fn first_with(
        &mut self,
        comm: CommHandle,
        size: u32,
        topology: Topology,
    ) -> Result<CommHandle> {
        let color = if self.entry.comm(comm)?.rank < size { 0 } else { UNDEFINED };
        let made = self.split(comm, color, 0)?;
        if made.is_null() {
            return Ok(made);
        }
        self.entry.attach(made, topology)
    }
}
