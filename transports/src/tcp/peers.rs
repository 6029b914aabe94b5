//! The peers of a process, by place, and which of their streams are looked for.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::{Index, IndexMut};
use std::time::Instant;

use mpi_core::port::PeerId;

use super::peer::{Peer, State};
use super::seek::Seek;
use super::stream::{Link, Stream};
use super::{StreamId, net};

/// All peers.
#[derive(Default)]
pub(crate) struct Peers {
    all: Vec<Peer>,
    by_rank: HashMap<u32, PeerId>,
    /// Streams without a connection that need one.
    pub(super) seeking: Vec<StreamId>,
}

impl Index<PeerId> for Peers {
    type Output = Peer;

    #[inline]
    fn index(&self, peer: PeerId) -> &Peer {
        &self.all[peer.0 as usize]
    }
}

impl IndexMut<PeerId> for Peers {
    #[inline]
    fn index_mut(&mut self, peer: PeerId) -> &mut Peer {
        &mut self.all[peer.0 as usize]
    }
}

impl Peers {
    /// Makes a peer known; `is_ours` when it is of this job.
    pub(super) fn add(&mut self, peer: PeerId, rank: u32, is_ours: bool) {
        let place = peer.0 as usize;
        if place >= self.all.len() {
            self.all.resize_with(place + 1, Peer::unknown);
        }
        self.all[place].rank = rank;
        if is_ours {
            self.by_rank.insert(rank, peer);
        }
    }

    #[inline]
    pub(super) fn get(&self, peer: PeerId) -> Option<&Peer> {
        self.all.get(peer.0 as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, peer: PeerId) -> Option<&mut Peer> {
        self.all.get_mut(peer.0 as usize)
    }

    #[inline]
    pub(super) fn stream_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.get_mut(id.peer)?.streams.get_mut(id.stream as usize)
    }

    /// The search for the peer of a stream.
    pub(super) fn seek_mut(&mut self, id: StreamId) -> Option<&mut Seek> {
        match &mut self.stream_mut(id)?.link {
            Link::Seeking(seek) => Some(seek),
            _ => None,
        }
    }

    /// The peer of this rank.
    pub(super) fn of_rank(&self, rank: u32) -> Option<PeerId> {
        self.by_rank.get(&rank).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Peer> {
        self.all.iter()
    }

    /// The places of all that are up.
    pub(super) fn up(&self) -> Vec<PeerId> {
        let all = (0u32..).map(PeerId).zip(&self.all);
        all.filter(|(_, peer)| peer.state == State::Up).map(|(place, _)| place).collect()
    }

    /// All streams that have a connection.
    pub(super) fn open_streams(&self) -> Vec<StreamId> {
        let all = (0u32..).map(PeerId).zip(&self.all);
        let streams = |(peer, known): (PeerId, &Peer)| {
            let open = (0u32..).zip(&known.streams).filter(|(_, stream)| stream.is_open());
            open.map(|(stream, _)| StreamId { peer, stream }).collect::<Vec<_>>()
        };
        all.flat_map(streams).collect()
    }

    /// Whether the first stream to `peer` has a connection.
    pub(crate) fn is_connected(&self, peer: PeerId) -> bool {
        self.get(peer).is_some_and(|peer| peer.streams.first().is_some_and(Stream::is_open))
    }

    /// Whether frames to `peer` may go out, now or later.
    pub(crate) fn is_up(&self, peer: PeerId) -> bool {
        self.get(peer).is_some_and(|peer| peer.state == State::Up)
    }

    /// Says where a peer listens.
    pub(crate) fn set_routes(&mut self, peer: PeerId, routes: Vec<SocketAddr>) {
        if let Some(peer) = self.get_mut(peer) {
            peer.routes = routes;
        }
    }

    /// A peer that was never reached is not lost after all: it is looked for anew when something is sent to it.
    pub(crate) fn look_again(&mut self, peer: PeerId) {
        let Some(known) = self.get_mut(peer) else { return };
        if known.state == State::Down && known.streams.iter().all(|stream| stream.epoch == 0) {
            let (rank, routes) = (known.rank, std::mem::take(&mut known.routes));
            *known = Peer { rank, routes, ..Peer::unknown() };
        }
    }

    /// A peer that is looked for although nobody has said where it listens: it connected to this
    /// process, and the connection broke.
    pub(crate) fn sought_blindly(&self) -> Option<PeerId> {
        self.seeking.iter().find(|id| self[id.peer].routes.is_empty()).map(|id| id.peer)
    }

    /// A peer that has been looked for in vain for a while, and what its addresses answer.
    pub(crate) fn sought_in_vain(&self) -> Option<String> {
        let mut seeks = self.seeks().filter(|(_, seek)| seek.is_in_vain());
        seeks.next().map(|(peer, seek)| {
            format!("rank {} cannot be reached at {}", peer.rank, seek.tell(&peer.routes))
        })
    }

    /// When a search is to go on even if nothing arrives.
    pub(super) fn due(&self) -> Option<Instant> {
        let now = net::now();
        self.seeks().map(|(_, seek)| seek.due(now)).min()
    }

    fn seeks(&self) -> impl Iterator<Item = (&Peer, &Seek)> {
        self.seeking.iter().filter_map(|id| match &self[id.peer].streams[id.stream as usize].link {
            Link::Seeking(seek) => Some((&self[id.peer], &**seek)),
            _ => None,
        })
    }

    /// Ends every connection, whoever else has its descriptor.
    pub(super) fn end_connections(&self) {
        for stream in self.all.iter().flat_map(|peer| &peer.streams) {
            if let Link::Open(socket) = &stream.link {
                socket.end();
            }
        }
    }
}
