//! Rabenseifner's reductions: recursive vector halving leaves each process with the result of one
//! block, then the blocks are collected along the same hypercube (Rabenseifner 2004; Thakur 2005).
//! For long vectors; neighbours meet first, so operands stay in rank order.

use super::fold::{Fold, Halving, Role};
use super::sum::Sum;
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// All-reduction in `data`: reduce-scatter by halving, all-gather by doubling.
///
/// Cost: 2 log₂ p α + 2 (p−1)/p mβ + (p−1)/p mγ for a power of two; else + 2α + m(2β + γ).
pub fn allreduce(b: &mut Builder, data: Region) {
    let fold = Fold::new(b.size(), 0);
    let (corner, folded) = match fold.role(b.rank()) {
        Role::Corner(corner, folded) => (corner, folded),
        Role::Folded(into) => {
            b.send(into, data);
            return b.recv(into, data);
        }
    };
    let blocks = Layout::even(data.len, fold.corners());
    let rounds = fold.halvings(corner, fold.near_to_far());
    reduce_scatter(b, data, folded, &blocks, &rounds);
    for round in rounds.iter().rev() {
        let [kept, given] = halves(data, &blocks, round);
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
    b.copy(input, data);
    let blocks = Layout::even(data.len, fold.corners());
    let rounds = fold.halvings(corner, fold.near_to_far());
    reduce_scatter(b, data, folded, &blocks, &rounds);

    let Role::Corner(target, _) = fold.role(root) else { return };
    for round in rounds.iter().rev() {
        let [kept, given] = halves(data, &blocks, round);
        if (corner ^ target) & round.distance != 0 {
            return b.send(round.partner, kept);
        }
        b.recv(round.partner, given);
    }
}

/// Leaves the block that the last round keeps reduced at its place in `data`.
fn reduce_scatter(
    b: &mut Builder,
    data: Region,
    folded: Option<usize>,
    blocks: &Layout,
    rounds: &[Halving],
) {
    let mut sum = Sum::new(b, data, None, 1);
    if let Some(folded) = folded {
        sum.absorb_from(b, folded);
    }
    let spare = sum.operand(b);
    let (mut value, mut spare) = (sum.value, spare);
    for round in rounds {
        let [kept, given] = halves(value, blocks, round);
        let [arrived, _] = halves(spare, blocks, round);
        b.exchange(round.partner, given, round.partner, arrived);
        if round.partner_below {
            b.reduce(arrived, kept);
        } else {
            b.reduce(kept, arrived);
            (value, spare) = (spare, value);
        }
    }
    match rounds.last() {
        Some(last) => b.copy(halves(value, blocks, last)[0], halves(data, blocks, last)[0]),
        None => b.copy(value, data),
    }
}

/// What a round keeps and gives, in `data`.
fn halves(data: Region, blocks: &Layout, round: &Halving) -> [Region; 2] {
    [&round.kept, &round.given].map(|half| {
        let span = blocks.span(data.buffer, half.clone());
        data.slice(span.start, span.len)
    })
}
