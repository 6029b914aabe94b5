//! Connecting to all peers at the start, without threads (paper 000, §3.2).
//!
//! In step k every process connects to the one k places to its left and accepts the one k places
//! to its right. That makes all n·(n−1)/2 connections with all processes at work in every step. The
//! paper counts n−1 steps; a pair that is connected from one side need not be from the other, so
//! that half of them are left. In the paper nobody goes on before both neighbours are there; with
//! more processes than processors each such wait is a turn of the scheduler, so that here a few
//! steps are under way at a time.

use mpi_core::port::PeerId;

use super::peer::{Link, State};
use super::{StreamId, Tcp};

/// Steps under way at a time.
const STEPS: u32 = 8;

/// How far the ring has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ring {
    rank: u32,
    size: u32,
    /// The first step that is not done, and the first that has not begun.
    step: u32,
    next: u32,
}

impl Ring {
    /// The beginning, for a process with this rank among `size`.
    pub fn new(rank: u32, size: u32) -> Ring {
        Ring { rank, size, step: 1, next: 1 }
    }

    /// Whom to connect to and whom to accept in a step; `None` after the last.
    fn neighbours(&self, step: u32) -> Option<(Option<u32>, u32)> {
        let Ring { rank, size, .. } = *self;
        if step > size / 2 {
            return None;
        }
        let (left, right) = ((rank + size - step) % size, (rank + step) % size);
        // Opposite each other they are one pair, which the higher rank connects.
        Some(((left != right || rank > left).then_some(left), right))
    }
}

impl Tcp {
    /// Goes on with the ring as far as it goes now; whether it is closed. Ranks that `skips` names
    /// are reached in another way.
    pub fn connect_ring(&mut self, ring: &mut Ring, skips: impl Fn(PeerId) -> bool) -> bool {
        let there = |tcp: &Tcp, rank: u32| match tcp.by_rank.get(&rank) {
            Some(&peer) => skips(peer) || tcp.is_settled(peer),
            None => true,
        };
        while let Some((left, right)) = ring.neighbours(ring.step) {
            while ring.next < ring.step + STEPS {
                let left = ring.neighbours(ring.next).and_then(|(left, _)| left);
                if let Some(left) = left.filter(|left| !there(self, *left)) {
                    self.approach(self.by_rank[&left]);
                }
                ring.next += 1;
            }
            if let Some(left) = left.filter(|left| !there(self, *left)) {
                // Once more, should it have failed meanwhile.
                self.approach(self.by_rank[&left]);
                return false;
            }
            if !there(self, right) {
                return false;
            }
            ring.step += 1;
        }
        true
    }

    /// Whether the first stream to `peer` is open, or never will be.
    pub(super) fn is_settled(&self, peer: PeerId) -> bool {
        let known = self.peers.get(peer.0 as usize);
        self.is_connected(peer) || known.is_none_or(|peer| peer.state != State::Up)
    }

    /// Begins to connect to a peer, if that has not begun.
    pub(super) fn approach(&mut self, peer: PeerId) {
        self.want_stream(peer);
        let id = StreamId { peer, stream: 0 };
        if self.stream_mut(id).is_some_and(|stream| matches!(stream.link, Link::Idle)) {
            self.peers[peer.0 as usize].waits = true;
            self.seek(id);
        }
    }

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
    use crate::tcp::tests::{small, world};
    use mpi_core::port::Transport;

    #[test]
    fn every_pair_is_named_once_by_each_side_of_it() {
        for size in 1..40 {
            let mut pairs = vec![0; (size * size) as usize];
            for rank in 0..size {
                let mut ring = Ring::new(rank, size);
                while let Some((left, _)) = ring.neighbours(ring.step) {
                    if let Some(left) = left {
                        pairs[(rank.min(left) * size + rank.max(left)) as usize] += 1;
                    }
                    ring.step += 1;
                }
            }
            let all = (0..size * size).all(|at| {
                let (low, high) = (at / size, at % size);
                pairs[at as usize] == u32::from(low < high)
            });
            assert!(all, "{size} ranks: {pairs:?}");
        }
    }

    #[test]
    fn a_ring_connects_all_with_one_connection_for_each_pair() {
        for size in [2, 3, 5, 8] {
            let mut world = World::new(world(size, &small()));
            let mut rings: Vec<Ring> = (0..size).map(|rank| Ring::new(rank, size)).collect();
            world.run_until("all rings are closed", |world| {
                // Every one goes on, also when another is not done.
                let mut open = 0;
                for (end, ring) in rings.iter_mut().enumerate() {
                    open += u32::from(!world.transport(end).connect_ring(ring, |_| false));
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
