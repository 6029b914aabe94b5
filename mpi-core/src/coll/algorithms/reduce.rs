//! Reductions to one process along trees (MPI-5.0 §6.9). `input` is the rank's contribution:
//! its send buffer, or the receive buffer of a root that works in place. The root's result is
//! `Recv`, all of it; other ranks have no receive buffer.

use super::section::section;
use super::sum::Sum;
use crate::coll::builder::Builder;
use crate::coll::schedule::{Buffer, Region};

/// Up the k-port binomial tree, whose limbs are runs of consecutive ranks: for short vectors.
///
/// Cost: ⌈log_{k+1} p⌉ (α + mβ + kmγ).
pub fn binomial(b: &mut Builder, root: usize, input: Region, ports: usize) {
    let limb = section(b.rank(), b.size(), root, ports);
    let result = Region::new(Buffer::Recv, input.len);
    let mut free = Vec::new();
    if b.rank() == root && input != result {
        free.push(result);
    }
    while free.len() < limb.children.len().min(ports) {
        free.push(b.temp(input.len));
    }
    let mut sum = Sum::new(input, free);
    for (child, _) in limb.children.iter().rev() {
        sum.absorb_from(b, *child);
    }
    match limb.parent {
        Some(parent) => b.send(parent, sum.value),
        None => b.copy(sum.value, result),
    }
}

/// The root receives every contribution itself, from the highest rank down, k at a time.
///
/// Cost: (p−1) (α/k + mβ + mγ).
pub fn linear(b: &mut Builder, root: usize, input: Region, ports: usize) {
    if b.rank() != root {
        return b.send(root, input);
    }
    let last = b.size() - 1;
    let result = Region::new(Buffer::Recv, input.len);
    let sum = if input == result { b.temp(input.len) } else { result };
    if root == last {
        b.copy(input, sum);
    } else {
        b.recv(last, sum);
    }
    let scratch: Vec<Region> = (0..ports.min(last)).map(|_| b.temp(input.len)).collect();
    for (rank, &scratch) in (0..last).rev().zip(scratch.iter().cycle()) {
        if rank == root {
            b.reduce(input, sum);
        } else {
            b.recv(rank, scratch);
            b.reduce(scratch, sum);
        }
    }
    b.copy(sum, result);
}
