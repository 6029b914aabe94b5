//! What is known of each peer, and how two get a connection.
//!
//! Endpoints have no connections, but most providers make some below, when something is first sent. So each
//! end's first message to each other is a hello: it proves that the sender knows the job's secret, and once both
//! have come there is a connection. Who gets a hello of a peer whose card it does not have, seeks that card.

use mpi_core::port::PeerId;

use super::bindings::fi_addr_t;

/// Messages in succession whose ends are not heard: fewer than any provider's queue takes.
const COPIED_MAX: u8 = 16;

/// How far it is with a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Nobody has begun.
    Apart,
    /// This end wants a connection.
    Wanted,
    /// This end's hello waits for room.
    Greeting,
    /// It is on its way.
    Greeted,
    /// It has come, or the peer would not have answered.
    Heard,
    /// There is a connection.
    Up,
    /// There is none any more.
    Down,
}

/// A peer.
#[derive(Debug)]
pub(super) struct Peer {
    /// Its rank in its job.
    pub(super) rank: u32,
    /// Its provider's address, if its card has been seen.
    pub(super) address: Option<Vec<u8>>,
    /// Its number in the table of addresses, from [`Stage::Greeting`] on.
    pub(super) at: fi_addr_t,
    pub(super) stage: Stage,
    /// Messages that were copied since the last one whose end will be heard.
    copied: u8,
    /// Operations on their way there that are known by slots.
    pub(super) under_way: usize,
    /// Whether its hello has come.
    pub(super) has_come: bool,
}

/// All peers.
#[derive(Default)]
pub(super) struct Peers {
    all: Vec<Peer>,
    /// Those of this job by their ranks.
    by_rank: Vec<Option<PeerId>>,
    /// Ranks whose hello came before they were known.
    early: Vec<u32>,
    /// Those who have come and whose cards are not known.
    sought: Vec<PeerId>,
}

impl Peers {
    /// Makes a peer known.
    pub(super) fn add(&mut self, peer: PeerId, rank: u32, is_of_job: bool) {
        let place = peer.0 as usize;
        while self.all.len() <= place {
            let rank = u32::MAX;
            let (at, stage, copied) = (u64::MAX, Stage::Apart, 0);
            let (address, under_way, has_come) = (None, 0, false);
            self.all.push(Peer { rank, address, at, stage, copied, under_way, has_come });
        }
        self.all[place].rank = rank;
        if !is_of_job {
            return;
        }
        let of_rank = rank as usize;
        if self.by_rank.len() <= of_rank {
            self.by_rank.resize(of_rank + 1, None);
        }
        self.by_rank[of_rank] = Some(peer);
        if let Some(early) = self.early.iter().position(|early| *early == rank) {
            self.early.swap_remove(early);
            self.come(peer);
        }
    }

    pub(super) fn get(&self, peer: PeerId) -> &Peer {
        &self.all[peer.0 as usize]
    }

    pub(super) fn get_mut(&mut self, peer: PeerId) -> &mut Peer {
        &mut self.all[peer.0 as usize]
    }

    /// Its number in the table of addresses, if there is a connection.
    #[inline]
    pub(super) fn up(&self, peer: PeerId) -> Option<fi_addr_t> {
        let peer = self.all.get(peer.0 as usize)?;
        (peer.stage == Stage::Up).then_some(peer.at)
    }

    /// Whether the end of this message, which is copied, need not be heard: that of one in some is, so that it is
    /// known when nothing can be on its way any more.
    #[inline]
    pub(super) fn may_forget(&mut self, peer: PeerId) -> bool {
        let peer = self.get_mut(peer);
        peer.copied = (peer.copied + 1) % COPIED_MAX;
        peer.copied != 0
    }

    #[inline]
    pub(super) fn of_rank(&self, rank: u32) -> Option<PeerId> {
        *self.by_rank.get(rank as usize)?
    }

    /// The hello of a rank has come; the peer, if it is known already.
    pub(super) fn hello_of(&mut self, rank: u32) -> Option<PeerId> {
        let peer = self.of_rank(rank);
        match peer {
            Some(peer) => self.come(peer),
            None if !self.early.contains(&rank) => self.early.push(rank),
            None => {}
        }
        peer
    }

    fn come(&mut self, id: PeerId) {
        let peer = self.get_mut(id);
        if !peer.has_come && peer.address.is_none() && peer.stage != Stage::Down {
            self.sought.push(id);
        }
        self.get_mut(id).has_come = true;
    }

    /// Says where a peer is.
    pub(super) fn meet(&mut self, id: PeerId, address: Vec<u8>) {
        self.get_mut(id).address = Some(address);
        self.sought.retain(|sought| *sought != id);
    }

    /// One whose card is needed to answer it.
    pub(super) fn sought(&self) -> Option<PeerId> {
        self.sought.first().copied()
    }

    /// Whether a hello should go there now: its address is known, and either end wants it.
    pub(super) fn may_greet(&self, id: PeerId) -> bool {
        let peer = self.get(id);
        let is_wanted = peer.stage == Stage::Wanted || peer.stage == Stage::Apart && peer.has_come;
        is_wanted && peer.address.is_some()
    }

    /// All to whom there is a connection, or will be.
    pub(super) fn all_reached(&self) -> Vec<PeerId> {
        let is_reached = |peer: &Peer| !matches!(peer.stage, Stage::Apart | Stage::Down);
        let reached = (0u32..).zip(&self.all).filter(|(_, peer)| is_reached(peer));
        reached.map(|(place, _)| PeerId(place)).collect()
    }

    /// Ends whatever there was; whether that is news.
    pub(super) fn lose(&mut self, id: PeerId) -> bool {
        self.sought.retain(|sought| *sought != id);
        std::mem::replace(&mut self.get_mut(id).stage, Stage::Down) != Stage::Down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_before_it_is_known_is_sought_once_it_is() {
        let mut peers = Peers::default();
        assert_eq!(peers.hello_of(4), None);
        assert_eq!(peers.hello_of(4), None);
        peers.add(PeerId(0), 4, false);
        assert_eq!(peers.sought(), None, "rank 4 of another job");
        peers.add(PeerId(2), 4, true);
        assert_eq!(peers.sought(), Some(PeerId(2)));
        assert!(!peers.may_greet(PeerId(2)));
        peers.meet(PeerId(2), vec![1]);
        assert_eq!(peers.sought(), None);
        assert!(peers.may_greet(PeerId(2)));
        assert_eq!(peers.of_rank(4), Some(PeerId(2)));
        assert!(peers.lose(PeerId(2)) && !peers.lose(PeerId(2)));
        assert!(!peers.may_greet(PeerId(2)));
        peers.add(PeerId(3), 1 << 20, true);
        assert_eq!(peers.of_rank(1 << 21), None);
    }
}
