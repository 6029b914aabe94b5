//! Large messages that go through buffers: where memory has gaps, cannot be registered, or is too short for that to
//! pay. Each fragment is a message that takes a credit, with a head that says where it belongs; they come in order.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{Advert, Body, Landing, PeerId, Sink, Token};

use super::Rdma;
use super::channel::{Channel, Event};
use super::envelope::{ENVELOPE_BYTES, Kind};
use super::fabric::Fabric;
use super::peer::State;
use super::receive::Breach;
use super::send::Content;
use super::transfers::{Arriving, Leaving};
use super::unreached::Bulk;
use crate::fragment::{FRAGMENT_BYTES, FragmentHead};

/// Messages of a peer that may be amid their fragments at once.
const ARRIVING_MAX: usize = 64;
/// Messages that take turns.
const TURNS: usize = 8;

impl<F: Fabric> Rdma<F> {
    /// Begins to send a large message (see [`mpi_core::port::Transport::send_bulk`]).
    pub(super) fn start_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        advert: Option<Advert>,
    ) {
        if self.channel.peer(peer).is_none_or(|to| to.state != State::Up) {
            return;
        }
        let is_written =
            advert.is_some_and(|advert| self.start_write(peer, &source, token, advert));
        if !is_written && let Some(to) = self.channel.peers.get(peer) {
            let (id, header, total) = (to.next_transfer, *header, source.remaining());
            to.next_transfer += 1;
            to.leaving.push_back(Leaving { id, header, source, token, total });
            self.channel.counters.pieced += 1;
        }
        self.channel.pend(peer);
        self.attend();
    }

    /// Takes in a fragment.
    pub(super) fn take_fragment<S: Sink>(
        &mut self,
        peer: PeerId,
        mut content: RawBytes<'_>,
        sink: &mut S,
    ) -> Result<(), Breach> {
        let head = content.take(FRAGMENT_BYTES).to_vec();
        let head = <&[u8; FRAGMENT_BYTES]>::try_from(&head[..]);
        let head = head.map_err(|_| "a fragment of it is too short")?;
        let head = FragmentHead::from_bytes(head, content.len() as u64)?;
        if head.at == 0 {
            let Some(from) = self.channel.peers.get(peer) else { return Ok(()) };
            let is_known = from.arriving.iter().any(|one| one.id == head.id);
            if is_known || from.arriving.len() >= ARRIVING_MAX {
                return Err("it begins messages that it does not end");
            }
            let (id, total, token) = (head.id, head.total, Token(head.header.context));
            let landing = sink.begin(peer, &head.header, total);
            from.arriving.push(Arriving { id, total, at: 0, landing, token });
            // Whatever was to be written there instead is not.
            self.landings.give_up(peer, token, &mut self.channel);
        }
        let Some(from) = self.channel.peers.get(peer) else { return Ok(()) };
        let place = from.arriving.iter().position(|one| one.id == head.id);
        let place = place.ok_or("a fragment of it belongs to no message")?;
        let one = &mut from.arriving[place];
        if one.at != head.at || one.total != head.total {
            return Err("a fragment of it does not follow the one before");
        }
        one.at += content.len() as u64;
        if let Landing::User(to) = &mut one.landing {
            // SAFETY: the request's memory is writable until it has landed, by the contract of `Landing`; the
            // bytes lie in a buffer of this process.
            unsafe { to.unpack_from(content) };
        }
        if one.at == one.total {
            let Arriving { landing, token, .. } = from.arriving.swap_remove(place);
            if matches!(landing, Landing::User(_)) {
                sink.landed(peer, token);
            }
        }
        Ok(())
    }
}

impl<F: Fabric> Channel<F> {
    /// Takes back what has not begun to leave.
    pub(super) fn take_leaving(&mut self, peer: PeerId) -> Vec<Bulk> {
        let leaving = self.peers.get(peer).map(|to| std::mem::take(&mut to.leaving));
        let bulk = |Leaving { header, source, token, .. }| Bulk { header, source, token };
        leaving.into_iter().flatten().map(bulk).collect()
    }

    /// Posts fragments, as many as there are credits and room for.
    pub(super) fn post_fragments(&mut self, peer: PeerId) {
        let room = self.message_bytes_max() - ENVELOPE_BYTES - FRAGMENT_BYTES;
        while let Some(to) = self.peers.get(peer)
            && let Some(mut one) = to.leaving.pop_front()
        {
            let Leaving { id, header, total, token, .. } = one;
            let left = one.source.remaining();
            let head = FragmentHead { header, id, total, at: total - left };
            let mut fragment = one.source.clone();
            fragment.truncate(room as u64);
            let len = fragment.remaining();
            let (head, body) = (head.to_bytes(), Body::Packed(&mut fragment));
            let posted = self.transmit(peer, Content { kind: Kind::Fragment, head: &head, body });
            let Some(to) = self.peers.get(peer) else { return };
            if posted.is_err() {
                return to.leaving.push_front(one);
            }
            one.source.skip(len);
            if one.source.remaining() > 0 {
                let turn = to.leaving.len().min(TURNS - 1);
                to.leaving.insert(turn, one);
            } else {
                // It is copied: the program's memory is free.
                self.events.push(Event::Sent(token));
            }
        }
    }
}
