//! All-gathers (MPI-5.0 §6.7), but for one within one buffer: `data` is cut into `blocks`, one a
//! rank; each rank has its own in place and ends with all. Blocks may differ in length.

use std::ops::Range;

use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::Region;

/// The blocks `ranks` within `data`.
fn span(data: Region, blocks: &Layout, ranks: Range<usize>) -> Region {
    let span = blocks.span(data.buffer, ranks);
    data.slice(span.start, span.len)
}

/// Round a ring: everyone passes on what it got last. Neighbours only, so for long messages.
/// Rank r starts with block r + `shift`.
///
/// Cost: (p−1) (α + mβ).
pub fn ring(b: &mut Builder, data: Region, blocks: &Layout, shift: usize) {
    let p = b.size();
    let block = |first: usize, back: usize| {
        let index = (first + shift + p - back) % p;
        span(data, blocks, index..index + 1)
    };
    let rank = b.rank();
    for step in 0..p - 1 {
        b.exchange(b.ahead(1), block(rank, step), b.behind(1), block(rank, step + 1));
    }
}

/// Recursive doubling: partners at distances 1, 2, 4, … exchange all they have (Thakur 2005).
/// The number of processes must be a power of two.
///
/// Cost: log₂ p α + (p−1) mβ.
pub fn recursive_doubling(b: &mut Builder, data: Region, blocks: &Layout) {
    let mut distance = 1;
    while distance < b.size() {
        let partner = b.rank() ^ distance;
        let held = |rank: usize| {
            let first = rank & !(distance - 1);
            span(data, blocks, first..first + distance)
        };
        b.exchange(partner, held(b.rank()), partner, held(partner));
        distance *= 2;
    }
}

/// Neighbour exchange (Chen 2005): first within pairs of ranks, then everyone swaps with its two
/// neighbours in turn the pair of blocks it got last. The number of processes must be even.
///
/// Cost: p/2 α + (p−1) mβ.
pub fn neighbor_exchange(b: &mut Builder, data: Region, blocks: &Layout) {
    let (rank, pairs) = (b.rank(), b.size() / 2);
    let block = |rank: usize| span(data, blocks, rank..rank + 1);
    b.exchange(rank ^ 1, block(rank), rank ^ 1, block(rank ^ 1));

    let pair = |index: usize| span(data, blocks, 2 * index..2 * index + 2);
    let mut latest = rank / 2;
    for step in 1..pairs {
        // The even ones begin towards lower ranks, the odd ones towards higher ranks.
        let downwards = (rank + step) % 2 == 1;
        let away = step.div_ceil(2);
        let (partner, news) = if downwards {
            (b.behind(1), (rank / 2 + pairs - away) % pairs)
        } else {
            (b.ahead(1), (rank / 2 + away) % pairs)
        };
        b.exchange(partner, pair(latest), partner, pair(news));
        latest = news;
    }
}
