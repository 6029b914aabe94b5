//! Bruck's concatenation (Bruck 1997): all-gather in the fewest rounds for any number of processes.

use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Bruck's algorithm with k ports: who has the blocks of d ranks, its own and those ahead, gets
/// those of the ranks at distances d, 2d, … kd. Works in scratch memory, where the blocks stand
/// in the order of their distance, and turns them into place at the end. `own` may be the block
/// in the receive buffer itself.
///
/// Cost: ⌈log_{k+1} p⌉ α + (p−1)/k mβ, and a copy of all blocks.
pub fn bruck(b: &mut Builder, own: Region, blocks: &Layout, ports: usize) {
    let (rank, p) = (b.rank(), b.size());
    let turned = blocks.rotated(rank);
    let work = b.temp(blocks.total()).buffer;
    b.copy(own, turned.block(work, 0));

    let mut held = 1;
    while held < p {
        for away in (1..=ports).map(|j| j * held).take_while(|&away| away < p) {
            let count = held.min(p - away);
            let incoming = turned.span(work, away..away + count);
            b.exchange(b.behind(away), turned.span(work, 0..count), b.ahead(away), incoming);
        }
        held *= ports + 1;
    }
    b.copy(turned.span(work, 0..p - rank), blocks.span(Buffer::Recv, rank..p));
    b.copy(turned.span(work, p - rank..p), blocks.span(Buffer::Recv, 0..rank));
}
