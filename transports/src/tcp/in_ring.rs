//! Connections of TCP in ring order (see [`crate::ring_order`]).

use mpi_core::port::PeerId;

use super::stream::Link;
use super::{StreamId, Tcp};
use crate::ring_order::Connects;

impl Connects for Tcp {
    fn peer_of(&self, rank: u32) -> Option<PeerId> {
        self.peers.of_rank(rank)
    }

    /// Whether the first stream is open, or never will be.
    fn is_settled(&self, peer: PeerId) -> bool {
        self.peers.is_connected(peer) || !self.peers.is_up(peer)
    }

    fn approach(&mut self, peer: PeerId) {
        let Some(to) = self.peers.get_mut(peer) else { return };
        to.want_streams(1, &self.config, &self.job);
        if matches!(to.streams[0].link, Link::Idle) {
            to.waits = true;
            self.seek(StreamId { peer, stream: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::World;
    use crate::ring_order::Ring;
    use crate::tcp::tests::{small, world};
    use mpi_core::port::Transport;

    #[test]
    fn a_ring_connects_all_with_one_connection_for_each_pair() {
        for size in [2, 3, 5, 8] {
            let mut world = World::new(world(size, &small()));
            let mut rings: Vec<Ring> = (0..size).map(|rank| Ring::new(rank, size)).collect();
            world.run_until("all rings are closed", |world| {
                // Every one goes on, also when another is not done.
                let mut open = 0;
                for (end, ring) in rings.iter_mut().enumerate() {
                    open += u32::from(!ring.go_on(world.transport(end), |_| false));
                }
                open == 0
            });
            for end in 0..size {
                let tcp = world.transport(end as usize);
                assert_eq!(tcp.counters().connections, u64::from(size) - 1);
                assert!(
                    (0..size).filter(|k| *k != end).all(|k| tcp.peers().is_connected(PeerId(k)))
                );
                assert!(tcp.is_flushed());
            }
        }
    }
}
