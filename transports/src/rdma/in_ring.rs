//! Connections in ring order (see [`crate::ring_order`]).

use mpi_core::port::PeerId;

use super::Rdma;
use super::fabric::Fabric;
use super::peer::State;
use crate::ring_order::Connects;

impl<F: Fabric> Connects for Rdma<F> {
    fn peer_of(&self, rank: u32) -> Option<PeerId> {
        self.peers.of_rank(rank)
    }

    fn is_settled(&self, peer: PeerId) -> bool {
        self.peers.look(peer).is_some_and(|to| to.is_up || to.state != State::Up)
    }

    fn approach(&mut self, peer: PeerId) {
        // There is nothing to be sent yet; the connection comes with the polls.
        let _ = self.seek(peer);
    }
}
