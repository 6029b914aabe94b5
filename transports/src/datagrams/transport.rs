//! The verbs that every transport has.

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Full, PeerId, ProcessName, Sink, Token, Transport,
};

use super::peer::{Peer, State};
use super::{Carrier, Datagrams};

impl<C: Carrier> Transport for Datagrams<C> {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        self.peers.add(peer, name.rank, name.job == self.me.job);
    }

    #[inline]
    fn caps(&self, _: PeerId) -> Caps {
        Caps { frame_bytes_max: self.limits.eager_bytes as usize, name: C::NAME }
    }

    #[inline]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        self.send_frame(peer, header, body)
    }

    fn has_room(&mut self, peer: PeerId, len: u64, _: bool) -> bool {
        let to = self.peers.get(peer);
        to.is_none_or(|to| to.state != State::Up || to.link.has_room(len as usize))
    }

    fn hold(&mut self) {
        self.holds = true;
    }

    fn release(&mut self) {
        self.let_go();
    }

    fn send_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        _: Option<Advert>,
    ) {
        self.start_bulk(peer, header, source, token);
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        self.poll_carrier(sink)
    }

    fn is_flushed(&self) -> bool {
        self.peers.met().all(Peer::is_flushed)
    }
}
