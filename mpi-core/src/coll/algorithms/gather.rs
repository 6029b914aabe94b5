//! Gathers (MPI-5.0 §6.5): `own` of rank i goes to block i of the root's receive buffer; there is
//! none on a root that works in place, whose block is there already.

use super::section::section;
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Up the k-port binomial tree, the reverse of scatter (Qian 2006 §5.2, there BGRW). All ranks
/// must know all lengths.
///
/// Cost: ⌈log_{k+1} p⌉ α + (p−1)/k mβ.
pub fn binomial(b: &mut Builder, root: usize, blocks: &Layout, own: Option<Region>, ports: usize) {
    let limb = section(b.rank(), b.size(), root, ports);
    let span = blocks.span(Buffer::Recv, limb.ranks.clone());
    let held = match (limb.parent, own) {
        (None, _) => span,
        (Some(_), Some(own)) if limb.children.is_empty() => own,
        (Some(_), _) => b.temp(span.len),
    };
    for (child, ranks) in limb.children.iter().rev() {
        let share = blocks.span(Buffer::Recv, ranks.clone());
        b.recv(*child, held.slice(share.start - span.start, share.len));
    }
    if let Some(own) = own {
        b.copy(own, held.slice(blocks.start(b.rank()) - span.start, own.len));
    }
    if let Some(parent) = limb.parent {
        b.send(parent, held);
    }
}

/// The root receives from k others at a time; with k ≥ p − 1, from all at once. Only the root
/// uses `blocks`.
///
/// Cost: (p−1)/k (α + mβ).
pub fn linear(b: &mut Builder, root: usize, blocks: &Layout, own: Option<Region>, ports: usize) {
    if b.rank() != root {
        if let Some(own) = own {
            b.send(root, own);
        }
        return;
    }
    if let Some(own) = own {
        b.copy(own, blocks.block(Buffer::Recv, root));
    }
    for distance in 1..b.size() {
        let from = b.ahead(distance);
        b.recv(from, blocks.block(Buffer::Recv, from));
        if distance % ports == 0 {
            b.fence();
        }
    }
}
