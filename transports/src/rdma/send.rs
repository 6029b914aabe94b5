//! The way out of small frames and of this transport's own messages: into the peer's ring where that has room, else
//! as a message, if there is a credit; from the stack where the fabric copies so many bytes, else from a buffer.

use std::mem::MaybeUninit;

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Body, Full, PeerId};

use super::channel::{Channel, INLINE_MAX};
use super::envelope::{ENVELOPE_BYTES, Envelope, Kind, STARVES, YIELD};
use super::fabric::{Fabric, Local};
use super::job::Job;
use super::peer::{Link, Peer, State, due};
use super::pool::Buffer;
use super::ring::{RingIn, TRAILER_BYTES};

/// What a message is made of, but for its envelope.
pub(super) struct Content<'a, 'b> {
    pub kind: Kind,
    pub head: &'a [u8],
    pub body: Body<'b>,
}

impl Content<'_, '_> {
    #[inline]
    fn len(&self) -> usize {
        let body = match &self.body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Packed(packer) => packer.remaining() as usize,
        };
        ENVELOPE_BYTES + self.head.len() + body
    }

    /// Puts it together.
    ///
    /// # Safety
    /// There is room for its length at `to`, and for the trailer behind it.
    #[inline]
    unsafe fn write(
        &mut self,
        to: *mut u8,
        envelope: Envelope,
        trailer: Option<[u8; TRAILER_BYTES]>,
    ) {
        let len = self.len();
        // SAFETY: by the caller's promise; the body is readable by `Body`'s contract and no part of it.
        unsafe {
            to.cast::<[u8; ENVELOPE_BYTES]>().write_unaligned(envelope.to_bytes());
            let mut at = to.add(ENVELOPE_BYTES);
            RawBytes::from(self.head).copy_small_to(at);
            at = at.add(self.head.len());
            match &mut self.body {
                Body::Bytes(bytes) => bytes.copy_small_to(at),
                Body::Packed(packer) => {
                    packer.pack_into(at, len - ENVELOPE_BYTES - self.head.len());
                }
            }
            if let Some(trailer) = trailer {
                to.add(len).cast::<[u8; TRAILER_BYTES]>().write_unaligned(trailer);
            }
        }
    }
}

impl<F: Fabric> Channel<F> {
    /// Sends a small frame (see [`mpi_core::port::Transport::send`]).
    #[inline]
    pub(super) fn send_frame(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
    ) -> Result<(), Full> {
        let head = header.to_bytes();
        let sent = self.transmit(peer, Content { kind: Kind::Frame, head: &head, body });
        if sent.is_err()
            && let Some(to) = self.peers.get(peer)
        {
            to.frame_waits = true;
        }
        sent
    }

