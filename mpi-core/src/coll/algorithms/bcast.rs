//! Broadcasts (MPI-5.0 §6.4). The message is `data` on every rank; the root's is filled.

use super::section::section;
use super::{allgather, scatter};
use crate::coll::builder::Builder;
use crate::coll::layout::Layout;
use crate::coll::schedule::Region;

/// More segments than this hide no more latency and only cost steps.
const SEGMENTS_MAX: i64 = 1024;

/// Down the k-port binomial tree (Johnsson 1989): for short messages.
///
/// Cost: ⌈log_{k+1} p⌉ (α + mβ).
pub fn binomial(b: &mut Builder, root: usize, data: Region, ports: usize) {
    let limb = section(b.rank(), b.size(), root, ports);
    if let Some(parent) = limb.parent {
        b.recv(parent, data);
    }
    for (child, _) in limb.children {
        b.send(child, data);
    }
}

/// Scatter, then all-gather round a ring (van de Geijn 1994): for long messages.
///
/// Cost: (⌈log_{k+1} p⌉ + p − 1) α + 2 (p−1)/p mβ.
pub fn scatter_ring(b: &mut Builder, root: usize, data: Region, ports: usize) {
    let blocks = Layout::even(data.len, b.size());
    scatter::in_place(b, root, data, &blocks, ports);
    allgather::ring(b, data, &blocks, 0);
}

/// Scatter, then all-gather by recursive doubling (Thakur 2005): for messages of medium length.
/// The number of processes must be a power of two.
///
/// Cost: (⌈log_{k+1} p⌉ + log₂ p) α + 2 (p−1)/p mβ.
pub fn scatter_doubling(b: &mut Builder, root: usize, data: Region, ports: usize) {
    let blocks = Layout::even(data.len, b.size());
    scatter::in_place(b, root, data, &blocks, ports);
    allgather::recursive_doubling(b, data, &blocks);
}

/// Down a chain of all ranks in segments of s units, each passed on while the next comes in: for
/// very long messages and few processes.
///
/// Cost: (p − 2 + m/s) (α + sβ).
pub fn chain(b: &mut Builder, root: usize, data: Region, segment: i64) {
    let place = (b.rank() + b.size() - root) % b.size();
    for part in segments(data, segment) {
        if place > 0 {
            b.recv(b.behind(1), part);
        }
        if place + 1 < b.size() {
            b.send(b.ahead(1), part);
        }
    }
}

/// Cuts `data` into segments of at least `segment` units.
pub(in crate::coll) fn segments(data: Region, segment: i64) -> impl Iterator<Item = Region> {
    let pieces = |len: i64| (data.len + len - 1) / len;
    let len = segment.max(pieces(SEGMENTS_MAX)).max(1);
    (0..pieces(len)).map(move |i| data.slice(i * len, len.min(data.len - i * len)))
}
