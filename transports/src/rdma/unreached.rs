//! Peers to whom there never was a connection, so that nothing went there or came from there: another network may
//! lead to them, and whoever owns several networks knows.

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{PeerId, Token, Why};

use super::Rdma;
use super::channel::Event;
use super::fabric::Fabric;
use super::peer::State;

/// A large message that was handed over for a peer and has not begun to leave.
pub struct Bulk {
    /// As in [`mpi_core::port::Transport::send_bulk`].
    pub header: Header,
    /// The same.
    pub source: Packer,
    /// The same.
    pub token: Token,
}

/// A peer that is not reached.
pub struct Unreached {
    /// Who.
    pub peer: PeerId,
    /// How that showed.
    pub how: String,
    /// What was handed over for it, from the first.
    pub bulk: Vec<Bulk>,
}

impl<F: Fabric> Rdma<F> {
    /// From now on peers that are never reached are told by [`Rdma::unreached`], and not to the sink.
    pub fn keep_unreached(&mut self) {
        self.keeps_unreached = true;
    }

    /// A peer that cannot be reached, told once: it is no peer of this transport any more.
    pub fn unreached(&mut self) -> Option<Unreached> {
        self.unreached.pop()
    }

    /// A peer that has not answered for as long as the settings say. It is waited for, unless
    /// [`Rdma::withdraw`] follows before the next poll.
    pub fn late(&mut self) -> Option<PeerId> {
        let peer = self.channel.fabric.late()?;
        self.channel
            .peers
            .look(peer)
            .is_some_and(|to| to.state == State::Up && !to.is_up())
            .then_some(peer)
    }

    /// Gives up a peer that is late.
    pub fn withdraw(&mut self, peer: PeerId) -> Option<Unreached> {
        let is_meant =
            self.channel.peers.look(peer).is_some_and(|to| to.state == State::Up && !to.is_up());
        is_meant.then(|| {
            self.channel.fabric.cut(peer);
            self.take_unreached(peer, "it has not answered".to_owned())
        })
    }

    /// No other network leads to a peer that was told of: the sink hears it.
    pub fn lose(&mut self, peer: PeerId, how: &str) {
        let how = self.channel.out_of_reach(peer, how);
        self.channel.events.push(Event::Down(peer, Why::Lost(how)));
    }

    /// A peer that was never connected is none of this transport's any more.
    pub(super) fn take_unreached(&mut self, peer: PeerId, how: String) -> Unreached {
        let bulk = self.channel.take_leaving(peer);
        self.part(peer, None);
        Unreached { peer, how, bulk }
    }
}
