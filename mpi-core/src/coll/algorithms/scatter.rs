//! Scatters (MPI-5.0 §6.6): block i of the root's send buffer goes to rank i, which keeps it in
//! `own`; there is none on a root that works in place.

use super::section::{Limb, section};
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Down the k-port binomial tree: everyone gets the blocks of all the ranks it stands for and
/// passes them on (Johnsson 1989; Qian 2006 §5.1, there BSRW). All ranks must know all lengths.
///
/// Cost: ⌈log_{k+1} p⌉ α + (p−1)/k mβ.
pub fn binomial(b: &mut Builder, root: usize, blocks: &Layout, own: Option<Region>, ports: usize) {
    let limb = section(b.rank(), b.size(), root, ports);
    let held = match (limb.parent, own) {
        (None, _) => blocks.span(Buffer::Send, limb.ranks.clone()),
        (Some(_), Some(own)) if limb.children.is_empty() => own,
        (Some(_), _) => b.temp(blocks.span(Buffer::Send, limb.ranks.clone()).len),
    };
    pass_on(b, &limb, held, blocks);
    if let Some(own) = own {
        let offset = blocks.start(b.rank()) - blocks.start(limb.ranks.start);
        b.copy(held.slice(offset, own.len), own);
    }
}

/// The same where every rank keeps its block at its place in `data`, which the root has whole:
/// the first half of a broadcast.
pub(super) fn in_place(b: &mut Builder, root: usize, data: Region, blocks: &Layout, ports: usize) {
    let limb = section(b.rank(), b.size(), root, ports);
    let span = blocks.span(data.buffer, limb.ranks.clone());
    pass_on(b, &limb, data.slice(span.start, span.len), blocks);
}

/// Receives the blocks of `limb` into `held` and sends each child its share.
fn pass_on(b: &mut Builder, limb: &Limb, held: Region, blocks: &Layout) {
    if let Some(parent) = limb.parent {
        b.recv(parent, held);
    }
    let base = blocks.start(limb.ranks.start);
    for (child, ranks) in &limb.children {
        let share = blocks.span(held.buffer, ranks.clone());
        b.send(*child, held.slice(share.start - base, share.len));
    }
}

/// The sequential tree: the root sends to k others at a time (Qian 2006 §5.1, there SSRW); with
/// k ≥ p − 1, to all at once. Only the root uses `blocks`.
///
/// Cost: (p−1)/k (α + mβ).
pub fn linear(b: &mut Builder, root: usize, blocks: &Layout, own: Option<Region>, ports: usize) {
    if b.rank() != root {
        if let Some(own) = own {
            b.recv(root, own);
        }
        return;
    }
    if let Some(own) = own {
        b.copy(blocks.block(Buffer::Send, root), own);
    }
    for distance in 1..b.size() {
        let to = b.ahead(distance);
        b.send(to, blocks.block(Buffer::Send, to));
        if distance % ports == 0 {
            b.fence();
        }
    }
}
