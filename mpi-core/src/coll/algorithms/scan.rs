//! Prefix reductions (MPI-5.0 §6.11). An inclusive scan starts with the rank's contribution in
//! `data`, the receive buffer, and leaves the reduction of ranks 0 … r there. An exclusive one
//! takes it from `input` and leaves that of ranks 0 … r−1 in the receive buffer; on rank 0 it
//! does not touch it.

use super::bcast::segments;
use crate::coll::builder::Builder;
use crate::coll::schedule::{Buffer, Region};

/// Inclusive scan by recursive doubling (Hillis 1986): after the round of distance d everyone has
/// the sum of 2d ranks.
///
/// Cost: ⌈log₂ p⌉ (α + mβ + mγ).
pub fn recursive_doubling(b: &mut Builder, data: Region) {
    let arrived = b.temp(data.len);
    let mut distance = 1;
    while distance < b.size() {
        if b.rank() + distance < b.size() {
            b.send(b.rank() + distance, data);
        }
        if b.rank() >= distance {
            b.recv(b.rank() - distance, arrived);
            b.reduce(arrived, data);
        }
        distance *= 2;
    }
}

/// Exclusive scan by recursive doubling: beside the sum that travels, one without the own
/// contribution is kept.
///
/// Cost: ⌈log₂ p⌉ (α + mβ + 2mγ).
pub fn exclusive_doubling(b: &mut Builder, input: Region) {
    let result = Region::new(Buffer::Recv, input.len);
    let (sum, arrived) = (b.temp(input.len), b.temp(input.len));
    b.copy(input, sum);
    let mut distance = 1;
    while distance < b.size() {
        if b.rank() + distance < b.size() {
            b.send(b.rank() + distance, sum);
        }
        if b.rank() >= distance {
            let operand = if distance == 1 { result } else { arrived };
            b.recv(b.rank() - distance, operand);
            b.reduce(operand, sum);
            if distance > 1 {
                b.reduce(operand, result);
            }
        }
        distance *= 2;
    }
}

/// Inclusive scan along the chain of all ranks, in segments of s units that follow each other.
///
/// Cost: (p − 2 + m/s) (α + sβ + sγ).
pub fn chain(b: &mut Builder, data: Region, segment: i64) {
    let arrived = b.temp(data.len);
    for (part, operand) in segments(data, segment).zip(segments(arrived, segment)) {
        if b.rank() > 0 {
            b.recv(b.rank() - 1, operand);
            b.reduce(operand, part);
        }
        if b.rank() + 1 < b.size() {
            b.send(b.rank() + 1, part);
        }
    }
}

/// Exclusive scan along the chain.
///
/// Cost: as [`chain`]'s.
pub fn exclusive_chain(b: &mut Builder, input: Region, segment: i64) {
    let result = Region::new(Buffer::Recv, input.len);
    let sum = b.temp(input.len);
    b.copy(input, sum);
    for (part, sum) in segments(result, segment).zip(segments(sum, segment)) {
        if b.rank() > 0 {
            b.recv(b.rank() - 1, part);
            b.reduce(part, sum);
        }
        if b.rank() + 1 < b.size() {
            b.send(b.rank() + 1, sum);
        }
    }
}
