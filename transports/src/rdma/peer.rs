//! What this process has with one peer once something was said.

use std::collections::VecDeque;

use mpi_core::port::{PeerId, Why};

use super::credit::Credits;
use super::ring::RingOut;
use super::transfers::{Ahead, Arriving, Leaving};

/// How far the acquaintance goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Frames may go to it.
    Up,
    /// Nothing goes or comes any more; the sink hears why, if it does not know, once no device touches the program's
    /// memory for it.
    Ending(Option<Why>),
    /// The sink has heard it.
    Down,
}

/// How far the way to a peer is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Link {
    /// The fabric does not know where it is.
    Unmet,
    Met,
    /// The fabric was asked to connect.
    Reached,
    /// There is, or was, a connection.
    Up,
}

/// Rings in both directions.
#[derive(Default)]
pub(super) struct RingsOf {
    /// The one in the peer's memory.
    pub out: Option<RingOut>,
    /// Place of the peer's among the rings of this process.
    pub own: Option<usize>,
    /// Messages of the program that came by the channel of messages since somebody last compared.
    pub talk: u32,
}

/// Writes and reads with a peer.
#[derive(Default)]
pub(super) struct MovesOf {
    /// Those of which fragments are to be posted, by number; they take turns.
    pub waiting: VecDeque<u32>,
    /// Fragments under way, in memory of the program, and their bytes.
    pub under_way: usize,
    pub bytes: usize,
}

/// What has to be said to a peer by a message of its own, one bit each.
pub(super) mod due {
    pub(in super::super) const NOTE: u8 = 1;
    pub(in super::super) const YIELD: u8 = 1 << 1;
    pub(in super::super) const RETURN: u8 = 1 << 2;
    pub(in super::super) const RING_OPEN: u8 = 1 << 3;
    pub(in super::super) const RING_CLOSE: u8 = 1 << 4;
    pub(in super::super) const RING_CLOSED: u8 = 1 << 5;
    pub(in super::super) const GOODBYE: u8 = 1 << 6;
}

/// A peer to which or from which something came.
pub(super) struct Peer {
    pub rank: u32,
    pub state: State,
    pub link: Link,
    /// Number of the next message or frame, in the order of both channels.
    pub next_out: u16,
    pub next_in: u16,
    /// Messages whose turn it is not yet.
    pub ahead: Vec<Ahead>,
    pub credits: Credits,
    pub rings: RingsOf,
    /// When something last came from it, by the number of the poll.
    pub heard_at: u64,
    pub is_heard: bool,
    /// What has to be said, and whether it is among those that have something left to do.
    pub due: u8,
    pub is_pending: bool,
    /// A frame found no room: it has the next turn.
    pub frame_waits: bool,
    pub passed_over: bool,
    /// Messages and writes of the program under way.
    pub carried: u32,
    /// Something of the program has failed.
    pub has_failed: bool,
    pub has_said_goodbye: bool,
    pub moves: MovesOf,
    /// Large messages that go through buffers; and those that come so.
    pub leaving: VecDeque<Leaving>,
    pub arriving: Vec<Arriving>,
    pub next_transfer: u64,
}

impl Peer {
    fn new(rank: u32, credits: u16) -> Peer {
        Peer {
            rank,
            state: State::Up,
            link: Link::Unmet,
            next_out: 0,
            next_in: 0,
            ahead: Vec::new(),
            credits: Credits::new(credits),
            rings: RingsOf::default(),
            heard_at: 0,
            is_heard: false,
            due: 0,
            is_pending: false,
            frame_waits: false,
            passed_over: false,
            carried: 0,
            has_failed: false,
            has_said_goodbye: false,
            moves: MovesOf::default(),
            leaving: VecDeque::new(),
            arriving: Vec::new(),
            next_transfer: 0,
        }
    }

    #[inline]
    pub(super) fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    /// Whether everything handed over for it is with it, or never can be.
    pub(super) fn is_flushed(&self) -> bool {
        self.state != State::Up
            || self.carried == 0 && self.moves.waiting.is_empty() && self.leaving.is_empty()
    }

    /// Whether everything handed over for it goes there without this process.
    pub(super) fn is_posted(&self) -> bool {
        self.state != State::Up || self.moves.waiting.is_empty() && self.leaving.is_empty()
    }

    /// Whether something is left to be posted.
    pub(super) fn has_work(&self) -> bool {
        self.due != 0 || !self.moves.waiting.is_empty() || !self.leaving.is_empty()
    }
}

/// A peer of which only the name is known costs this much.
struct Known {
    rank: u32,
    peer: Option<Box<Peer>>,
}

/// The peers, by place.
pub(super) struct Peers {
    all: Vec<Known>,
    credits: u16,
}

impl Peers {
    pub(super) fn new(credits: u16) -> Peers {
        Peers { all: Vec::new(), credits }
    }

    /// Credits of peers that are met from now on.
    pub(super) fn set_credits(&mut self, credits: u16) {
        self.credits = credits;
    }

    /// Makes a peer known.
    pub(super) fn add(&mut self, peer: PeerId, rank: u32) {
        let place = peer.0 as usize;
        if place >= self.all.len() {
            self.all.resize_with(place + 1, || Known { rank: u32::MAX, peer: None });
        }
        self.all[place].rank = rank;
    }

    /// The peer of this rank, if it is known.
    pub(super) fn of_rank(&self, rank: u32) -> Option<PeerId> {
        let is_it = |known: &Known| known.rank == rank;
        let place = match self.all.get(rank as usize).is_some_and(is_it) {
            // As in a job that has met no other.
            true => rank as usize,
            false => self.all.iter().position(is_it)?,
        };
        Some(PeerId(place as u32))
    }

    /// A peer with which something was said, to look at.
    pub(super) fn look(&self, peer: PeerId) -> Option<&Peer> {
        self.all.get(peer.0 as usize)?.peer.as_deref()
    }

    /// A peer with which something was said.
    #[inline]
    pub(super) fn get(&mut self, peer: PeerId) -> Option<&mut Peer> {
        self.all.get_mut(peer.0 as usize)?.peer.as_deref_mut()
    }

    /// What there is with a peer, from now on if there was nothing; `None` for one that is not known. Whether it
    /// is new.
    pub(super) fn meet(&mut self, peer: PeerId) -> Option<(&mut Peer, bool)> {
        let credits = self.credits;
        let known = self.all.get_mut(peer.0 as usize)?;
        let is_new = known.peer.is_none();
        let rank = known.rank;
        let met = known.peer.get_or_insert_with(|| Box::new(Peer::new(rank, credits)));
        Some((met, is_new))
    }

    /// All with which something was said.
    pub(super) fn met(&self) -> impl Iterator<Item = &Peer> {
        self.all.iter().filter_map(|known| known.peer.as_deref())
    }

    /// Their places.
    pub(super) fn places(&self) -> impl Iterator<Item = PeerId> + use<> {
        (0..self.all.len() as u32).map(PeerId)
    }
}
