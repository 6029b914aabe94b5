//! Bruck's index algorithm (Bruck 1997): all-to-all of short blocks in the fewest rounds.

use std::ops::Range;

use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Bruck's algorithm of radix k + 1 with k ports. A block that has to travel i ranks ahead goes
/// by the digits of i: in the round of weight w, all blocks whose digit is j travel j·w ranks
/// together. `source` may be the receive buffer, for an exchange in place.
///
/// Cost: ⌈log_{k+1} p⌉ (α + p/(k+1) mβ) and four copies of each block. Blocks of `len` units.
pub fn bruck(b: &mut Builder, source: Buffer, len: i64, ports: usize) {
    let (rank, p) = (b.rank(), b.size());
    let blocks = Layout::uniform(len, p);
    let work = b.temp(blocks.total()).buffer;
    b.copy(blocks.span(source, rank..p), blocks.span(work, 0..p - rank));
    b.copy(blocks.span(source, 0..rank), blocks.span(work, p - rank..p));

    let mut weight = 1;
    while weight < p {
        for hop in (1..=ports).map(|digit| digit * weight).take_while(|&hop| hop < p) {
            travel(b, &blocks, work, hop, weight, ports + 1);
        }
        weight *= ports + 1;
    }
    for distance in 0..p {
        let from = blocks.block(Buffer::Recv, (rank + p - distance) % p);
        b.copy(blocks.block(work, distance), from);
    }
}

/// Moves the blocks whose digit of this weight is hop / weight by `hop` ranks: packed into one
/// message, and out of one.
fn travel(b: &mut Builder, blocks: &Layout, work: Buffer, hop: usize, weight: usize, radix: usize) {
    let p = b.size();
    let runs: Vec<Range<usize>> =
        (hop..p).step_by(weight * radix).map(|at| at..p.min(at + weight)).collect();
    let runs: Vec<Region> = runs.into_iter().map(|run| blocks.span(work, run)).collect();
    let packed_len = runs.iter().map(|run| run.len).sum();

    let outgoing = match runs[..] {
        [only] => only,
        _ => b.temp(packed_len),
    };
    let incoming = b.temp(packed_len);
    if runs.len() > 1 {
        each_at(&runs, outgoing, |run, part| b.copy(run, part));
    }
    b.exchange(b.ahead(hop), outgoing, b.behind(hop), incoming);
    each_at(&runs, incoming, |run, part| b.copy(part, run));
}

/// Calls `f` with each run and its place in `packed`, where they stand one after the other.
fn each_at(runs: &[Region], packed: Region, mut f: impl FnMut(Region, Region)) {
    let mut at = 0;
    for &run in runs {
        f(run, packed.slice(at, run.len));
        at += run.len;
    }
}
