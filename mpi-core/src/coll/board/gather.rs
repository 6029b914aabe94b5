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
use super::transfer::Transfer;
use crate::boards::{Audience, Boards};
use crate::coll::place::{Place, Places};
use crate::datatype::Packer;
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

impl<P: Port> Entry<'_, P> {
    /// All blocks come here, to the root.
    pub(super) fn gather(
        &mut self,
        transfer: &mut Transfer,
        recv: &Places,
        (own, into): (Option<Place>, Option<Place>),
    ) -> Result<()> {
        let seat = transfer.seat();
        self.receive_all(transfer, recv, Pattern::Rooted)?;
        self.keep_own(transfer, Pattern::Rooted, own, into)?;
        let may_lend = seat.takes_turns() && !self.begun.is_starting();
        let lends = may_lend && !transfer.is_short() && self.lend_rooms(transfer)?;
        transfer.lend(lends);
        if !lends {
            self.takes(seat)?;
        }
        Ok(())
    }

    /// Lends all others the room for their blocks, where it pays; whether there is such a one.
    fn lend_rooms(&mut self, transfer: &Transfer) -> Result<bool> {
        let seat = transfer.seat();
        let operation = self.running(seat)?;
        let mut lends = false;
        for Incoming { from, into, .. } in transfer.incoming() {
            lends |= self.port.memory_mut().lend_room(seat.board, from.rank(), operation, into);
        }
        Ok(lends)
    }

    /// Ends the loans, and waits until nobody writes to the memory of the program any more: who failed gives it
    /// back.
    pub(super) fn take_rooms_back(&mut self, seat: Seat) {
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

    /// Gives `root` this process's block: there is nothing left to do if it has lent the room for it.
    pub(super) fn contribute(
        &mut self,
        transfer: &mut Transfer,
        root: u32,
        block: Packer,
    ) -> Result<()> {
        let seat = transfer.seat();
        if seat.takes_turns() && !self.begun.is_starting() {
            let operation = self.running(seat)?;
            if self.port.memory_mut().bring(seat.board, root, operation, &block) {
                return Ok(());
            }
        }
        let message = Outgoing::exchanged(self, seat, Audience::One(root), block);
        transfer.send(self.offered(seat, message));
        Ok(())
    }
}
