//! Collectives between neighbours in a topology (MPI-5.0 §8.6, §8.7): arguments in, a
//! [`Prepared`] operation out.
//!
//! Buffers have one block a neighbour, in the order in which the topology tells them; a neighbour
//! beyond the edge of a grid has a block too, which is left alone.

use super::calls::{Calls, Typed, Varied, layout};
use crate::coll::layout::Layout;
use crate::coll::place::Places;
use crate::coll::plan::Problem;
use crate::coll::prepared::Prepared;
use crate::coll::schedule::{Buffer, Region};
use crate::comm::Comm;
use crate::comm::topology::Topology;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::CommHandle;

/// The neighbours of a process, by their rank or `MPI_PROC_NULL`.
pub struct Neighbors {
    /// Those that it receives from.
    pub sources: Vec<i32>,
    /// Those that it sends to.
    pub targets: Vec<i32>,
    /// The two neighbours along each dimension of a grid change places from one list to the
    /// other: what goes out behind comes in in front.
    pairs: bool,
}

impl Comm {
    /// The neighbours of this process.
    ///
    /// # Errors
    /// `MPI_ERR_TOPOLOGY` if the communicator has no topology.
    pub fn neighbors(&self) -> Result<Neighbors> {
        let both =
            |ranks: Vec<i32>, pairs| Neighbors { sources: ranks.clone(), targets: ranks, pairs };
        match self.topology.as_deref() {
            Some(Topology::Cart(cart)) => Ok(both(cart.neighbors(self.rank), true)),
            Some(Topology::Graph(graph)) => Ok(both(graph.neighbors(self.rank).to_vec(), false)),
            Some(Topology::DistGraph(adjacent)) => Ok(Neighbors {
                sources: adjacent.sources.ranks.clone(),
                targets: adjacent.destinations.ranks.clone(),
                pairs: false,
            }),
            None => Err(Error::param(ErrorClass::TOPOLOGY, "comm", "has no topology")
                .hint("Neighbours are those of MPI_Cart_create and its kin.")),
        }
    }
}

impl Neighbors {
    /// A schedule's view of an exchange: messages in the order in which both ends count them.
    fn problem(&self, incoming: &Layout, outgoing: impl Fn(usize) -> Region) -> Problem {
        let sources = listed(&self.sources, |at| incoming.block(Buffer::Recv, at));
        let mut targets: Vec<(i32, Region)> =
            self.targets.iter().enumerate().map(|(at, &rank)| (rank, outgoing(at))).collect();
        if self.pairs {
            targets.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        let ranks: Vec<i32> = targets.iter().map(|(rank, _)| *rank).collect();
        Problem::Neighbors { sources, targets: listed(&ranks, |at| targets[at].1) }
    }
}

/// The neighbours that there are, each with its region.
fn listed(ranks: &[i32], region: impl Fn(usize) -> Region) -> Vec<(usize, Region)> {
    let there = ranks.iter().enumerate().filter(|(_, rank)| **rank >= 0);
    there.map(|(at, &rank)| (rank as usize, region(at))).collect()
}

impl Calls<'_> {
    /// `MPI_NEIGHBOR_ALLGATHER` (§8.6.1).
    pub fn neighbor_allgather(
        self,
        send: Typed,
        recv: Typed,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let neighbors = self.objects.comm(comm)?.neighbors()?;
        let into = self.blocks(recv, neighbors.sources.len(), "recvbuf")?;
        self.same_to_neighbors(comm, &neighbors, send, into)
    }

    /// `MPI_NEIGHBOR_ALLGATHERV` (§8.6.1).
    pub fn neighbor_allgatherv(
        self,
        send: Typed,
        recv: Varied<'_>,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let neighbors = self.objects.comm(comm)?.neighbors()?;
        let into = self.varied(recv, "recvbuf")?;
        self.same_to_neighbors(comm, &neighbors, send, into)
    }

    fn same_to_neighbors(
        self,
        comm: CommHandle,
        neighbors: &Neighbors,
        send: Typed,
        into: Places,
    ) -> Result<Prepared> {
        let own = self.block(send.of_any(!neighbors.targets.is_empty()), "sendbuf")?;
        let whole = Region::new(Buffer::Send, own.bytes());
        let problem = neighbors.problem(&layout(&into), |_| whole);
        Ok(Prepared::fixed(comm, problem, Places::one(own), into))
    }

    /// `MPI_NEIGHBOR_ALLTOALL` (§8.6.2).
    pub fn neighbor_alltoall(self, send: Typed, recv: Typed, comm: CommHandle) -> Result<Prepared> {
        let neighbors = self.objects.comm(comm)?.neighbors()?;
        let from = self.blocks(send, neighbors.targets.len(), "sendbuf")?;
        let into = self.blocks(recv, neighbors.sources.len(), "recvbuf")?;
        Ok(self.each_to_neighbors(comm, &neighbors, from, into))
    }

    /// `MPI_NEIGHBOR_ALLTOALLV`, and with a type for each block `MPI_NEIGHBOR_ALLTOALLW` (§8.6.2).
    pub fn neighbor_alltoallv(
        self,
        send: Varied<'_>,
        recv: Varied<'_>,
        comm: CommHandle,
    ) -> Result<Prepared> {
        let neighbors = self.objects.comm(comm)?.neighbors()?;
        let from = self.varied(send, "sendbuf")?;
        let into = self.varied(recv, "recvbuf")?;
        Ok(self.each_to_neighbors(comm, &neighbors, from, into))
    }

    fn each_to_neighbors(
        self,
        comm: CommHandle,
        neighbors: &Neighbors,
        from: Places,
        into: Places,
    ) -> Prepared {
        let outgoing = layout(&from);
        let problem = neighbors.problem(&layout(&into), |at| outgoing.block(Buffer::Send, at));
        Prepared::fixed(comm, problem, from, into)
    }
}
