//! Who writes what to whom, collective by collective: where data only moves. `reduce` has the others.

use super::message::{Incoming, Outgoing, copy, copy_own, copy_while, land_own};
use super::pattern::Pattern;
use super::quick;
use super::seat::{BoardState, Seat};
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::boards::{Audience, Boards, LONG_BLOCK, Source};
use crate::buffer::UserBuffer;
use crate::coll::menu::Algorithm;
use crate::coll::place::{Place, Places};
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Prepared};
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::{ErrorClass, Result};
use crate::port::Port;

/// A block that a process has for itself: from where it is copied, and to where.
pub(super) type OwnBlock = (Packer, Unpacker);

/// The root that gives something to all in this operation, or lends it: all members must think alike of that (see
/// [`gives`](Entry::gives)), whichever way each of them goes.
pub(super) fn giver(problem: &Problem) -> Option<u32> {
    match problem {
        Problem::Bcast { root, .. }
        | Problem::Scatter { root, .. }
        | Problem::Scatterv { root, .. } => Some(*root as u32),
        Problem::Gather { root, block, .. } if *block as u64 >= LONG_BLOCK => Some(*root as u32),
        _ => None,
    }
}

impl<P: Port> Entry<'_, P> {
    /// Runs a collective operation over the board of its communicator.
    #[inline]
    pub(in crate::coll) fn run_on_board(
        &mut self,
        seat: Seat,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<()> {
        let run = |entry: &mut Self| match &call.data {
            Data::Moved { send, recv } => entry.move_over_board(seat, &call.problem, send, recv),
            Data::Reduced(data) => entry.reduce_over_board(seat, &call.problem, data, algorithm),
        };
        self.over_board(seat, run).map(drop)
    }

    /// Runs something on the board as one collective operation. It is always inlined: what the short
    /// ways run takes their arguments with it.
    #[inline(always)]
    pub(in crate::coll) fn over_board(
        &mut self,
        seat: Seat,
        run: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<bool> {
        if !self.begun.is_empty() && !self.is_free(seat)? {
            return Ok(false);
        }
        let state = self.comm_mut(seat.comm)?;
        let number = state.next_call();
        if quick::polls(number) {
            self.poll();
        }
        match run(self) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.renounce(seat, error.class())?;
                Err(error)
            }
        }
    }

    /// An operation failed here.
    #[cold]
    pub(super) fn renounce(&mut self, seat: Seat, class: ErrorClass) -> Result<()> {
        self.port.memory_mut().renounce(seat.board, class.0);
        self.comm_mut(seat.comm)?.board = BoardState::Failed(class);
        Ok(())
    }

    fn move_over_board(
        &mut self,
        seat: Seat,
        problem: &Problem,
        send: &Places,
        recv: &Places,
    ) -> Result<()> {
        let me = seat.rank as usize;
        self.share_caches(seat, usize::MAX, Pattern::of(problem));
        if let Some(root) = giver(problem) {
            self.gives(seat, root)?;
        }
        match problem {
            Problem::Barrier => self.meet_at_board(seat),
            Problem::Bcast { root, .. } => {
                recv.first().map_or(Ok(()), |place| self.tell(seat, *root as u32, place))
            }
            Problem::Gather { root, .. } | Problem::Gatherv { root, .. } => {
                if *root != me {
                    let block = self.packer_of(send.first())?;
                    return self.contribute(seat, *root as u32, block);
                }
                self.gather(seat, recv, (send.first(), recv.get(me)))
            }
            Problem::Scatter { root, .. } | Problem::Scatterv { root, .. } => {
                if *root != me {
                    let into = self.unpacker_of(recv.first())?;
                    let from = Source::Private(*root as u32);
                    return self.read_message(seat, from, into, WaitFor::Root);
                }
                self.distribute(seat, send, (send.get(me), recv.first()))
            }
            Problem::Allgather { in_place, .. } => {
                let own = if *in_place { recv.get(me) } else { send.first() };
                let out = self.packer_of(own)?;
                self.tell_each_other(seat, out, recv, (send.first(), recv.get(me)))
            }
            Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
                let from = if *in_place { recv } else { send };
                self.swap(seat, from, recv, *in_place)
            }
            _ => unreachable!("the other problems reduce"),
        }
    }

    /// What the root has goes to all others.
    fn tell(&mut self, seat: Seat, root: u32, place: Place) -> Result<()> {
        if root == seat.rank {
            let message = Outgoing::of_root(self, seat, self.packer(place)?);
            return self.write_or_show(seat, message);
        }
        let (from, into) = (Source::Public(root), self.unpacker(place)?);
        if self.is_shared(seat, Audience::Everyone, into.remaining()) {
            return self.read_shared(seat, Incoming::new(from, into), WaitFor::Root, None);
        }
        self.read_message(seat, from, into, WaitFor::Root)
    }

    /// What each has goes to all others; `own` is what this process keeps of it, and where.
    fn tell_each_other(
        &mut self,
        seat: Seat,
        out: Packer,
        recv: &Places,
        own: (Option<Place>, Option<Place>),
    ) -> Result<()> {
        if self.is_short(seat, Audience::Everyone, &out) {
            self.write_message(seat, Audience::Everyone, out, 1)?;
            return self.collect(seat, recv, Pattern::EachToAll, own);
        }
        let mut transfer = Transfer::new(seat);
        transfer.send(Outgoing::exchanged(self, seat, Audience::Everyone, out));
        transfer.let_fetch(self);
        let mut own = self.own_block(own.0, own.1)?;
        let other = Source::Public(seat.neighbour());
        transfer.write_beside(self, other, own.as_mut());
        self.receive_all(&mut transfer, seat, recv, Pattern::EachToAll)?;
        self.run_beside_own(transfer, seat, Pattern::EachToAll, own)
    }

    pub(super) fn packer_of(&self, place: Option<Place>) -> Result<Packer> {
        place.map_or(Ok(Packer::contiguous(UserBuffer::BOTTOM, 0)), |place| self.packer(place))
    }

    pub(super) fn unpacker_of(&self, place: Option<Place>) -> Result<Unpacker> {
        place.map_or(Ok(Unpacker::contiguous(UserBuffer::BOTTOM, 0)), |place| self.unpacker(place))
    }

    /// What a process has for itself and where that goes; nothing where it is in place already.
    pub(super) fn own_block(
        &self,
        from: Option<Place>,
        into: Option<Place>,
    ) -> Result<Option<OwnBlock>> {
        let (Some(from), Some(into)) = (from, into) else { return Ok(None) };
        Ok(Some((self.packer(from)?, self.unpacker(into)?)))
    }

    /// Copies what a process has for itself.
    pub(super) fn copy_own(&self, from: Option<Place>, into: Option<Place>) -> Result<()> {
        if let Some((from, into)) = self.own_block(from, into)? {
            copy(from, into);
        }
        Ok(())
    }

    /// Whether a message is one piece.
    pub(super) fn is_one_piece(&self, seat: Seat, to: Audience, len: u64) -> bool {
        len <= self.port.memory().piece_max(seat.board, to) as u64
    }

    /// Whether a message is one piece that nobody fetches.
    fn is_short(&mut self, seat: Seat, to: Audience, source: &Packer) -> bool {
        self.is_one_piece(seat, to, source.remaining()) && !self.is_better_shown(seat, to, source)
    }

    /// Whether all blocks for others are such.
    fn are_short(&mut self, seat: Seat, blocks: &Places) -> Result<bool> {
        for rank in seat.others() {
            let source = self.packer_of(blocks.get(rank as usize))?;
            if !self.is_short(seat, Audience::One(rank), &source) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether all blocks from others may be such.
    pub(super) fn come_short(&mut self, seat: Seat, blocks: &Places) -> bool {
        let to = Audience::One(seat.neighbour());
        let lens = (0..seat.size as usize).filter_map(|rank| blocks.get(rank));
        lens.map(|place| place.bytes() as u64).all(|len| {
            self.is_one_piece(seat, to, len)
                && !self.port.memory_mut().is_better_shown(seat.board, to, len)
        })
    }

    /// Copies what is this process's own, and reads every other member's block; short ones as they come, in
    /// order.
    pub(super) fn collect(
        &mut self,
        seat: Seat,
        recv: &Places,
        pattern: Pattern,
        (own, into): (Option<Place>, Option<Place>),
    ) -> Result<()> {
        self.copy_own(own, into)?;
        if seat.size > 2 && !self.come_short(seat, recv) {
            let mut transfer = Transfer::new(seat);
            self.receive_all(&mut transfer, seat, recv, pattern)?;
            return transfer.run(self);
        }
        let from = pattern.source();
        for rank in seat.others() {
            let into = self.unpacker_of(recv.get(rank as usize))?;
            self.read_message(seat, from(rank), into, WaitFor::Each(from))?;
        }
        Ok(())
    }

    pub(super) fn receive_all(
        &mut self,
        transfer: &mut Transfer,
        seat: Seat,
        recv: &Places,
        pattern: Pattern,
    ) -> Result<()> {
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
        Ok(())
    }

    /// Writes every other member its block, and copies what is this process's own.
    fn distribute(
        &mut self,
        seat: Seat,
        send: &Places,
        (own, into): (Option<Place>, Option<Place>),
    ) -> Result<()> {
        let mut transfer = None;
        for rank in seat.others() {
            let to = Audience::One(rank);
            let source = self.packer_of(send.get(rank as usize))?;
            if self.is_short(seat, to, &source) {
                self.write_message(seat, to, source, 1)?;
            } else {
                let out = Outgoing::new(self, seat, to, source, 1);
                transfer.get_or_insert_with(|| Transfer::new(seat)).send(out);
            }
        }
        if let Some(transfer) = &mut transfer {
            transfer.let_fetch(self);
            transfer.write(self);
        }
        self.copy_own(own, into)?;
        transfer.map_or(Ok(()), |transfer| transfer.run(self))
    }

    /// The all-to-all exchanges.
    fn swap(&mut self, seat: Seat, from: &Places, recv: &Places, in_place: bool) -> Result<()> {
        let me = seat.rank as usize;
        if self.are_short(seat, from)? {
            // Not asked again: nobody reads before it has written, so that all would wait for what is shown now.
            for rank in seat.others() {
                let source = self.packer_of(from.get(rank as usize))?;
                self.write_message(seat, Audience::One(rank), source, 1)?;
            }
            let own = if in_place { (None, None) } else { (from.get(me), recv.get(me)) };
            return self.collect(seat, recv, Pattern::EachToEach, own);
        }
        let mut transfer = Transfer::new(seat);
        transfer.swap(in_place);
        for rank in seat.others() {
            let source = self.packer_of(from.get(rank as usize))?;
            transfer.send(Outgoing::exchanged(self, seat, Audience::One(rank), source));
        }
        self.receive_all(&mut transfer, seat, recv, Pattern::EachToEach)?;
        if in_place {
            return transfer.run(self);
        }
        transfer.let_fetch(self);
        transfer.write(self);
        let own = self.own_block(from.get(me), recv.get(me))?;
        self.run_beside_own(transfer, seat, Pattern::EachToEach, own)
    }

    /// Runs an exchange, and copies what is this process's own: before it or, by turns, behind it as soon as what
    /// the only other member writes is there. What one call went through last is still in the caches when the
    /// next one begins (two bare processes, 1 MiB, the own block always first: 228 to 251 µs; by turns
    /// 182 to 216). Where no cache holds what all have, it goes past them.
    pub(super) fn run_beside_own(
        &mut self,
        transfer: Transfer,
        seat: Seat,
        pattern: Pattern,
        own: Option<OwnBlock>,
    ) -> Result<()> {
        let state = self.comm_mut(seat.comm)?;
        state.own_first = !state.own_first;
        let own_first = state.own_first || seat.size > 2 || seat.crowded;
        let Some(mut own) = own else { return transfer.run(self) };
        if self.exceeds_caches(seat, pattern, own.0.remaining()) {
            land_own(&mut self.port, &mut own);
            return transfer.run(self);
        }
        let from = pattern.source()(seat.neighbour());
        self.port.memory_mut().ask_for_piece(seat.board, from);
        if own_first {
            copy_own::<P>(&mut own, u64::MAX);
            return transfer.run(self);
        }
        copy_while::<P>(&mut own, || self.port.memory_mut().read_piece(seat.board, from).is_none());
        transfer.run(self)?;
        copy_own::<P>(&mut own, u64::MAX);
        Ok(())
    }
}
