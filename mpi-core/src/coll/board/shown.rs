//! Messages that stay where they are: the writer shows where one lies in its own memory, and its
//! readers fetch it from there, with the writer's help where it would only wait (decision 62).
//!
//! Who cannot fetch it refuses, and gets it in pieces, written for it alone. A reader does what each piece
//! says, so nobody has to agree on anything beforehand.
//!
//! Enters: messages that may be fetched, and pieces that are shown. Leaves: whether they have moved on.

use super::message::{Incoming, Outgoing, Way, whole_units};
use super::seat::Seat;
use crate::boards::{Audience, Boards, Fetched, Mover, Piece, Shown, Source};
use crate::datatype::Packer;
use crate::entry::Entry;
use crate::error::{ErrorClass, Result};
use crate::lost::failed_elsewhere;
use crate::port::Port;

/// From this many bytes on a writer that would only wait helps its reader to fetch. Two ranks, far from
/// each other, IMB: broadcast of 64 KiB 6.0 µs so and 9.0 through the board, of 1 MiB 49 and 119.
const SHARED_BYTES: u64 = 64 << 10;
/// The same where a gather only begins: who is called for help later hears that later. OSU, 64, 128 and 256 KiB:
/// 11.5, 16.6 and 25.9 µs so, 9.9, 17.3 and 32.3 through the board.
const SHARED_BYTES_BEGUN: u64 = 256 << 10;

impl Outgoing {
    /// Lets its readers fetch it, if that pays.
    pub(super) fn let_fetch<P: Port>(&mut self, entry: &mut Entry<'_, P>, seat: Seat) {
        if entry.is_better_shown(seat, self.to, &self.source) {
            self.way = Way::Open;
        }
    }

    /// Whether its readers have been shown where it lies.
    pub(super) fn is_shown(&self) -> bool {
        matches!(self.way, Way::Shown)
    }

    /// Shows where it lies, or looks whether all have it; whether that was so, and nothing if a piece has to be
    /// written.
    #[inline(never)]
    pub(super) fn show<P: Port>(&mut self, entry: &mut Entry<'_, P>, seat: Seat) -> Option<bool> {
        match &self.way {
            Way::Written | Way::Again(_) => None,
            Way::Open => {
                let run = self.source.as_contiguous();
                let shown = run.is_some_and(|(at, len)| {
                    entry.port.memory_mut().show_piece(seat.board, self.to, at, len)
                });
                self.way = if shown { Way::Shown } else { Way::Written };
                shown.then_some(true)
            }
            Way::Shown => {
                let rank = match entry.port.memory_mut().shown(seat.board, self.to) {
                    Shown::Waits => return Some(false),
                    Shown::Taken => {
                        self.done = true;
                        return Some(true);
                    }
                    Shown::Refused(rank) => rank,
                };
                self.way = Way::Again(Box::new((self.source.clone(), self.to)));
                self.to = Audience::One(rank);
                self.most =
                    whole_units(entry.port.memory().piece_max(seat.board, self.to), self.unit);
                None
            }
        }
    }

    /// One who could not fetch it has it now.
    #[cold]
    pub(super) fn go_on_showing(&mut self) {
        if let Way::Again(again) = std::mem::replace(&mut self.way, Way::Shown) {
            (self.source, self.to) = *again;
            self.done = false;
        }
    }
}

impl Incoming {
    /// The same moved by the writer too, who would only wait (see [`Entry::offered`]).
    pub(super) fn shared(mut self) -> Incoming {
        self.by = Mover::Both;
        self
    }

    /// Whether it is.
    pub(super) fn is_shared(&self) -> bool {
        self.by == Mover::Both
    }

