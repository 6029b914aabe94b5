//! Messages that stay where they are: the writer shows where one lies, and its readers fetch it there (decision 62).
//!
//! Who cannot fetch it refuses, and gets it in pieces, written for it alone. A reader does what each piece
//! says, so nobody has to agree on anything beforehand.
//!
//! Enters: messages that may be fetched, and pieces that are shown. Leaves: whether they have moved on.

use super::message::{Incoming, Outgoing, Way, whole_units};
use super::seat::AtBoard;
use crate::boards::{Audience, Boards, Fetched, Piece, Shown, Source};
use crate::datatype::Packer;
use crate::error::{ErrorClass, Result};
use crate::lost::failed_elsewhere;
use crate::port::Port;
use crate::tuning::LONG_BLOCK_BYTES;

impl Outgoing {
    /// Lets its readers fetch it, if that pays.
    pub(super) fn let_fetch<P: Port>(&mut self, at: &mut AtBoard<'_, P>) {
        if at.is_better_shown(self.to, &self.source) {
            self.way = Way::Open;
        }
    }

    /// Shows where it lies, or looks whether all have it; whether so, and nothing if a piece has to be written.
    #[inline(never)]
    pub(super) fn show<P: Port>(&mut self, at: &mut AtBoard<'_, P>) -> Option<bool> {
        match &self.way {
            Way::Written | Way::Again(_) => None,
            Way::Open => {
                let run = self.source.as_contiguous();
                let shown = run.is_some_and(|(place, len)| {
                    at.entry.port.memory_mut().show_piece(at.seat.board, self.to, place, len)
                });
                self.way = if shown { Way::Shown } else { Way::Written };
                shown.then_some(true)
            }
            Way::Shown => {
                let rank = match at.entry.port.memory_mut().shown(at.seat.board, self.to) {
                    Shown::Waits => return Some(false),
                    Shown::Taken => {
                        self.done = true;
                        return Some(true);
                    }
                    Shown::Refused(rank) => rank,
                };
                self.way = Way::Again(Box::new((self.source.clone(), self.to)));
                self.to = Audience::One(rank);
                self.most = whole_units(at.piece_max(self.to), self.unit);
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
    /// Fetches a piece, or reads from now on what is written. A failed writer's memory may change once it says so.
    #[inline(never)]
    pub(super) fn fetch<P: Port>(&mut self, at: &mut AtBoard<'_, P>, piece: Piece) -> Result<()> {
        let rank = self.from.rank();
        let fetched = at.entry.port.memory_mut().fetch_piece(
            at.seat.board,
            self.from,
            &mut self.into,
            self.past,
        );
        if let Fetched::Whole(taken) = fetched {
            self.beyond += piece.apart.saturating_sub(taken);
            self.done = piece.last;
        } else {
            self.from = Source::Private(rank);
        }
        match at.renounced(rank) {
            Some(class) => Err(failed_elsewhere(rank, ErrorClass::from_wire(class))),
            None => Ok(()),
        }
    }
}

impl<P: Port> AtBoard<'_, P> {
    /// Whether readers should fetch a message.
    pub(super) fn is_better_shown(&mut self, to: Audience, source: &Packer) -> bool {
        self.is_left(to, source)
            || self.entry.port.memory_mut().is_better_shown(self.seat.board, to, source.remaining())
    }

    /// Whether they should copy it from where it lies.
    pub(super) fn is_left(&self, to: Audience, source: &Packer) -> bool {
        let run = source.as_contiguous();
        run.is_some_and(|(at, len)| {
            self.entry.port.memory().is_better_left(self.seat.board, to, at, len)
        })
    }

    /// Whether a writer waits until its only reader has copied what it was shown, which is sooner there than what
    /// is written. Nobody does where it has only begun to.
    pub(super) fn may_wait(&self) -> bool {
        self.seat.size == 2 && !self.seat.crowded && !self.entry.begun.is_starting()
    }

    /// Lets the readers of a message fetch it if this process would only wait for them, or has long enough to wait: the
    /// only other member or, where ranks share processors, all.
    pub(super) fn offered(&mut self, mut message: Outgoing) -> Outgoing {
        let for_all = message.to == Audience::Everyone;
        let in_turn = self.seat.takes_turns() && !self.entry.begun.is_starting();
        let only = self.seat.size == 2 && !self.seat.crowded;
        if self.may_wait() || in_turn && for_all || only && message.remaining() >= LONG_BLOCK_BYTES
        {
            message.let_fetch(self);
        }
        message
    }
}
