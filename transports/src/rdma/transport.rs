//! What the core calls: each verb goes to the file that knows it.

use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Full, Offer, PeerId, ProcessName, Pulled, Sink, Token, Transport,
};

use super::Rdma;
use super::fabric::Fabric;
use super::peer::Peer;

impl<F: Fabric> Transport for Rdma<F> {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        self.channel.peers.add(peer, name.rank);
        self.channel.fabric.add_peer(peer, name);
    }

    #[inline]
    fn caps(&self, _: PeerId) -> Caps {
        Caps { frame_bytes_max: self.channel.config.settings.eager_bytes, name: F::NAME }
    }

    #[inline]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        self.channel.send_frame(peer, header, body)
    }

    fn has_room(&mut self, peer: PeerId, _: u64, _: bool) -> bool {
        self.channel.peers.get(peer).is_some_and(|to| {
            let has_slot = to.rings.out.is_some_and(|ring| ring.has_room());
            to.is_up() && (has_slot || to.credits.allowance.left() > 0)
        })
    }

    // Each frame is posted at once: a device that is busy takes several in one go by itself.
    fn hold(&mut self) {}

    fn release(&mut self) {}

    fn send_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        advert: Option<Advert>,
    ) {
        self.start_bulk(peer, header, source, token, advert);
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        self.poll_fabric(sink)
    }

    fn offer(&mut self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        self.offer_read(peer, address, len)
    }

    fn end_offer(&mut self, peer: PeerId, offer: &Offer) {
        self.end_read(peer, offer);
    }

    fn advertise(
        &mut self,
        peer: PeerId,
        landing: &Unpacker,
        len: u64,
        token: Token,
    ) -> Option<Advert> {
        self.await_write(peer, landing, len, token)
    }

    fn pull(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        token: Token,
    ) -> Pulled {
        self.start_read(peer, offer, len, to, token)
    }

    fn is_flushed(&self) -> bool {
        self.channel.peers.met().all(Peer::is_flushed)
            && self.channel.events.is_empty()
            && self.unreached.is_empty()
    }

    fn is_sent(&self) -> bool {
        self.channel.peers.met().all(Peer::is_posted) && self.unreached.is_empty()
    }
}
