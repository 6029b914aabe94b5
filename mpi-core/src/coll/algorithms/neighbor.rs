//! Neighbourhood exchanges (MPI-5.0 §8.6, §8.7): all messages at once. The layouts have one block
//! a neighbour, in the order of the topology's lists.

use crate::coll::builder::Builder;
use crate::coll::schedule::Region;

/// Receives from `sources` and sends to `targets`. Between two processes the n-th message that
/// one lists is the n-th that the other does, so where a neighbour occurs twice the caller orders
/// the lists alike: for a Cartesian dimension, sources as (−1, +1) and targets as (+1, −1).
pub fn linear(b: &mut Builder, sources: &[(usize, Region)], targets: &[(usize, Region)]) {
    let rank = b.rank();
    for (from, into) in to_itself(rank, sources, targets) {
        b.copy(from, into);
    }
    for &(source, into) in sources.iter().filter(|(source, _)| *source != rank) {
        b.recv(source, into);
    }
    for &(target, from) in targets.iter().filter(|(target, _)| *target != rank) {
        b.send(target, from);
    }
}

/// The messages of `rank` to itself: from where, and into what.
pub fn to_itself(
    rank: usize,
    sources: &[(usize, Region)],
    targets: &[(usize, Region)],
) -> impl Iterator<Item = (Region, Region)> {
    let from = targets.iter().filter(move |(target, _)| *target == rank).map(|(_, from)| *from);
    let into = sources.iter().filter(move |(source, _)| *source == rank).map(|(_, into)| *into);
    from.zip(into)
}
