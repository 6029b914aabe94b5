//! Reduce-scatters (MPI-5.0 §6.10): rank i ends with the reduction of block i of everyone's
//! `input`, at the start of its receive buffer. `input` is the send buffer, or the receive buffer
//! of a rank that works in place.

use super::fold::{Fold, Halving, Role};
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Recursive halving (Thakur 2005): partners at distances p/2, p/4, … 1 share what they hold.
/// Commutative only.
///
/// Cost: log₂ p α + (p−1)/p mβ + (p−1)/p mγ for a power of two; else + 2α + m(β + γ).
pub fn recursive_halving(b: &mut Builder, input: Buffer, blocks: &Layout) {
    let fold = Fold::new(b.size(), 0);
    let distances = fold.near_to_far().rev();
    halving(b, fold, input, blocks, distances, |corner| corner);
}

/// Recursive halving with the distances 1, 2, … p/2, which combines in rank order: blocks are
/// first put into bit-reversed order, so that what a rank keeps is always one run.
///
/// Cost: as [`recursive_halving`]'s, and a copy of all blocks.
pub fn permuted_halving(b: &mut Builder, input: Buffer, blocks: &Layout) {
    let fold = Fold::new(b.size(), 0);
    let bits = fold.corners().ilog2();
    let reversed = move |corner: usize| match bits {
        0 => 0,
        _ => corner.reverse_bits() >> (usize::BITS - bits),
    };
    halving(b, fold, input, blocks, fold.near_to_far(), reversed);
}

/// Halving where the blocks of corner c stand at place `place(c)`, its own inverse.
fn halving(
    b: &mut Builder,
    fold: Fold,
    input: Buffer,
    blocks: &Layout,
    distances: impl Iterator<Item = usize>,
    place: impl Fn(usize) -> usize,
) {
    let own = Region::new(Buffer::Recv, blocks.len(b.rank()));
    let (corner, folded) = match fold.role(b.rank()) {
        Role::Corner(corner, folded) => (corner, folded),
        Role::Folded(into) => {
            b.send(into, blocks.span(input, 0..b.size()));
            return b.recv(into, own);
        }
    };
    // One block a corner: those of the ranks it stands for.
    let ranks = |at: usize| fold.ranks_of(place(at));
    let cut = Layout::of((0..fold.corners()).map(|at| blocks.span(input, ranks(at)).len));
    let mut value = b.temp(cut.total());
    let mut spare = b.temp(cut.total());
    for at in 0..fold.corners() {
        b.copy(blocks.span(input, ranks(at)), cut.block(value.buffer, at));
    }
    if let Some(folded) = folded {
        let whole = b.temp(cut.total());
        b.recv(folded, whole);
        for at in 0..fold.corners() {
            b.copy(blocks.span(whole.buffer, ranks(at)), cut.block(spare.buffer, at));
        }
        b.reduce(value, spare);
        (value, spare) = (spare, value);
    }
    for Halving { partner, partner_below, kept, given, .. } in fold.halvings(corner, distances) {
        let arrived = cut.span(spare.buffer, kept.clone());
        let kept = cut.span(value.buffer, kept);
        b.exchange(partner, cut.span(value.buffer, given), partner, arrived);
        if partner_below {
            b.reduce(arrived, kept);
        } else {
            b.reduce(kept, arrived);
            (value, spare) = (spare, value);
        }
    }
    let result = cut.block(value.buffer, place(corner));
    b.copy(result.slice(0, own.len), own);
    if let Some(folded) = folded {
        b.send(folded, result.slice(own.len, blocks.len(folded)));
    }
}

/// Pairwise exchange: everyone sends each rank its block and sums up its own as they come in, k
/// at a time, in the order r−1, … 0, then p−1, … r+1. Those from lower and those from higher
/// ranks are summed apart, each from the right, so that operands stay in rank order.
///
/// Cost: (p−1) (α + m/p β + m/p γ).
pub fn pairwise(b: &mut Builder, input: Buffer, blocks: &Layout, ports: usize) {
    let (rank, p) = (b.rank(), b.size());
    let own = blocks.block(input, rank);
    let result = Region::new(Buffer::Recv, own.len);
    // In place, the result lies where blocks still wait to be sent.
    let low = if input == Buffer::Recv { b.temp(own.len) } else { result };
    let high = b.temp(own.len);
    let scratch: Vec<Region> = (0..ports.min(p)).map(|_| b.temp(own.len)).collect();
    b.copy(own, low);
    for (distance, &scratch) in (1..p).zip(scratch.iter().cycle()) {
        let (to, from) = (b.ahead(distance), b.behind(distance));
        let outgoing = blocks.block(input, to);
        if from == p - 1 {
            b.exchange(to, outgoing, from, high);
        } else {
            b.exchange(to, outgoing, from, scratch);
            b.reduce(scratch, if from < rank { low } else { high });
        }
    }
    if rank + 1 < p {
        b.reduce(low, high);
        b.copy(high, result);
    } else {
        b.copy(low, result);
    }
}
