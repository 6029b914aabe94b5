//! Neighbourhood exchanges (MPI-5.0 §8.6, §8.7): all messages at once. The layouts have one block
//! a neighbour, in the order of the topology's lists.

use crate::coll::builder::Builder;
use crate::coll::schedule::Region;

/// Receives from `sources` and sends to `targets`. Between two processes the n-th message that
/// one lists is the n-th that the other does, so where a neighbour occurs twice the caller orders
/// the lists alike: for a Cartesian dimension, sources as (−1, +1) and targets as (+1, −1).
pub fn linear(b: &mut Builder, sources: &[(usize, Region)], targets: &[(usize, Region)]) {
    let rank = b.rank();
    let own = |list: &[(usize, Region)]| -> Vec<Region> {
        list.iter().filter(|(peer, _)| *peer == rank).map(|(_, region)| *region).collect()
    };
    for (from, into) in own(targets).into_iter().zip(own(sources)) {
        b.copy(from, into);
    }
    for &(source, into) in sources.iter().filter(|(source, _)| *source != rank) {
        b.recv(source, into);
    }
    for &(target, from) in targets.iter().filter(|(target, _)| *target != rank) {
        b.send(target, from);
    }
}
