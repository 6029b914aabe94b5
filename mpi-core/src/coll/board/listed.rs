//! Blocks for all members of a board, looked up once and written in one go: what one process writes for each
//! of the others is short, and the way through the layers would take longer than the copy.
//!
//! Enters: blocks, by rank. Leaves: messages, one for each member but this one, as
//! [`write_run`](Entry::write_run) writes them.

use super::message::readable;
use super::quick_left::Block;
use super::seat::Seat;
use crate::boards::{Audience, Boards};
use crate::buffer::{RawBytes, UserBuffer};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// Members whose blocks are listed.
const FEW: usize = 8;

/// The blocks of all members, where these are few.
pub(super) struct List<'a>([RawBytes<'a>; FEW]);

impl Default for List<'_> {
    #[inline]
    fn default() -> Self {
        List([RawBytes::EMPTY; FEW])
    }
}

impl List<'_> {
    /// Lists the block for the member of this rank.
    #[inline]
    pub(super) fn put(&mut self, rank: u32, block: Block) {
        if let Some(entry) = self.0.get_mut(rank as usize) {
            *entry = readable(block);
        }
    }

    /// The block of the member of this rank, unless members are too many.
    #[inline]
    pub(super) fn get(&self, rank: u32) -> Option<Block> {
        let block = self.0.get(rank as usize)?;
        Some((UserBuffer(block.as_ptr().cast_mut()), block.len()))
    }
}

impl<P: Port> Entry<'_, P> {
    /// Writes what is listed for the other members, or, where these are too many for a list, does `otherwise`.
    #[inline]
    pub(super) fn write_listed(
        &mut self,
        seat: Seat,
        list: &List<'_>,
        otherwise: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let Some(list) = list.0.get(..seat.size as usize) else { return otherwise(self) };
        let (before, behind) = list.split_at(seat.rank as usize);
        self.write_runs(seat, seat.rank + 1, &behind[1..])?;
        self.write_runs(seat, 0, before)
    }

    /// Writes these blocks to members from this one on; an empty one is no message.
    #[inline]
    fn write_runs(&mut self, seat: Seat, first: u32, blocks: &[RawBytes<'_>]) -> Result<()> {
        let written = self.port.memory_mut().write_runs(seat.board, first, blocks);
        if written == blocks.len() {
            return Ok(());
        }
        for (rank, block) in (first..).zip(blocks).skip(written) {
            let at = UserBuffer(block.as_ptr().cast_mut());
            self.write_run(seat, Audience::One(rank), at, block.len(), 1)?;
        }
        Ok(())
    }
}
