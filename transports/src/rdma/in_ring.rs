//! Connections in ring order (see [`crate::ring_order`]).

use mpi_core::port::PeerId;

use super::Rdma;
use super::fabric::Fabric;
use super::peer::State;
use crate::ring_order::Connects;

impl<F: Fabric> Connects for Rdma<F> {
    fn peer_of(&self, rank: u32) -> Option<PeerId> {
        self.channel.peers.of_rank(rank)
    }

    fn is_settled(&self, peer: PeerId) -> bool {
        self.channel.peers.look(peer).is_some_and(|to| to.is_up() || to.state != State::Up)
    }

    fn approach(&mut self, peer: PeerId) {
        // There is nothing to be sent yet; the connection comes with the polls.
        let _ = self.channel.seek(peer);
    }
}

#[cfg(test)]
mod tests {
    use mpi_core::port::{PeerId, Transport};

    use crate::rdma::RdmaSettings;
    use crate::rdma::sim::Weather;
    use crate::rdma::tests::world;
    use crate::ring_order::{Connects, Ring};

    #[test]
    fn a_ring_connects_each_to_all_others_and_says_nothing() {
        for size in [2, 3, 5, 8] {
            let (sim, mut world) = world(3, size, Weather::FAIR, &RdmaSettings::default());
            let mut rings: Vec<Ring> =
                (0..size as u32).map(|rank| Ring::new(rank, size as u32)).collect();
            world.run_until("all rings are closed", |world| {
                // Every one goes on, also when another is not done.
                let mut open = 0;
                for (end, ring) in rings.iter_mut().enumerate() {
                    open += u32::from(!ring.go_on(world.transport(end), |_| false));
                }
                open == 0
            });
            for end in 0..size {
                let own = world.transport(end);
                assert_eq!(own.counters().peers, size as u64 - 1);
                let mut others = (0..size).filter(|other| *other != end);
                assert!(others.all(|other| own.is_settled(PeerId(other as u32))));
                assert!(own.is_flushed());
                assert_eq!((sim.counts(end).messages, sim.counts(end).writes), (0, 0));
            }
        }
    }
}
