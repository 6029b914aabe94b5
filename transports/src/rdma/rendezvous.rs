//! What both ends of a rendezvous tell each other so that one of them moves the bytes alone: where they are wanted
//! (paper 002: written with an immediate value), or where they lie.
//!
//! In: words of a peer, which may be anything; they are used for that peer's memory alone.

use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{ADVERT_BYTES, Advert, Landing, Offer, PeerId, Pulled, Sink, Token};
use mpi_core::settings::RdmaRendezvous;

use super::Rdma;
use super::channel::Channel;
use super::fabric::{Access, Fabric, Refusal, Target};
use super::moves::Way;
use super::peer::State;
use super::pin::Pin;
use super::receive::Breach;
use super::slots::{NUMBER_BITS, Slots};
use crate::fields::word;

/// A landing that a peer may write.
struct Awaited<R> {
    peer: PeerId,
    token: Token,
    len: u64,
    pin: Pin<R>,
    /// Rails on which the end has come.
    ends: u32,
}

/// Memory that a peer may read.
pub(super) struct Offered<R> {
    peer: PeerId,
    words: [u64; 2],
    pin: Pin<R>,
}

/// What an advert says: where, and by which number the end of the writing is told.
fn advert_bytes(target: Target, number: u32) -> [u8; ADVERT_BYTES] {
    let mut bytes = [0; ADVERT_BYTES];
    let words = [target.address, target.key, number.into()];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The landings that peers may write.
pub(super) struct Landings<F: Fabric> {
    all: Slots<Awaited<F::Region>>,
}

impl<F: Fabric> Default for Landings<F> {
    fn default() -> Landings<F> {
        Landings { all: Slots::default() }
    }
}

impl<F: Fabric> Landings<F> {
    /// A peer tells the end of its writing, on one rail.
    pub(super) fn end<S: Sink>(
        &mut self,
        peer: PeerId,
        immediate: u32,
        channel: &mut Channel<F>,
        sink: &mut S,
    ) -> Result<(), Breach> {
        if channel.peers.get(peer).is_none_or(|from| from.state != State::Up) {
            return Ok(());
        }
        let (number, rails) =
            (immediate & ((1 << NUMBER_BITS) - 1), (immediate >> NUMBER_BITS) + 1);
        let one = self.all.get(number).filter(|one| one.peer == peer);
        let one = one.ok_or("it has written what nobody waits for")?;
        one.ends += 1;
        if one.ends < rails {
            return Ok(());
        }
        let Some(Awaited { token, len, pin, .. }) = self.all.remove(number) else {
            return Ok(());
        };
        channel.awaiting -= 1;
        channel.unpin(pin);
        let header = Header { kind: FrameKind::Data as u8, context: token.0, ..Header::default() };
        if let Landing::User(_) = sink.begin(peer, &header, len) {
            sink.landed(peer, token);
        }
        Ok(())
    }

    /// What was to be written to a landing comes another way.
    pub(super) fn give_up(&mut self, peer: PeerId, token: Token, channel: &mut Channel<F>) {
        if !self.all.is_empty() {
            for pin in self.take(|one| one.peer == peer && one.token == token, channel) {
                channel.unpin(pin);
            }
        }
    }

    /// A peer that is lost is to write nowhere any more. Where the fabric has no queue pair that is broken with it,
    /// only the end of the registration stops what is under way.
    pub(super) fn shut_out(&mut self, peer: PeerId, channel: &mut Channel<F>) {
        for pin in self.take(|one| one.peer == peer, channel) {
            channel.pins.unpin_for_good(&mut channel.fabric, pin);
        }
    }

    /// Takes back the memory of landings to which nothing is written any more.
    fn take(
        &mut self,
        is_meant: impl Fn(&Awaited<F::Region>) -> bool,
        channel: &mut Channel<F>,
    ) -> Vec<Pin<F::Region>> {
        let numbers = self.all.find(is_meant);
        channel.awaiting -= numbers.len();
        numbers.into_iter().filter_map(|one| self.all.remove(one)).map(|one| one.pin).collect()
    }
}

impl<F: Fabric> Channel<F> {
    /// Registers memory of the program for a peer that is connected, if that pays.
    fn pin(
        &mut self,
        peer: PeerId,
        address: *const u8,
        len: u64,
        access: Access,
    ) -> Option<Pin<F::Region>> {
        let is_long = len > self.config.settings.eager_bytes as u64;
        let to =
            self.peers.get(peer).filter(|to| is_long && to.is_up() && to.state == State::Up)?;
        let rank = to.rank;
        let len = usize::try_from(len).ok()?;
        // SAFETY: the memory is the transport's until the sink has heard of its end, and pinned no longer than that.
        match unsafe { self.pins.pin(&mut self.fabric, address, len, access) } {
            Ok(pin) => Some(pin),
            Err(Refusal::Limit(why) | Refusal::Never(why)) => {
                self.counters.refused += 1;
                tracing::debug!(%why, rank, len, "memory of a message is not registered");
                None
            }
        }
    }
}

impl<F: Fabric> Rdma<F> {
    /// Where the bytes that a peer is asked for are wanted (see [`mpi_core::port::Transport::advertise`]).
    pub(super) fn await_write(
        &mut self,
        peer: PeerId,
        landing: &Unpacker,
        len: u64,
        token: Token,
    ) -> Option<Advert> {
        let (address, _) = landing.as_contiguous().filter(|(_, room)| *room >= len)?;
        self.landings.give_up(peer, token, &mut self.channel);
        let pin = self.channel.pin(peer, address, len, Access::Write)?;
        let target = pin.target(&self.channel.fabric, address);
        let number = match self.landings.all.insert(Awaited { peer, token, len, pin, ends: 0 }) {
            Ok(number) => number,
            Err(one) => {
                self.channel.unpin(one.pin);
                return None;
            }
        };
        self.channel.awaiting += 1;
        self.channel.top_up();
        Some(Advert { kind: F::OFFER, bytes: advert_bytes(target, number) })
    }

    /// Begins to write a message to where it is wanted; whether it could.
    pub(super) fn start_write(
        &mut self,
        peer: PeerId,
        source: &Packer,
        token: Token,
        advert: Advert,
    ) -> bool {
        let [address, key, number] = [0, 1, 2].map(|i| word(&advert.bytes, i));
        let number = u32::try_from(number).ok().filter(|number| *number < 1 << NUMBER_BITS);
        let (Some(number), Some((from, len))) = (number, source.as_contiguous()) else {
            return false;
        };
        if advert.kind != F::OFFER {
            return false;
        }
        let Some(pin) = self.channel.pin(peer, from, len, Access::Local) else { return false };
        let (target, run) = (Target { address, key }, (from.cast_mut(), len as usize));
        if let Err(pin) =
            self.moves.start((peer, token), Way::Write(number), pin, run, target, &mut self.channel)
        {
            self.channel.unpin(pin);
            return false;
        }
        self.channel.counters.written += 1;
        true
    }

    /// How a peer could read a message (see [`mpi_core::port::Transport::offer`]).
    pub(super) fn offer_read(&mut self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        let preference = self.channel.config.settings.rendezvous;
        if preference != RdmaRendezvous::Read || !self.channel.abilities.reads {
            return Offer::default();
        }
        let Some(pin) = self.channel.pin(peer, address, len, Access::Read) else {
            return Offer::default();
        };
        let target = pin.target(&self.channel.fabric, address);
        let words = [target.address, target.key];
        self.offered.push(Offered { peer, words, pin });
        Offer { kind: F::OFFER, words }
    }

    /// The end of that (see [`mpi_core::port::Transport::end_offer`]).
    pub(super) fn end_read(&mut self, peer: PeerId, offer: &Offer) {
        let is_meant = |one: &Offered<F::Region>| one.peer == peer && one.words == offer.words;
        if offer.kind == F::OFFER
            && let Some(place) = self.offered.iter().position(is_meant)
        {
            let one = self.offered.swap_remove(place);
            self.channel.unpin(one.pin);
        }
    }

    /// Begins to read a message from where it lies (see [`mpi_core::port::Transport::pull`]).
    pub(super) fn start_read(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        token: Token,
    ) -> Pulled {
        let run = to.as_contiguous().filter(|(_, room)| *room >= len);
        let (Some((into, _)), true) = (run, self.channel.abilities.reads && offer.kind == F::OFFER)
        else {
            return Pulled::Unavailable;
        };
        let Some(pin) = self.channel.pin(peer, into, len, Access::Local) else {
            return Pulled::Unavailable;
        };
        let [address, key] = offer.words;
        let (target, run) = (Target { address, key }, (into, len as usize));
        if let Err(pin) =
            self.moves.start((peer, token), Way::Read, pin, run, target, &mut self.channel)
        {
            self.channel.unpin(pin);
            return Pulled::Unavailable;
        }
        self.channel.counters.read += 1;
        self.channel.pend(peer);
        self.attend();
        Pulled::Begun
    }
}
