//! Reduce-scatters (MPI-5.0 §6.10): rank i ends with the reduction of block i of everyone's
//! `input`, at the start of its receive buffer. `input` is the send buffer, or the receive buffer
//! of a rank that works in place.

use super::fold::{Fold, Role};
use super::rabenseifner;
use super::sum::Sum;
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Recursive halving (Thakur 2005): partners at distances p/2, p/4, … 1 share what they hold.
/// Commutative only.
///
/// Cost: log₂ p α + (p−1)/p mβ + (p−1)/p mγ for a power of two; else + 2α + m(β + γ).
pub fn recursive_halving(b: &mut Builder, input: Buffer, blocks: &Layout) {
    let fold = Fold::new(b.size(), 0);
    let vector = blocks.span(input, 0..b.size());
    let cut = Layout::of(corner_lens(&fold, blocks));
    halving(b, fold, vector, blocks, &cut, fold.near_to_far().rev());
}

/// Recursive halving with the distances 1, 2, … p/2, which combines in rank order: the blocks of
/// the corners are first put into bit-reversed order, so that what one keeps is always one run.
///
/// Cost: as [`recursive_halving`]'s, and a copy of all blocks.
pub fn permuted_halving(b: &mut Builder, input: Buffer, blocks: &Layout) {
    let fold = Fold::new(b.size(), 0);
    let corners = fold.corners();
    let reversed = |corner: usize| match corners {
        1 => 0,
        _ => corner.reverse_bits() >> (usize::BITS - corners.ilog2()),
    };
    let cut = Layout::of(corner_lens(&fold, blocks)).permuted((0..corners).map(reversed));
    let vector = b.temp(cut.total());
    for place in 0..corners {
        let from = blocks.span(input, fold.ranks_of(reversed(place)));
        b.copy(from, cut.block(vector.buffer, place));
    }
    halving(b, fold, vector, blocks, &cut, fold.near_to_far());
}

/// The lengths of what the corners stand for.
fn corner_lens(fold: &Fold, blocks: &Layout) -> impl Iterator<Item = i64> {
    let lens = |corner: usize| blocks.span(Buffer::Recv, fold.ranks_of(corner)).len;
    (0..fold.corners()).map(lens)
}

/// Halving of `vector`, whose cut has a block for each corner.
fn halving(
    b: &mut Builder,
    fold: Fold,
    vector: Region,
    blocks: &Layout,
    cut: &Layout,
    distances: impl Iterator<Item = usize>,
) {
    let own = Region::new(Buffer::Recv, blocks.len(b.rank()));
    let (corner, folded) = match fold.role(b.rank()) {
        Role::Corner(corner, folded) => (corner, folded),
        Role::Folded(into) => {
            b.send(into, vector);
            return b.recv(into, own);
        }
    };
    let mut sum = Sum::new(vector, []);
    if let Some(folded) = folded {
        sum.absorb_from(b, folded);
    }
    rabenseifner::halve(b, &mut sum, cut, &fold.halvings(corner, distances));
    // In place, the result may lie where the folded rank's still is.
    if let Some(folded) = folded {
        b.send(folded, sum.value.slice(own.len, blocks.len(folded)));
    }
    b.copy(sum.value.slice(0, own.len), own);
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
