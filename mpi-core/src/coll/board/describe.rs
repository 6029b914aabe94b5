//! What each process does in a collective: who writes what to whom, who takes what from whom, and what it copies for
//! itself. Where it reduces too, [`reduce`](super::reduce) says so.
//!
//! Enters: a call. Leaves: its transfer, which a blocking call runs to its end and any other one begins.

use super::message::{Incoming, Outgoing};
use super::pattern::Pattern;
use super::seat::Seat;
use super::transfer::Transfer;
use crate::boards::{Audience, Boards, Source};
use crate::buffer::UserBuffer;
use crate::coll::menu::Algorithm;
use crate::coll::place::{Place, Places};
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Prepared};
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// The root that gives something to all in this operation: all members must think alike of that (see
/// [`gives`](Entry::gives)), whichever way each of them goes.
fn giver(problem: &Problem) -> Option<u32> {
    match problem {
        Problem::Bcast { root, .. }
        | Problem::Scatter { root, .. }
        | Problem::Scatterv { root, .. } => Some(*root as u32),
        _ => None,
    }
}

impl<P: Port> Entry<'_, P> {
    /// What this process does in a call.
    pub(super) fn describe(
        &mut self,
        seat: Seat,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<Box<Transfer>> {
        let problem = &call.problem;
        self.share_caches(seat, usize::MAX, Pattern::by(algorithm, problem));
        if let Some(root) = giver(problem) {
            self.gives(seat, root)?;
        }
        match &call.data {
            Data::Moved { send, recv } => self.describe_moves(seat, problem, send, recv),
            Data::Reduced(data) => self.describe_reduction(seat, problem, data, algorithm),
        }
    }

    fn describe_moves(
        &mut self,
        seat: Seat,
        problem: &Problem,
        send: &Places,
        recv: &Places,
    ) -> Result<Box<Transfer>> {
        let me = seat.rank as usize;
        let mut transfer = self.begun.transfer(seat);
        match problem {
            Problem::Barrier => meet(&mut transfer, seat),
            Problem::Bcast { root, .. } if *root == me => {
                let message = Outgoing::of_root(self, seat, self.packer_of(recv.first())?);
                transfer.send(self.offered(seat, message));
            }
            Problem::Bcast { root, .. } => {
                let into = self.unpacker_of(recv.first())?;
                transfer.receive(Incoming::new(Source::Public(*root as u32), into));
            }
            Problem::Gather { root, .. } | Problem::Gatherv { root, .. } if *root != me => {
                let (to, block) = (Audience::One(*root as u32), self.packer_of(send.first())?);
                let message = Outgoing::exchanged(self, seat, to, block);
                transfer.send(self.offered(seat, message));
            }
            Problem::Gather { .. } | Problem::Gatherv { .. } => {
                self.takes(seat)?;
                self.receive_all(&mut transfer, recv, Pattern::Rooted)?;
                self.keep_own(&mut transfer, Pattern::Rooted, send.first(), recv.get(me))?;
            }
            Problem::Scatter { root, .. } | Problem::Scatterv { root, .. } if *root != me => {
                let into = self.unpacker_of(recv.first())?;
                transfer.receive(Incoming::new(Source::Private(*root as u32), into));
            }
            Problem::Scatter { .. } | Problem::Scatterv { .. } => {
                for rank in seat.others() {
                    let source = self.packer_of(send.get(rank as usize))?;
                    transfer.send(Outgoing::new(self, seat, Audience::One(rank), source, 1));
                }
                transfer.let_fetch(self);
                self.keep_own(&mut transfer, Pattern::Rooted, send.get(me), recv.first())?;
            }
            Problem::Allgather { in_place, .. } => {
                let block = if *in_place { recv.get(me) } else { send.first() };
                let out = self.packer_of(block)?;
                transfer.send(Outgoing::exchanged(self, seat, Audience::Everyone, out));
                let own = (send.first(), recv.get(me));
                self.exchange_blocks(&mut transfer, recv, Pattern::EachToAll, own)?;
            }
            Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
                let from = if *in_place { recv } else { send };
                for rank in seat.others() {
                    let source = self.packer_of(from.get(rank as usize))?;
                    transfer.send(Outgoing::exchanged(self, seat, Audience::One(rank), source));
                }
                transfer.swap(*in_place);
                let own = if *in_place { (None, None) } else { (send.get(me), recv.get(me)) };
                self.exchange_blocks(&mut transfer, recv, Pattern::EachToEach, own)?;
            }
            _ => unreachable!("the other problems reduce"),
        }
        Ok(transfer)
    }

    /// What all give each other, and what this process keeps of its own.
    fn exchange_blocks(
        &mut self,
        transfer: &mut Transfer,
        recv: &Places,
        pattern: Pattern,
        (own, into): (Option<Place>, Option<Place>),
    ) -> Result<()> {
        transfer.let_fetch(self);
        self.receive_all(transfer, recv, pattern)?;
        self.keep_own(transfer, pattern, own, into)
    }

    /// Every other member's block comes in.
    fn receive_all(
        &mut self,
        transfer: &mut Transfer,
        recv: &Places,
        pattern: Pattern,
    ) -> Result<()> {
        let seat = transfer.seat();
        let past = self.is_beyond_caches(seat, recv, pattern);
        let from = pattern.source();
        for rank in seat.others() {
            let into = self.unpacker_of(recv.get(rank as usize))?;
            let message = match pattern {
                Pattern::Rooted => Incoming::new(from(rank), into),
                _ => Incoming::exchanged(from(rank), into),
            };
            transfer.receive(message.past_caches(past));
        }
        transfer.come_short(seat.crowded && self.come_short(seat, recv));
        Ok(())
    }

    /// This process keeps a block of its own, unless it is in place: past the caches where none holds what all have.
    fn keep_own(
        &self,
        transfer: &mut Transfer,
        pattern: Pattern,
        own: Option<Place>,
        into: Option<Place>,
    ) -> Result<()> {
        let (Some(own), Some(into)) = (own, into) else { return Ok(()) };
        let block = (own.packer(&self.datatypes)?, into.unpacker(&self.datatypes)?);
        let past = match pattern {
            Pattern::Rooted => false,
            _ => self.exceeds_caches(transfer.seat(), pattern, block.0.remaining()),
        };
        transfer.keep_own(block, past);
        Ok(())
    }

    fn packer_of(&self, place: Option<Place>) -> Result<Packer> {
        place.map_or(Ok(Packer::contiguous(UserBuffer::BOTTOM, 0)), |place| {
            place.packer(&self.datatypes)
        })
    }

    fn unpacker_of(&self, place: Option<Place>) -> Result<Unpacker> {
        place.map_or(Ok(Unpacker::contiguous(UserBuffer::BOTTOM, 0)), |place| {
            place.unpacker(&self.datatypes)
        })
    }

    /// Whether all blocks from others may be one piece each that nobody fetches.
    fn come_short(&mut self, seat: Seat, blocks: &Places) -> bool {
        let to = Audience::One(seat.neighbour());
        let lens = (0..seat.size as usize).filter_map(|rank| blocks.get(rank));
        lens.map(|place| place.bytes() as u64).all(|len| {
            self.is_one_piece(seat, to, len)
                && !self.port.memory_mut().is_better_shown(seat.board, to, len)
        })
    }

    /// Whether a message is one piece.
    pub(super) fn is_one_piece(&self, seat: Seat, to: Audience, len: u64) -> bool {
        len <= self.port.memory().piece_max(seat.board, to) as u64
    }
}

/// Everyone tells everyone that it is there.
fn meet(transfer: &mut Transfer, seat: Seat) {
    transfer.send(Outgoing::signal(Audience::Everyone));
    for rank in seat.others() {
        transfer.receive(Incoming::signal(Source::Public(rank)));
    }
    transfer.come_short(true);
}
