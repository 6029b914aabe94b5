//! The sender's end of a message that both ends move (see `across`): it writes only from memory that it has
//! offered to that peer, part by part, from the back, into the receiver's.
//!
//! In: what was offered, and calls for help. Out: parts that are in place, and frames that say how many.

use std::collections::VecDeque;

use mpi_core::port::PeerId;

use super::Shm;
use super::across::{HELPED, PARTS_A_POLL};
use super::division::Division;
use super::ledger::Ledger;
use super::peer::Peer;
use crate::sys::cma;

/// Offers to one peer that are remembered.
const OFFERS: usize = 64;

/// A message of this process that its receiver has called it to help with.
pub(super) struct Helping {
    number: u32,
    from: u64,
    to: u64,
    division: Division,
    parts: u32,
    taken: u32,
    done: u32,
    /// No part is left to take, or none is to be taken any more.
    over: bool,
}

/// What one peer may be helped with, and is.
#[derive(Default)]
pub(super) struct Helps {
    begun: VecDeque<Helping>,
    offers: VecDeque<(u64, u64)>,
}

impl Helps {
    /// Notes that the peer may ask for help with these bytes. The oldest offers are forgotten, and
    /// then fetched without help.
    pub(super) fn offer(&mut self, address: u64, len: u64) {
        if self.offers.len() == OFFERS {
            self.offers.pop_front();
        }
        self.offers.push_back((address, len));
    }

    /// Helps no more with anything that was offered so far.
    pub(super) fn withdraw(&mut self) {
        self.offers.clear();
        self.begun.iter_mut().for_each(|helping| helping.over = true);
    }

    /// Whether the peer is being helped.
    pub(super) fn is_busy(&self) -> bool {
        !self.begun.is_empty()
    }
}

impl Helping {
    /// Moves parts from the back, as `Joint::go_on` does from the front.
    fn go_on(&mut self, pid: i32, ledger: &Ledger) {
        for _ in 0..PARTS_A_POLL {
            let is_over =
                || self.taken >= self.parts || !ledger.take_to_write(self.number, self.parts);
            self.over = self.over || is_over();
            if self.over {
                return;
            }
            self.taken += 1;
            let (at, len) = self.division.front(self.parts - self.taken);
            let (from, to) = (self.from.wrapping_add(at), self.to.wrapping_add(at));
            let written = cma::write_exact(pid, from, to, len);
            ledger.have_written(self.number);
            match written {
                Ok(()) => self.done += 1,
                Err(error) => {
                    tracing::info!(%error, "a part of a message could not be written across");
                    self.over = true;
                }
            }
        }
    }
}

impl Shm {
    /// Begins to help `peer`, if it asks for what it was offered.
    pub(super) fn help(
        &mut self,
        peer: PeerId,
        number: u32,
        [from, to]: [u64; 2],
        division: Division,
    ) {
        let known = &mut self.peers[peer.0 as usize];
        let offer = (from, division.len());
        let offered = known.across.helps.offers.iter().rposition(|offered| *offered == offer);
        if let (Some(at), Some(parts)) = (offered, division.parts()) {
            known.across.helps.offers.remove(at);
            let (taken, done, over) = (0, 0, false);
            let helping = Helping { number, from, to, division, parts, taken, done, over };
            known.across.helps.begun.push_back(helping);
            self.chores |= self.go_on_helping(peer);
        }
    }

    /// Helps `peer` with what it has asked for; whether something is left.
    pub(super) fn go_on_helping(&mut self, peer: PeerId) -> bool {
        let Peer { ledger_out, readable, across, .. } = &mut self.peers[peer.0 as usize];
        let Some(helping) = across.helps.begun.front_mut() else { return false };
        match readable {
            Some(pid) => helping.go_on(*pid, ledger_out),
            // What has been done is waited for all the same.
            None => helping.over = true,
        }
        let Helping { over, taken, done, number, .. } = *helping;
        if over && (taken == 0 || self.tell(peer, HELPED, number, [done.into(), 0, 0])) {
            self.peers[peer.0 as usize].across.helps.begun.pop_front();
        }
        self.peers[peer.0 as usize].across.helps.is_busy()
    }
}
