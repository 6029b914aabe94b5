//! What this process has with one peer once something was said: a link, keys, and ways.

use std::time::Duration;

use mpi_core::port::PeerId;

use super::carrier::Address;
use super::routes::Routes;
use super::tag::Keys;
use super::watch::Watch;
use crate::reliability::{Config, Link};

/// How far the acquaintance goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Frames may go to it.
    Up,
    /// It has left in good order.
    Left,
    /// It is lost.
    Down,
}

/// A peer of which only the name is known costs this much.
pub(super) struct Known<A> {
    pub rank: u32,
    pub peer: Option<Box<Peer<A>>>,
}

/// A peer to which or from which something came.
pub(super) struct Peer<A> {
    pub rank: u32,
    pub link: Link,
    pub state: State,
    /// Keys for what goes there and what comes from there.
    pub there: Keys,
    pub here: Keys,
    pub routes: Routes<A>,
    /// Whether it is among those that are looked at when their time comes.
    pub is_watched: bool,
    /// Whether it has datagrams to be sent of which its link's own times know nothing: they were taken back, or
    /// another way is in use.
    pub is_stopped: bool,
    /// Whether its datagrams wait until the carrier has room.
    pub is_blocked: bool,
    /// Whether its datagrams wait for the end of a hold.
    pub is_held: bool,
    /// When it was last of use.
    pub used_at: Duration,
}

// SAFETY: the addresses in its link are of memory that belongs to requests, which any thread may read and
// write; they are touched by the owner of the transport alone.
unsafe impl<A: Send> Send for Peer<A> {}

impl<A: Address> Peer<A> {
    pub(super) fn new(rank: u32, link: &Config, [there, here]: [Keys; 2]) -> Peer<A> {
        Peer {
            rank,
            link: Link::new(link),
            state: State::Up,
            there,
            here,
            routes: Routes::default(),
            is_watched: false,
            is_stopped: false,
            is_blocked: false,
            is_held: false,
            used_at: Duration::ZERO,
        }
    }

    /// What was taken back is to be sent at this time, of which its link knows nothing.
    pub(super) fn stop_until(&mut self, at: Duration, peer: PeerId, watch: &mut Watch) {
        self.is_stopped = true;
        let is_new = !std::mem::replace(&mut self.is_watched, true);
        watch.note(peer, at, is_new);
    }

    /// Whether everything handed over for it is with it, or never can be.
    pub(super) fn is_flushed(&self) -> bool {
        self.state != State::Up || self.link.is_flushed()
    }
}

/// The peers, by place and by rank.
pub(super) struct Peers<A> {
    all: Vec<Known<A>>,
    by_rank: Vec<u32>,
}

impl<A> Default for Peers<A> {
    fn default() -> Peers<A> {
        Peers { all: Vec::new(), by_rank: Vec::new() }
    }
}

/// No peer has this place.
const NOBODY: u32 = u32::MAX;

impl<A: Address> Peers<A> {
    /// Makes a peer known; `rank` if it is of this job.
    pub(super) fn add(&mut self, peer: PeerId, rank: u32, is_of_job: bool) {
        let place = peer.0 as usize;
        if place >= self.all.len() {
            make_room(&mut self.all, place + 1);
            self.all.resize_with(place + 1, || Known { rank: NOBODY, peer: None });
        }
        self.all[place].rank = rank;
        if is_of_job {
            let rank = rank as usize;
            if rank >= self.by_rank.len() {
                make_room(&mut self.by_rank, rank + 1);
                self.by_rank.resize(rank + 1, NOBODY);
            }
            self.by_rank[rank] = peer.0;
        }
    }

    /// The peer of this rank.
    #[inline]
    pub(super) fn of_rank(&self, rank: u32) -> Option<PeerId> {
        let place = *self.by_rank.get(rank as usize)?;
        (place != NOBODY).then_some(PeerId(place))
    }

    /// The rank of a peer, if it is of this job.
    pub(super) fn rank_here(&self, peer: PeerId) -> Option<u32> {
        let rank = self.all.get(peer.0 as usize)?.rank;
        (self.of_rank(rank) == Some(peer)).then_some(rank)
    }

    /// What is known of a peer.
    #[inline]
    pub(super) fn known(&mut self, peer: PeerId) -> Option<&mut Known<A>> {
        self.all.get_mut(peer.0 as usize)
    }

    /// A peer with which something was said.
    #[inline]
    pub(super) fn get(&mut self, peer: PeerId) -> Option<&mut Peer<A>> {
        self.all.get_mut(peer.0 as usize)?.peer.as_deref_mut()
    }

    /// All with which something was said.
    pub(super) fn met(&self) -> impl Iterator<Item = &Peer<A>> {
        self.all.iter().filter_map(|known| known.peer.as_deref())
    }

    /// Their places.
    pub(super) fn places(&self) -> impl Iterator<Item = PeerId> + use<A> {
        (0..self.all.len() as u32).map(PeerId)
    }
}

/// Room for so many, and for an eighth more: twice as many would be most of what a name costs.
fn make_room<T>(all: &mut Vec<T>, count: usize) {
    if count > all.capacity() {
        all.reserve_exact(count.max(all.len() + all.len() / 8) - all.len());
    }
}
