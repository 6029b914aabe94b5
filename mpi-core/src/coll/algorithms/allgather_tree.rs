//! All-gather through one process, for many processes on few cores.

use super::{bcast, gather};
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// Up the k-port binomial tree to rank 0 and, with all blocks, down again: 2(p−1) messages instead
/// of p log p, for many processes on few cores. `own` is the rank's block, unless it is in its
/// place in the receive buffer.
///
/// Cost: 2 ⌈log_{k+1} p⌉ α + ((p−1)/k + p ⌈log_{k+1} p⌉) mβ.
pub fn tree(b: &mut Builder, own: Option<Region>, blocks: &Layout, ports: usize) {
    let place = blocks.block(Buffer::Recv, b.rank());
    gather::binomial(b, 0, blocks, own.or((b.rank() > 0).then_some(place)), ports);
    bcast::binomial(b, 0, blocks.span(Buffer::Recv, 0..b.size()), ports);
}
