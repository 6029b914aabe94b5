//! Datagrams through TCP, for peers whom they do not reach by themselves; and who is lost, which TCP
//! finds out for both: its listener answers though the rank computes (decision 44).

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::header::Header;
use mpi_core::port::{Activity, Body, Full, Landing, PeerId, Sink, Token, Transport, Why};

use super::net::Net;
use crate::tcp::{DATAGRAM, Tcp};

/// Where TCP delivers what arrives: the datagrams of other networks to these.
struct Mouth<'a, S> {
    datagrams: &'a mut [Option<Net>],
    sink: &'a mut S,
}

/// What a frame begins with that carries a datagram of a network.
fn header_of(net: &Net) -> Header {
    Header { kind: DATAGRAM, tag: net.kind() as i32, ..Header::default() }
}

impl<S: Sink> Sink for Mouth<'_, S> {
    fn frame(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>) {
        if header.kind != DATAGRAM {
            return self.sink.frame(peer, header, body);
        }
        let mut open = self.datagrams.iter_mut().flatten();
        if let Some(net) = open.find(|net| header_of(net).tag == header.tag) {
            net.take_tunnelled(peer, &body.to_vec(), self.sink);
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
        let mut open = self.datagrams.iter_mut().flatten();
        if let Some(why) = open.try_fold(why, |why, net| net.part(peer, why)) {
            self.sink.peer_down(peer, why);
        }
    }
}

/// Polls TCP, and gives it what other networks have for it; whether anything came.
pub(super) fn poll<S: Sink>(tcp: &mut Tcp, datagrams: &mut [Option<Net>], sink: &mut S) -> bool {
    let activity = tcp.poll(&mut Mouth { datagrams: &mut *datagrams, sink });
    for net in datagrams.iter_mut().flatten() {
        net.spared().into_iter().for_each(|peer| tcp.peers_mut().look_again(peer));
        let header = header_of(net);
        net.send_tunnelled(|peer, bytes| {
            match tcp.send(peer, &header, Body::Bytes(RawBytes::from(bytes))) {
                // Nobody is there whom it could reach, and it need not.
                Err(Full) => !tcp.peers().is_up(peer),
                Ok(()) => true,
            }
        });
    }
    activity == Activity::Busy
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
