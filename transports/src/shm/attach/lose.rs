//! Peers that are gone: what this process forgets of them, and what it tells them.

use mpi_core::port::{PeerId, Why};

use crate::shm::peer::State;
use crate::shm::ring::lane::{Reader, Writer};
use crate::shm::{Contacts, Event};

impl Contacts {
    /// Notes that `peer` is gone, and tells it so, in case it is there; what it had sent before stays readable.
    pub(crate) fn lose(&mut self, peer: PeerId, how: &str) {
        let to = &self.peers[peer.0 as usize];
        let addressee = to.name.map(|name| (to.rank, name)).filter(|_| to.is_there());
        self.give_up(peer, how, Why::Lost);
        if let Some((rank, name)) = addressee {
            self.part_from(rank, name, how);
        }
    }

    /// Notes that `peer` is gone without a word to it.
    pub(in crate::shm) fn give_up(&mut self, peer: PeerId, how: &str, lost: fn(String) -> Why) {
        let to = &mut self.peers[peer.0 as usize];
        if to.state == State::Down {
            return;
        }
        let has_left = to.has_left();
        self.greeted -= u32::from(to.state == State::Greeted);
        to.state = State::Down;
        self.unmet.retain(|(_, unmet)| *unmet != peer);
        to.writer = Writer::closed();
        to.bulk_out.clear();
        to.held.give_all_back(&mut self.slots, &mut self.ring);
        let rank = to.rank;
        let why = if has_left {
            Why::Finalized
        } else {
            lost(format!(
                "rank {} cannot reach rank {rank} by shared memory: {how}",
                self.config.rank
            ))
        };
        self.note(Event::Down(peer, why));
    }

    /// Gives up a peer that broke the protocol: its lane is not read any more either.
    pub(in crate::shm) fn drop_peer(&mut self, peer: PeerId, how: &str) {
        self.row.retain(|open| *open != peer);
        self.peers[peer.0 as usize].reader = Reader::closed();
        self.lose(peer, how);
    }
}
