//! Connections of TCP in ring order (see [`crate::ring_order`]).

use mpi_core::port::PeerId;

use super::peer::State;
use super::stream::Link;
use super::{StreamId, Tcp};
use crate::ring_order::Connects;

impl Connects for Tcp {
    fn peer_of(&self, rank: u32) -> Option<PeerId> {
        self.by_rank.get(&rank).copied()
    }

    /// Whether the first stream is open, or never will be.
    fn is_settled(&self, peer: PeerId) -> bool {
        let known = self.peers.get(peer.0 as usize);
        self.is_connected(peer) || known.is_none_or(|peer| peer.state != State::Up)
    }

    fn approach(&mut self, peer: PeerId) {
        self.want_stream(peer);
        let id = StreamId { peer, stream: 0 };
        if self.stream_mut(id).is_some_and(|stream| matches!(stream.link, Link::Idle)) {
            self.peers[peer.0 as usize].waits = true;
            self.seek(id);
        }
    }
}

impl Tcp {
    /// Sees to it that there is a first stream to a peer.
    pub(super) fn want_stream(&mut self, peer: PeerId) {
        if let Some(to) = self.peers.get_mut(peer.0 as usize) {
            to.want_streams(1, &self.config, &self.job);
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
                assert!((0..size).filter(|k| *k != end).all(|k| tcp.is_connected(PeerId(k))));
                assert!(tcp.is_flushed());
            }
        }
    }
}