    /// Posts a message, or a frame into the peer's ring.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        peer: PeerId,
        mut content: Content<'_, '_>,
    ) -> Result<(), Full> {
        let Some(to) = self.peers.get(peer).filter(|to| to.is_up()) else { return self.seek(peer) };
        if to.state != State::Up || to.has_said_goodbye {
            return Err(Full);
        }
        let carries = content.kind.is_counted();
        // A goodbye by a ring would overtake the completions that tell of what was written before.
        let is_goodbye = content.kind == Kind::Goodbye;
        let ring = to.rings.out.filter(|ring| ring.has_room() && !is_goodbye);
        if ring.is_none() && carries && to.credits.allowance.left() == 0 {
            return self.starve(peer);
        }
        let len = content.len();
        let (target, trailer) = ring.map(|ring| ring.next(len)).unzip();
        let (envelope, renewal) = envelope(to, &self.rings, content.kind);
        let bytes = len + if ring.is_some() { TRAILER_BYTES } else { 0 };
        let mut stack = [MaybeUninit::<u8>::uninit(); INLINE_MAX];
        let (local, buffer) = if bytes <= self.inline_max {
            let region = self.pool.any_region().ok_or(Full)?;
            (Local { region, address: stack.as_mut_ptr().cast(), len: bytes }, None)
        } else {
            let buffer =
                self.pool.take(&mut self.fabric).or_else(|| self.make_room()).ok_or(Full)?;
            (self.pool.local(buffer, bytes).ok_or(Full)?, Some(buffer))
        };
        let kept = match &content.body {
            Body::Packed(packer) => Some((**packer).clone()),
            Body::Bytes(_) => None,
        };
        // SAFETY: the stack has room for what is inline, a buffer for any message and a trailer.
        unsafe { content.write(local.address, envelope, trailer) };
        let work = Some(Job::Message { peer, buffer, carries }.to_work());
        // SAFETY: the buffer is not touched until the work is done; a ring's place was told by the peer.
        let posted = unsafe {
            match target {
                Some(target) => self.fabric.write(peer, 0, local, target, None, work),
                None => self.fabric.send(peer, local, work),
            }
        };
        if posted.is_err() {
            if let (Body::Packed(packer), Some(kept)) = (&mut content.body, kept) {
                **packer = kept;
            }
            if let Some(buffer) = buffer {
                self.pool.give(&mut self.fabric, buffer);
            }
            return Err(Full);
        }
        self.note_sent(peer, content.kind, renewal, target.is_some());
        Ok(())
    }

    /// A buffer after all, if no more could be registered just now and the program's memory can make room.
    #[cold]
    fn make_room(&mut self) -> Option<Buffer> {
        let makes = self.pool.was_refused() && self.pins.give_up_oldest(&mut self.fabric);
        makes.then(|| self.pool.try_again());
        makes.then(|| self.pool.take(&mut self.fabric)).flatten()
    }

    /// A message is posted.
    #[inline]
    fn note_sent(&mut self, peer: PeerId, kind: Kind, renewal: u16, by_ring: bool) {
        let Some(to) = self.peers.get(peer) else { return };
        to.next_out = to.next_out.wrapping_add(1);
        to.credits.grants.renew(renewal);
        to.credits.allowance.tell();
        to.due &= !(due::NOTE | due::YIELD);
        if let Some(ring) = to.rings.own.and_then(|place| self.rings.get_mut(place)) {
            ring.told = ring.freed;
        }
        if by_ring && let Some(ring) = &mut to.rings.out {
            ring.step();
        }
        if kind.is_counted() {
            to.carried += 1;
            (to.frame_waits, to.passed_over) = (false, false);
            if !by_ring {
                to.credits.allowance.spend();
            }
        }
        self.granted += usize::from(renewal);
        let counter = match kind {
            Kind::Frame if by_ring => &mut self.counters.ring_frames_out,
            Kind::Frame => &mut self.counters.messages_out,
            Kind::Fragment => &mut self.counters.fragments_out,
            _ => &mut self.counters.notes_out,
        };
        *counter += 1;
    }

    /// There is no credit: the peer hears of it.
    #[cold]
    fn starve(&mut self, peer: PeerId) -> Result<(), Full> {
        self.counters.starved += 1;
        if let Some(to) = self.peers.get(peer)
            && to.credits.allowance.starve()
        {
            self.owe(peer, due::NOTE);
        }
        Err(Full)
    }

    /// There is no connection: one is wanted.
    #[cold]
    pub(super) fn seek(&mut self, peer: PeerId) -> Result<(), Full> {
        let Some(to) = self.peer(peer).filter(|to| to.state == State::Up && !to.is_up()) else {
            return Err(Full);
        };
        if to.link == Link::Unmet {
            if !self.sought.contains(&peer) {
                self.sought.push(peer);
            }
        } else if std::mem::replace(&mut to.link, Link::Reached) == Link::Met {
            self.fabric.reach(peer);
        }
        Err(Full)
    }
}

/// What the next message to a peer begins with, and the credits that it renews.
#[inline]
fn envelope<R>(to: &Peer, rings: &[RingIn<R>], kind: Kind) -> (Envelope, u16) {
    let renewal = to.credits.grants.renewal();
    let freed = to.rings.own.and_then(|place| rings.get(place)).map_or(0, |ring| ring.freed);
    let starves = if to.credits.allowance.is_starving() { STARVES } else { 0 };
    let yields = if to.due & due::YIELD != 0 { YIELD } else { 0 };
    let (sequence, granted) = (to.next_out, to.credits.grants.total(renewal));
    (Envelope { sequence, granted, freed, kind, flags: starves | yields }, renewal)
}
