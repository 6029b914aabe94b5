//! Shared memory as the core sees it.

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Expected, Fragments, Front, Full, Offer, PeerId, ProcessName,
    Pulled, Sink, Token, Transport,
};

use super::{Bulk, Shm};
use crate::offers::SHARED_MEMORY;

impl Transport for Shm {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        self.contacts.introduce(peer, name);
    }

    #[inline]
    fn caps(&self, _: PeerId) -> Caps {
        Caps { frame_bytes_max: self.eager_most as usize, name: "shared memory" }
    }

    #[inline(always)]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        self.send_frame(peer, header, body)
    }

    #[inline(always)]
    fn send_inline(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        self.write_inline(peer, header, bytes)
    }

    #[inline(always)]
    fn send_at_once(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        self.write_body(peer, header.to_words(0), bytes)
    }

    fn hold(&mut self) {}

    fn release(&mut self) {}

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
        self.poll_lanes(sink)
    }

    #[inline(always)]
    fn take_front(
        &mut self,
        peer: PeerId,
        looks: u32,
        wanted: impl FnOnce(&Header, RawBytes<'_>) -> bool,
    ) -> Front {
        self.show_front(peer, looks, wanted)
    }

    #[inline(always)]
    fn take_expected(
        &mut self,
        peer: PeerId,
        looks: u32,
        expected: &Expected,
    ) -> Result<(Header, usize), Front> {
        self.take_expected_front(peer, looks, expected)
    }

    #[inline]
    fn take_fragments(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, u64) -> Option<UserBuffer>,
    ) -> Fragments {
        self.show_fragments(peer, wanted)
    }

    fn land(&mut self, peer: PeerId, rest: Unpacker, token: Token) {
        if let Some(arriving) = &mut self.contacts.peers[peer.0 as usize].arriving {
            arriving.landing = Some((rest, token));
        }
    }

    fn has_room(&mut self, peer: PeerId, len: u64, plain: bool) -> bool {
        self.holds_eager(peer, len, plain)
    }

    fn offer(&mut self, _: PeerId, address: *const u8, len: u64) -> Offer {
        // Whether the peer may fetch it, and whether that is cheaper, it finds out.
        let offset = self.contacts.arena.location(address, len).offset;
        let address = match self.contacts.config.shm.bulk {
            Bulk::Auto | Bulk::CrossMemory => address as u64,
            Bulk::Pipeline => 0,
        };
        match (address, offset) {
            (0, 0) => Offer::default(),
            words => Offer { kind: SHARED_MEMORY, words: words.into() },
        }
    }

    fn pull(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        _: Token,
    ) -> Pulled {
        self.pull_bytes(peer, offer, len, to)
    }

    fn is_flushed(&self) -> bool {
        self.contacts.outbox.is_empty()
            && self.contacts.wanted.is_empty()
            && self.contacts.is_visited_by_all()
            && self.is_sent()
    }

    fn is_sent(&self) -> bool {
        self.contacts.peers.iter().all(|peer| peer.bulk_out.is_empty())
    }
}
