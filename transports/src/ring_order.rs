//! Connecting to all peers at the start, without threads (paper 000, §3.2).
//!
//! In step k every process connects to the one k places to its left and accepts the one k places
//! to its right. That makes all n·(n−1)/2 connections with all processes at work in every step. The
//! paper counts n−1 steps; a pair that is connected from one side need not be from the other, so
//! that half of them are left. In the paper nobody goes on before both neighbours are there; with
//! more processes than processors each such wait is a turn of the scheduler, so that here a few
//! steps are under way at a time.
//!
//! Who has connected its left neighbour and still waits for its right one calls it as well: both calls make one
//! connection, and a neighbour that could not make its end says so when it is asked.
//!
//! In: a network that connects to one peer at a time. Out: whether all are connected.

use mpi_core::port::PeerId;

/// Steps under way at a time.
const STEPS: u32 = 8;

/// A network with connections.
pub trait Connects {
    /// The peer of this rank, if it is known.
    fn peer_of(&self, rank: u32) -> Option<PeerId>;

    /// Whether there is a connection to it, or never will be.
    fn is_settled(&self, peer: PeerId) -> bool;

    /// Begins to connect to it, if that has not begun.
    fn approach(&mut self, peer: PeerId);
}

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

    /// Goes on as far as it goes now; whether the ring is closed. Peers that `skips` names are reached
    /// in another way.
    pub fn go_on(&mut self, net: &mut impl Connects, skips: impl Fn(PeerId) -> bool) -> bool {
        while let Some((left, right)) = self.neighbours(self.step) {
            while self.next < self.step + STEPS {
                let left = self.neighbours(self.next).and_then(|(left, _)| left);
                if let Some(peer) = left.and_then(|left| open(net, left, &skips)) {
                    net.approach(peer);
                }
                self.next += 1;
            }
            if let Some(peer) = left.and_then(|left| open(net, left, &skips)) {
                // Once more, should it have failed meanwhile.
                net.approach(peer);
                return false;
            }
            if let Some(peer) = open(net, right, &skips) {
                // It may have tried and found no way: who has not heard of it asks, and is told.
                net.approach(peer);
                return false;
            }
            self.step += 1;
        }
        true
    }
}

/// The peer of a rank, if there is to be a connection to it and is none.
fn open(net: &impl Connects, rank: u32, skips: impl Fn(PeerId) -> bool) -> Option<PeerId> {
    net.peer_of(rank).filter(|peer| !skips(*peer) && !net.is_settled(*peer))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
