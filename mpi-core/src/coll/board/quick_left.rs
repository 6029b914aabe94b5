//! What of the short way is rather left where it lies: the ordinary way takes over, and here exchanges between two
//! members of a board, each with a processor: each shows its own, and copies or fetches the other's.
//!
//! In: runs of memory. Out: whether they are left, or both have what is theirs.

use super::message::{Incoming, Outgoing};
use super::pattern::Pattern;
use super::quick::QUICK_BYTES;
use super::seat::Seat;
use crate::boards::{Audience, Boards, MAPPED_BYTES};
use crate::buffer::UserBuffer;
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// From this many bytes on it may count where a message lies that a root has or gets, and one that processes
/// exchange or reduce (see [`MAPPED_BYTES`]).
pub(super) const LEFT_BYTES: usize = MAPPED_BYTES as usize;
/// The same of a block that a root scatters, which it need not wait to be read where it writes it. IMB on two ranks
/// (Zen 5), where it lies and so: scatterv of 4 KiB 0.77 and 0.31 µs near each other, 1.0 and 0.9 far; scatter 0.54
/// and 0.29, 0.80 and 0.90; of 16 KiB 0.95 and 1.24, far.
pub(super) const SCATTERED_BYTES: usize = 2 * LEFT_BYTES;
pub(super) const EXCHANGED_BYTES: usize = 2 * LEFT_BYTES;
/// Longest block that is exchanged here, in bytes: with longer ones the time that it saves does not count.
pub(super) const EXCHANGE_BYTES: u64 = 256 << 10;

/// A block: its address and its bytes.
pub(super) type Block = (UserBuffer, usize);

/// The blocks of one of two processes.
pub(super) struct Blocks {
    /// What it sends, and where it receives.
    out: Block,
    into: Block,
    /// What it has for itself, and where that goes.
    own: (UserBuffer, UserBuffer, usize),
}

impl Blocks {
    /// The blocks that a process sends to a rank and receives from one, if there are two processes, each with a
    /// processor, and their blocks are plain.
    #[inline]
    pub(super) fn between(
        seat: Seat,
        send: impl Fn(u32) -> Option<Block>,
        recv: impl Fn(u32) -> Option<Block>,
    ) -> Option<Blocks> {
        if seat.size != 2 || seat.crowded {
            return None;
        }
        let (out, into) = (send(1 - seat.rank)?, recv(1 - seat.rank)?);
        let ((from, len), (to, room)) = (send(seat.rank)?, recv(seat.rank)?);
        (len == room).then_some(Blocks { out, into, own: (from, to, len) })
    }
}

impl<P: Port> Entry<'_, P> {
    /// Whether blocks of at least `least` bytes, from there on, are long enough that others rather copy them from
    /// where they lie, or fetch them, which the short way does not let them do.
    #[inline(always)]
    pub(super) fn leaves(
        &mut self,
        seat: Seat,
        to: Audience,
        block: (UserBuffer, usize),
        least: usize,
    ) -> bool {
        block.1 >= least && self.leaves_long(seat, to, block)
    }

    /// The same of blocks for which it counts where they lie.
    #[inline(never)]
    fn leaves_long(&mut self, seat: Seat, to: Audience, (at, len): (UserBuffer, usize)) -> bool {
        let (board, bytes) = (seat.board, len as u64);
        self.port.memory().is_better_left(board, to, at.0, bytes)
            || !seat.crowded && self.port.memory_mut().is_better_shown(board, to, bytes)
    }

    /// The same where this process only waits meanwhile: so only between two ranks with a processor each.
    #[inline(always)]
    pub(super) fn leaves_and_waits(
        &mut self,
        seat: Seat,
        to: Audience,
        message: (UserBuffer, usize),
        least: usize,
    ) -> bool {
        message.1 >= least && self.may_wait(seat) && self.leaves_long(seat, to, message)
    }

    /// Whether blocks that processes exchange are left, or too long for this way.
    #[inline]
    pub(super) fn is_left_or_long(
        &mut self,
        seat: Seat,
        to: Audience,
        block: (UserBuffer, usize),
    ) -> bool {
        self.leaves(seat, to, block, EXCHANGED_BYTES) || block.1 as u64 > QUICK_BYTES
    }

    /// Whether long blocks go the short way all the same: where ranks share processors each is written as one piece
    /// if nobody rather copies it from where it lies, and the next process waits for what the ordinary way takes
    /// longer. (OSU, all-to-all of 64 KiB, 4 ranks near each other: 1.2 µs for the two of a processor.)
    #[inline(never)]
    pub(super) fn are_written(&mut self, seat: Seat, block: impl Fn(u32) -> Option<Block>) -> bool {
        seat.takes_turns()
            && seat.others().all(|rank| {
                let to = Audience::One(rank);
                let Some((at, len)) = block(rank) else { return false };
                let bytes = len as u64;
                self.is_one_piece(seat, to, bytes)
                    && !self.port.memory().is_better_left(seat.board, to, at.0, bytes)
                    && !self.port.memory_mut().is_better_shown(seat.board, to, bytes)
            })
    }

    /// Exchanges such blocks if there are any; else `false`, and the ordinary way takes over.
    #[inline(never)]
    pub(super) fn exchange_left(
        &mut self,
        seat: Seat,
        pattern: Pattern,
        blocks: Option<Blocks>,
    ) -> Result<bool> {
        let Some(blocks) = blocks else { return Ok(false) };
        let to = match pattern {
            Pattern::EachToAll => Audience::Everyone,
            _ => Audience::One(1 - seat.rank),
        };
        self.over_board(seat, |entry| entry.swap_left(seat, pattern, to, blocks))
    }

    fn swap_left(
        &mut self,
        seat: Seat,
        pattern: Pattern,
        to: Audience,
        blocks: Blocks,
    ) -> Result<()> {
        let Blocks { out: (at, len), into: (room, bytes), own: (from, kept, own) } = blocks;
        let mut transfer = self.begun.transfer(seat);
        let out = Packer::contiguous(at, len as u64);
        transfer.send(Outgoing::exchanged(self, seat, to, out));
        transfer.let_fetch(self);
        transfer.receive(Incoming::exchanged(
            pattern.source()(1 - seat.rank),
            Unpacker::contiguous(room, bytes as u64),
        ));
        let own = own as u64;
        let block = (Packer::contiguous(from, own), Unpacker::contiguous(kept, own));
        transfer.keep_own(block, self.exceeds_caches(seat, pattern, own));
        transfer.run(self)
    }
}
