//! How a buffer is cut into blocks, one per rank or neighbour.
//!
//! Algorithms ask a [`Layout`] where a block is in the concatenation of all blocks; the executor
//! asks it which blocks a [`Region`] covers, and alone knows their displacements and datatypes.

use std::ops::Range;

use super::schedule::{Buffer, Region};

/// Consecutive blocks of given lengths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout(Cut);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Cut {
    Uniform {
        len: i64,
        count: usize,
    },
    /// Starts of the blocks, and the end of the last.
    Starts(Vec<i64>),
}

/// The part of a region that lies in one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Index of the block.
    pub block: usize,
    /// First unit within the block.
    pub offset: i64,
    /// Number of units.
    pub len: i64,
}

impl Layout {
    /// `count` blocks of `len` units each.
    pub fn uniform(len: i64, count: usize) -> Layout {
        Layout(Cut::Uniform { len, count })
    }

    /// Blocks of the given lengths.
    pub fn of(lens: impl IntoIterator<Item = i64>) -> Layout {
        let ends = lens.into_iter().scan(0, |end, len| {
            *end += len;
            Some(*end)
        });
        Layout(Cut::Starts(std::iter::once(0).chain(ends).collect()))
    }

    /// `total` units in `count` blocks whose lengths differ by at most one.
    pub fn even(total: i64, count: usize) -> Layout {
        let (len, rest) = (total / count as i64, total % count as i64);
        if rest == 0 {
            return Layout::uniform(len, count);
        }
        Layout::of((0..count as i64).map(|block| len + i64::from(block < rest)))
    }

    /// The number of blocks.
    pub fn count(&self) -> usize {
        match &self.0 {
            Cut::Uniform { count, .. } => *count,
            Cut::Starts(starts) => starts.len() - 1,
        }
    }

    /// Where block `block` starts; for `count()`, where the last one ends.
    pub fn start(&self, block: usize) -> i64 {
        match &self.0 {
            Cut::Uniform { len, .. } => len * block as i64,
            Cut::Starts(starts) => starts[block],
        }
    }

    /// The length of a block.
    pub fn len(&self, block: usize) -> i64 {
        self.start(block + 1) - self.start(block)
    }

    /// The length of each block, if all have the same.
    pub fn only_len(&self) -> Option<i64> {
        let len = self.len(0);
        (1..self.count()).all(|block| self.len(block) == len).then_some(len)
    }

    /// The length of all blocks.
    pub fn total(&self) -> i64 {
        self.start(self.count())
    }

    /// Block `block` of `buffer`.
    pub fn block(&self, buffer: Buffer, block: usize) -> Region {
        self.span(buffer, block..block + 1)
    }

    /// The consecutive blocks `blocks` of `buffer`.
    pub fn span(&self, buffer: Buffer, blocks: Range<usize>) -> Region {
        let start = self.start(blocks.start);
        Region { buffer, start, len: self.start(blocks.end) - start }
    }

    /// The same blocks in the order first, first + 1, … with wrap-around.
    #[must_use]
    pub fn rotated(&self, first: usize) -> Layout {
        match &self.0 {
            Cut::Uniform { .. } => self.clone(),
            Cut::Starts(_) => self.permuted((first..self.count()).chain(0..first)),
        }
    }

    /// The blocks named by `order`, in that order.
    #[must_use]
    pub fn permuted(&self, order: impl IntoIterator<Item = usize>) -> Layout {
        Layout::of(order.into_iter().map(|block| self.len(block)))
    }

    /// What `region` covers of each block it touches, in order.
    pub fn pieces(&self, region: Region) -> impl Iterator<Item = Piece> + '_ {
        let (mut at, end) = (region.start, region.end());
        let mut block = self.holder(at);
        std::iter::from_fn(move || {
            while at < end {
                let piece_end = end.min(self.start(block + 1));
                let piece = Piece { block, offset: at - self.start(block), len: piece_end - at };
                at = piece_end;
                block += 1;
                if piece.len > 0 {
                    return Some(piece);
                }
            }
            None
        })
    }

    /// The block that `unit` lies in, which is below `total()`.
    fn holder(&self, unit: i64) -> usize {
        match &self.0 {
            Cut::Uniform { len, .. } => (unit / (*len).max(1)) as usize,
            Cut::Starts(starts) => starts.partition_point(|&start| start <= unit).saturating_sub(1),
        }
    }
}
