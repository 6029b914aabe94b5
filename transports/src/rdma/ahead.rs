//! Messages that are told before others that were sent before them, as fabrics do it that have long messages fetched
//! by their receiver: they wait in their buffers for their turn.
//!
//! They count as posted, and keep their credits, until then. So a peer has no more of them here than it may send.

use mpi_core::port::{PeerId, Sink};

use super::Rdma;
use super::channel::Channel;
use super::credit::WINDOW_MAX;
use super::fabric::Fabric;
use super::peer::State;
use super::receive::{Breach, DISORDER, TOO_MANY, Taken};
use super::transfers::Ahead;

/// Messages without credits of one peer that wait: each answers some of ours, which have credits.
const NOTES_MAX: usize = WINDOW_MAX as usize;

impl<F: Fabric> Channel<F> {
    /// Keeps a message of a peer whose turn it is not.
    #[cold]
    pub(super) fn keep_ahead(&mut self, peer: PeerId, one: Ahead) -> Result<Taken, Breach> {
        let tells_in_order = self.abilities.tells_in_order;
        let Some(from) = self.peers.get(peer) else { return Ok(Taken::Over) };
        let number = one.envelope.sequence;
        let is_later = number.wrapping_sub(from.next_in) as i16 > 0;
        let is_known = from.ahead.iter().any(|other| other.envelope.sequence == number);
        if tells_in_order || !is_later || is_known {
            return Err(DISORDER);
        }
        let is_counted = one.envelope.kind.is_counted();
        let alike = from.ahead.iter().filter(|it| it.envelope.kind.is_counted() == is_counted);
        let most = if is_counted { from.credits.grants.outstanding().into() } else { NOTES_MAX };
        if alike.count() >= most {
            return Err(TOO_MANY);
        }
        from.ahead.push(one);
        self.counters.ahead += 1;
        Ok(Taken::Kept)
    }

    /// Nothing of a peer has a turn any more.
    pub(super) fn drop_ahead(&mut self, peer: PeerId) {
        let Some(from) = self.peers.get(peer) else { return };
        for one in std::mem::take(&mut from.ahead) {
            self.post_again(one.buffer);
        }
    }
}

impl<F: Fabric> Rdma<F> {
    /// A message has had its turn: takes in those that waited for it, and what was written between them.
    pub(super) fn take_ahead<S: Sink>(&mut self, peer: PeerId, sink: &mut S) -> Result<(), Breach> {
        loop {
            let Some(from) = self.channel.peers.get(peer).filter(|from| from.state == State::Up)
            else {
                return Ok(());
            };
            let next = from.next_in;
            let distance = |one: &Ahead| one.envelope.sequence.wrapping_sub(next);
            let first = from.ahead.iter().map(distance).min();
            let Some(first) = first.map(|distance| next.wrapping_add(distance)) else {
                return Ok(());
            };
            if first != next {
                self.drain(peer, Some(first), sink);
            }
            let Some(from) = self.channel.peers.get(peer).filter(|from| from.next_in == first)
            else {
                return Ok(());
            };
            let place = from.ahead.iter().position(|one| one.envelope.sequence == first);
            let Some(Ahead { envelope, buffer, len }) =
                place.map(|place| from.ahead.swap_remove(place))
            else {
                return Ok(());
            };
            let taken = match self.channel.pool.local(buffer, len) {
                Some(local) => self.take_next(peer, envelope, (local.address, len), sink),
                None => Ok(()),
            };
            self.channel.post_again(buffer);
            taken?;
        }
    }
}
