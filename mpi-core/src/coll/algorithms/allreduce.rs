//! All-reductions (MPI-5.0 §6.9.6). See [`rabenseifner`](super::rabenseifner) for a third one.

use super::fold::{Fold, Role};
use super::sum::Sum;
use super::{allgather, bcast, reduce};
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Recursive doubling: partners at distances 1, 2, 4, … exchange their sums (Thakur 2005); other
/// than powers of two are folded first. For short vectors. `input` is the rank's contribution,
/// the result all of `Recv`.
///
/// Cost: (⌊log₂ p⌋ + 2) (α + mβ + mγ), without the 2 for a power of two.
pub fn recursive_doubling(b: &mut Builder, input: Region) {
    let result = Region::new(Buffer::Recv, input.len);
    let fold = Fold::new(b.size(), 0);
    let (corner, folded) = match fold.role(b.rank()) {
        Role::Corner(corner, folded) => (corner, folded),
        Role::Folded(into) => {
            b.send(into, input);
            return b.recv(into, result);
        }
    };
    let partners: Vec<usize> =
        fold.near_to_far().map(|distance| fold.rank_of(corner ^ distance)).collect();
    let mut sum = Sum::new(input, memory(b, input, folded, &partners));
    if let Some(folded) = folded {
        sum.absorb_from(b, folded);
    }
    for partner in partners {
        b.send(partner, sum.value);
        sum.absorb_from(b, partner);
    }
    if let Some(folded) = folded {
        b.send(folded, sum.value);
    }
    b.copy(sum.value, result);
}

/// Memory for a sum that takes in these partners' in turn: the receive buffer and a scratch
/// buffer, in the order that lets the last value end up in the receive buffer if possible.
fn memory(
    b: &mut Builder,
    input: Region,
    folded: Option<usize>,
    partners: &[usize],
) -> Vec<Region> {
    let result = Region::new(Buffer::Recv, input.len);
    if input == result {
        return Vec::new();
    }
    // The value leaves the send buffer at the first partner, and moves at each one above.
    let absorbed = || folded.iter().chain(partners);
    let first_below = absorbed().next().is_some_and(|&partner| partner < b.rank());
    let moves = absorbed().filter(|&&partner| partner > b.rank()).count();
    match (moves + usize::from(first_below)) % 2 {
        1 => vec![result],
        _ => vec![b.temp(input.len), result],
    }
}

/// Up the k-port binomial tree to rank 0 and down again: 2(p−1) messages instead of p log p, for
/// short vectors of many processes on few cores.
///
/// Cost: 2 ⌈log_{k+1} p⌉ (α + mβ) + ⌈log_{k+1} p⌉ kmγ.
pub fn tree(b: &mut Builder, input: Region, ports: usize) {
    reduce::binomial(b, 0, input, ports);
    bcast::binomial(b, 0, Region::new(Buffer::Recv, input.len), ports);
}

/// Ring reduce-scatter, then ring all-gather: the least data over each link, between neighbours
/// only (Patarasuk 2009). For long vectors; commutative only, as block i is summed up round the
/// ring from rank i on. `data` holds the rank's contribution first and the result in the end.
///
/// Cost: 2(p−1) α + 2 (p−1)/p mβ + (p−1)/p mγ.
pub fn ring(b: &mut Builder, data: Region) {
    let (rank, p) = (b.rank(), b.size());
    let blocks = Layout::even(data.len, p);
    let scratch = [b.temp(blocks.len(0)), b.temp(blocks.len(0))];
    let block = |back: usize| {
        let block = blocks.block(data.buffer, (rank + p - back) % p);
        data.slice(block.start, block.len)
    };
    for step in 0..p - 1 {
        let sum = block(step + 1);
        let arrived = scratch[step % 2].slice(0, sum.len);
        b.exchange(b.ahead(1), block(step), b.behind(1), arrived);
        b.reduce(arrived, sum);
    }
    allgather::ring(b, data, &blocks, 1);
}
