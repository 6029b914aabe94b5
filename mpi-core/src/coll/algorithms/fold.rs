//! Hypercube algorithms on any number of processes: fold to a power of two, then halve.
//!
//! With p = 2^m + r, the first r pairs of neighbours (0,1), (2,3), … are folded into one process
//! each, which takes part as a *corner* of the m-cube and serves its partner before and after
//! (Rabenseifner 2004). Neighbours are folded, and corners are numbered in rank order, so that
//! reductions keep their order.

use std::ops::Range;

/// How `size` processes are folded to the corners of a hypercube.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    corners: usize,
    pairs: usize,
    /// This process takes part itself; in all other pairs the lower one does.
    keep: usize,
}

/// What a process is after folding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Corner of this number, which may also stand for another process.
    Corner(usize, Option<usize>),
    /// Represented by this process.
    Folded(usize),
}

impl Fold {
    /// Folds `size` processes such that `keep` becomes a corner.
    pub(super) fn new(size: usize, keep: usize) -> Fold {
        let corners = 1 << size.ilog2();
        Fold { corners, pairs: size - corners, keep }
    }

    /// The number of corners, a power of two.
    pub(super) fn corners(&self) -> usize {
        self.corners
    }

    /// What `rank` does.
    pub(super) fn role(&self, rank: usize) -> Role {
        if rank >= 2 * self.pairs {
            return Role::Corner(rank - self.pairs, None);
        }
        match self.rank_of(rank / 2) {
            represented if represented == rank => Role::Corner(rank / 2, Some(rank ^ 1)),
            other => Role::Folded(other),
        }
    }

    /// The process at a corner.
    pub(super) fn rank_of(&self, corner: usize) -> usize {
        if corner >= self.pairs {
            corner + self.pairs
        } else if self.keep / 2 == corner {
            self.keep
        } else {
            2 * corner
        }
    }

    /// The ranks that a corner stands for.
    pub(super) fn ranks_of(&self, corner: usize) -> Range<usize> {
        if corner < self.pairs {
            2 * corner..2 * corner + 2
        } else {
            corner + self.pairs..corner + self.pairs + 1
        }
    }

    /// Recursive halving of one block a corner, seen from `corner`: in each round two processes
    /// at the next of `distances` share what they both hold.
    pub(super) fn halvings(
        &self,
        corner: usize,
        distances: impl Iterator<Item = usize>,
    ) -> Vec<Halving> {
        let mut held = 0..self.corners;
        distances
            .map(|distance| {
                let middle = held.start + held.len() / 2;
                let (lower, upper) = (held.start..middle, middle..held.end);
                let above = corner & distance != 0;
                let (kept, given) = if above { (upper, lower) } else { (lower, upper) };
                held = kept.clone();
                let partner = self.rank_of(corner ^ distance);
                Halving { partner, distance, partner_below: above, kept, given }
            })
            .collect()
    }

    /// 1, 2, 4, … : neighbours first, which keeps a reduction in rank order and leaves the blocks
    /// in bit-reversed order.
    pub(super) fn near_to_far(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        (0..self.corners.ilog2()).map(|bit| 1 << bit)
    }
}

/// One round of recursive halving.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Halving {
    /// The rank at the other side.
    pub(super) partner: usize,
    /// Its distance, in corners.
    pub(super) distance: usize,
    /// Whether its rank is lower.
    pub(super) partner_below: bool,
    /// The blocks that this process goes on with.
    pub(super) kept: Range<usize>,
    /// The blocks that the partner goes on with.
    pub(super) given: Range<usize>,
}
