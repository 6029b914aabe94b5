//! Datagrams through TCP, for peers whom they do not reach by themselves; and who is lost, which TCP
//! finds out for both: its listener answers though the rank computes (docs/decisions.md, 44).

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::header::Header;
use mpi_core::port::{Body, Full, Landing, PeerId, Sink, Token, Transport, Why};

use crate::datagrams::{Carrier, Datagrams};
use crate::tcp::{DATAGRAM, Tcp};

/// Where TCP delivers what arrives while a network of datagrams is open too.
struct Mouth<'a, C: Carrier, S> {
    net: &'a mut Datagrams<C>,
    sink: &'a mut S,
}

impl<C: Carrier, S: Sink> Sink for Mouth<'_, C, S> {
    fn frame(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>) {
        match header.kind {
            DATAGRAM => self.net.take_letter(peer, &body.to_vec(), self.sink),
            _ => self.sink.frame(peer, header, body),
        }
    }

    fn begin_eager(
        &mut self,
        peer: PeerId,
        header: &Header,
        len: u64,
    ) -> Option<(Unpacker, Token)> {
        (header.kind != DATAGRAM).then(|| self.sink.begin_eager(peer, header, len))?
    }

    fn begin(&mut self, peer: PeerId, header: &Header, len: u64) -> Landing {
        self.sink.begin(peer, header, len)
    }

    fn landed(&mut self, peer: PeerId, token: Token) {
        self.sink.landed(peer, token);
    }

    fn sent(&mut self, token: Token) {
        self.sink.sent(token);
    }

    fn peer_down(&mut self, peer: PeerId, why: Why) {
        if let Some(why) = self.net.part(peer, why) {
            self.sink.peer_down(peer, why);
        }
    }
}

/// Polls both; whether anything came.
pub(super) fn poll<C: Carrier, S: Sink>(
    tcp: &mut Tcp,
    net: &mut Datagrams<C>,
    sink: &mut S,
) -> bool {
    use mpi_core::port::Activity::Busy;
    let mut busy = net.poll(sink) == Busy;
    busy |= tcp.poll(&mut Mouth { net, sink }) == Busy;
    net.spared().into_iter().for_each(|peer| tcp.look_again(peer));
    net.send_letters(|peer, letter| {
        let header = Header { kind: DATAGRAM, ..Header::default() };
        match tcp.send(peer, &header, Body::Bytes(RawBytes::from(letter))) {
            // Nobody is there whom it could reach, and it need not.
            Err(Full) => !tcp.is_up(peer),
            Ok(()) => true,
        }
    });
    busy
}

/// Nobody listens any more.
pub(super) struct Nobody;

impl Sink for Nobody {
    fn frame(&mut self, _: PeerId, _: &Header, _: RawBytes<'_>) {}

    fn begin(&mut self, _: PeerId, _: &Header, _: u64) -> Landing {
        Landing::Discard
    }

    fn landed(&mut self, _: PeerId, _: Token) {}

    fn sent(&mut self, _: Token) {}

    fn peer_down(&mut self, _: PeerId, _: Why) {}
}
