//! Rabenseifner's reductions: recursive vector halving leaves each process with the result of one
//! block, then the blocks are collected along the same hypercube (Rabenseifner 2004; Thakur 2005).
//! For long vectors; neighbours meet first, so operands stay in rank order.

use std::ops::Range;

use super::fold::{Fold, Halving, Role};
use super::sum::Sum;
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// All-reduction: reduce-scatter by halving, all-gather by doubling. `input` is the rank's
/// contribution, the result all of `Recv`.
///
/// Cost: 2 log₂ p α + 2 (p−1)/p mβ + (p−1)/p mγ for a power of two; else + 2α + m(2β + γ).
pub fn allreduce(b: &mut Builder, input: Region) {
    let data = Region::new(Buffer::Recv, input.len);
    let fold = Fold::new(b.size(), 0);
    let (corner, folded) = match fold.role(b.rank()) {
        Role::Corner(corner, folded) => (corner, folded),
        Role::Folded(into) => {
            b.send(into, input);
            return b.recv(into, data);
        }
    };
    let blocks = Layout::even(data.len, fold.corners());
    let rounds = fold.halvings(corner, fold.near_to_far());
    reduce_scatter(b, input, data, folded, &blocks, &rounds);
    for round in rounds.iter().rev() {
        let (kept, given) = (span(data, &blocks, &round.kept), span(data, &blocks, &round.given));
        b.exchange(round.partner, kept, round.partner, given);
    }
    if let Some(folded) = folded {
        b.send(folded, data);
    }
}

/// Reduction to `root`: reduce-scatter by halving, gather up the cube. `input` and the result
/// are as in [`reduce`](super::reduce).
///
/// Cost: as the all-reduction's, without the 2α + 2mβ of unfolding.
pub fn reduce(b: &mut Builder, root: usize, input: Region) {
    let fold = Fold::new(b.size(), root);
    let (corner, folded) = match fold.role(b.rank()) {
        Role::Corner(corner, folded) => (corner, folded),
        Role::Folded(into) => return b.send(into, input),
    };
    let at_root = b.rank() == root;
    let data = if at_root { Region::new(Buffer::Recv, input.len) } else { b.temp(input.len) };
    let blocks = Layout::even(data.len, fold.corners());
    let rounds = fold.halvings(corner, fold.near_to_far());
    reduce_scatter(b, input, data, folded, &blocks, &rounds);

    let Role::Corner(target, _) = fold.role(root) else { return };
    for round in rounds.iter().rev() {
        if (corner ^ target) & round.distance != 0 {
            return b.send(round.partner, span(data, &blocks, &round.kept));
        }
        b.recv(round.partner, span(data, &blocks, &round.given));
    }
}

/// Leaves the block that the last round keeps reduced at its place in `data`.
fn reduce_scatter(
    b: &mut Builder,
    input: Region,
    data: Region,
    folded: Option<usize>,
    blocks: &Layout,
    rounds: &[Halving],
) {
    let mut sum = Sum::new(input, (input != data).then_some(data));
    if let Some(folded) = folded {
        sum.absorb_from(b, folded);
    }
    halve(b, &mut sum, blocks, rounds);
    let own = rounds.last().map_or(0..blocks.count(), |last| last.kept.clone());
    b.copy(sum.value, span(data, blocks, &own));
}

/// Recursive halving of a sum over `blocks`.
pub(super) fn halve(b: &mut Builder, sum: &mut Sum, blocks: &Layout, rounds: &[Halving]) {
    for round in rounds {
        b.send(round.partner, sum.part(span(sum.value, blocks, &round.given)));
        sum.narrow(span(sum.value, blocks, &round.kept));
        sum.absorb_from(b, round.partner);
    }
}

/// Some blocks of a vector that starts at unit 0 of the buffer of `data`.
fn span(data: Region, blocks: &Layout, range: &Range<usize>) -> Region {
    blocks.span(data.buffer, range.clone())
}
