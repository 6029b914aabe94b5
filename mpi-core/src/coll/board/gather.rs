//! Gathers (MPI-5.0 §6.5). Where ranks share processors, and the kernel moves bytes cheaply or is not needed for it,
//! the root lends the others the room for long blocks. Who comes after it writes its block there by one system call
//! (`process_vm_writev`, decision 62), and who comes before it writes to its stream, which the root empties. So a
//! byte moves once instead of twice, and everyone moves a part; the root alone would have to fetch all. Where it
//! lends nothing it had better come last, when all streams are full.
//!
//! Enters: the root's rooms, and blocks. Leaves: blocks in their places, or on their way.

use super::message::{Incoming, Outgoing};
use super::pattern::Pattern;
use super::seat::Seat;
use super::work::WaitFor;
use crate::boards::{Audience, Boards};
use crate::coll::place::{Place, Places};
use crate::datatype::Packer;
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// Collects all blocks here, at the root.
    pub(super) fn gather(
        &mut self,
        seat: Seat,
        recv: &Places,
        own: (Option<Place>, Option<Place>),
    ) -> Result<()> {
        let other = recv.get(1 - seat.rank.min(1) as usize);
        let theirs = other.map_or(0, |place| place.bytes() as u64);
        if self.is_shared(seat, Audience::One(seat.rank), theirs) {
            return self.collect_shared(seat, other, own);
        }
        if !seat.takes_turns() || self.begun.is_starting() || self.come_short(seat, recv) {
            self.takes(seat)?;
            return self.collect(seat, recv, Pattern::Rooted, own);
        }
        let lends = self.lend_rooms(seat, recv);
        if matches!(lends, Ok(false)) {
            self.takes(seat)?;
            return self.collect(seat, recv, Pattern::Rooted, own);
        }
        let collected = lends.and_then(|_| self.collect(seat, recv, Pattern::Rooted, own));
        self.take_rooms_back(seat);
        collected
    }

    /// Reads the only other member's block, which both move.
    fn collect_shared(
        &mut self,
        seat: Seat,
        other: Option<Place>,
        own: (Option<Place>, Option<Place>),
    ) -> Result<()> {
        let own = self.own_block(own.0, own.1)?;
        let from = Pattern::Rooted.source();
        let into = self.unpacker_of(other)?;
        let from_other = from(1 - seat.rank);
        // What is written comes while the own block is copied.
        let message = match own {
            Some(_) => Incoming::exchanged(from_other, into),
            None => Incoming::new(from_other, into),
        };
        self.read_shared(seat, message, WaitFor::Each(from), own)
    }

    /// Lends all others the room for their blocks, where it pays; whether there is such a one.
    fn lend_rooms(&mut self, seat: Seat, recv: &Places) -> Result<bool> {
        let operation = self.running(seat)?;
        let mut lends = false;
        for rank in seat.others() {
            let room = self.unpacker_of(recv.get(rank as usize))?;
            lends |= self.port.memory_mut().lend_room(seat.board, rank, operation, &room);
        }
        Ok(lends)
    }

    /// Ends the loans, and waits until nobody writes to the memory of the program any more: who failed gives it
    /// back.
    fn take_rooms_back(&mut self, seat: Seat) {
        let mut least = 0;
        while let Some(rank) = self.port.memory_mut().take_rooms_back(seat.board, least) {
            if self.has_left(seat, rank) {
                least = rank + 1;
                continue;
            }
            self.poll();
            // It writes without a wait, so it is there in no time; but it may need this processor.
            self.port.give_turn();
        }
    }

    /// Whether a member does nothing more on the board.
    fn has_left(&mut self, seat: Seat, rank: u32) -> bool {
        let peer = self.comm(seat.comm).ok().and_then(|comm| comm.group.peer(rank));
        let is_down = peer.is_none_or(|peer| self.vci.peers[peer.0 as usize].down().is_some());
        is_down || self.port.memory_mut().renounced(seat.board, rank).is_some()
    }

    /// Gives `root` this process's block.
    pub(super) fn contribute(&mut self, seat: Seat, root: u32, block: Packer) -> Result<()> {
        if seat.takes_turns() && !self.begun.is_starting() {
            let operation = self.running(seat)?;
            if self.port.memory_mut().bring(seat.board, root, operation, &block) {
                return Ok(());
            }
        }
        let message = Outgoing::exchanged(self, seat, Audience::One(root), block);
        self.write_or_show(seat, message)
    }
}
