//! Direct all-to-all exchanges (MPI-5.0 §6.8): block i of the send buffer goes to rank i, block j
//! of the receive buffer comes from rank j. Blocks may differ in length.

use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::{Buffer, Region};

/// In rounds of k partners at increasing distance (Qian 2006 §5.3, there DARW; for k = 1 the
/// pairwise exchange of Thakur 2005): for long messages, as no process is the target of two.
///
/// Cost: (p−1)/k (α + mβ).
pub fn pairwise(b: &mut Builder, outgoing: &Layout, incoming: &Layout, ports: usize) {
    let rank = b.rank();
    b.copy(outgoing.block(Buffer::Send, rank), incoming.block(Buffer::Recv, rank));
    for distance in 1..b.size() {
        let (to, from) = (b.ahead(distance), b.behind(distance));
        b.exchange(to, outgoing.block(Buffer::Send, to), from, incoming.block(Buffer::Recv, from));
        if distance % ports == 0 {
            b.fence();
        }
    }
}

/// All messages at once, everyone beginning with the rank after its own.
///
/// Cost: (p−1) (α + mβ) at most; the network decides what overlaps.
pub fn linear(b: &mut Builder, outgoing: &Layout, incoming: &Layout) {
    pairwise(b, outgoing, incoming, b.size());
}

/// Exchange in place: the blocks in the receive buffer are replaced by their partners'. In round
/// i the ranks whose sum is i mod p are partners, so that two ranks meet in the same round;
/// incoming blocks wait in one of k scratch blocks until the outgoing one has left.
///
/// Cost: p/k (α + mβ) and a copy of all blocks.
pub fn pairwise_in_place(b: &mut Builder, blocks: &Layout, ports: usize) {
    let (rank, p) = (b.rank(), b.size());
    let longest = (0..p).map(|block| blocks.len(block)).max().unwrap_or(0);
    let scratch: Vec<Region> = (0..ports.min(p - 1)).map(|_| b.temp(longest)).collect();
    let partners = (0..p).map(|round| (round + p - rank) % p).filter(|&partner| partner != rank);
    for (partner, scratch) in partners.zip(scratch.iter().cycle()) {
        let block = blocks.block(Buffer::Recv, partner);
        let arrived = scratch.slice(0, block.len);
        b.exchange(partner, block, partner, arrived);
        b.copy(arrived, block);
    }
}