    /// Lets the writer begin, if it has come, while this process does something else.
    pub(super) fn let_begin<P: Port>(
        &mut self,
        entry: &mut Entry<'_, P>,
        seat: Seat,
    ) -> Result<()> {
        let piece = entry.port.memory_mut().read_piece(seat.board, self.from);
        if piece.is_some_and(|piece| piece.apart > 0 && piece.apart <= self.remaining()) {
            let by = std::mem::replace(&mut self.by, Mover::Writer);
            let pulled = self.pull(entry, seat);
            self.by = by;
            pulled?;
        }
        Ok(())
    }

    /// Gets a piece out of the writer's memory, or from now on what it writes instead; whether it has
    /// come to an end. A writer that fails may change its memory after it has said so.
    #[inline(never)]
    pub(super) fn fetch<P: Port>(
        &mut self,
        entry: &mut Entry<'_, P>,
        seat: Seat,
        piece: Piece,
    ) -> Result<bool> {
        let rank = self.from.rank();
        let fetched =
            entry.port.memory_mut().fetch_piece(seat.board, self.from, &mut self.into, self.by);
        self.begun = fetched == Fetched::Begun;
        match fetched {
            Fetched::Begun => return Ok(false),
            Fetched::Whole(taken) => {
                self.beyond += piece.apart.saturating_sub(taken);
                self.done = piece.last;
            }
            Fetched::Refused => self.from = Source::Private(rank),
        }
        match entry.port.memory_mut().renounced(seat.board, rank) {
            Some(class) => Err(failed_elsewhere(rank, ErrorClass::from_wire(class))),
            None => Ok(true),
        }
    }
}

impl<P: Port> Entry<'_, P> {
    /// Whether readers should fetch a message.
    pub(super) fn is_better_shown(&mut self, seat: Seat, to: Audience, source: &Packer) -> bool {
        self.is_left(seat, to, source)
            || self.port.memory_mut().is_better_shown(seat.board, to, source.remaining())
    }

    /// Whether they should copy it from where it lies.
    pub(super) fn is_left(&self, seat: Seat, to: Audience, source: &Packer) -> bool {
        let run = source.as_contiguous();
        run.is_some_and(|(at, len)| self.port.memory().is_better_left(seat.board, to, at, len))
    }

    /// Whether both ends move a message of so many bytes. Where they share a processor only one can at a time.
    pub(super) fn is_shared(&self, seat: Seat, to: Audience, bytes: u64) -> bool {
        let least = match to {
            Audience::One(_) if self.begun.is_starting() => SHARED_BYTES_BEGUN,
            _ => SHARED_BYTES,
        };
        seat.size == 2 && !seat.crowded && bytes >= least
    }

    /// Whether a writer waits until its only reader has copied what it was shown, which is sooner there than what
    /// is written. Nobody does where it has only begun to.
    pub(super) fn may_wait(&self, seat: Seat) -> bool {
        seat.size == 2 && !seat.crowded && !self.begun.is_starting()
    }

    /// Whether who contributes goes on sooner if it writes, wherever that lies.
    pub(super) fn is_light(&mut self, seat: Seat, to: Audience, bytes: u64) -> bool {
        to != Audience::Everyone
            && self.port.memory().is_lightly_written(seat.board, to)
            && !self.port.memory_mut().is_better_shown(seat.board, to, bytes)
    }

    /// Lets the readers of a message fetch it if this process would only wait for them: the only other member, which
    /// then moves a part of it or all, or, where ranks share processors, all.
    pub(super) fn offered(&mut self, seat: Seat, mut message: Outgoing) -> Outgoing {
        let for_all = message.to == Audience::Everyone;
        let in_turn = seat.takes_turns() && !self.begun.is_starting();
        let waits = self.may_wait(seat) || in_turn && for_all;
        let bytes = message.remaining();
        if self.is_light(seat, message.to, bytes) {
            return message;
        }
        let left = bytes >= SHARED_BYTES && self.is_left(seat, message.to, &message.source);
        if waits
            || self.is_shared(seat, message.to, bytes)
            || left && seat.size == 2 && !seat.crowded
        {
            message.let_fetch(self, seat);
        }
        message
    }
}
