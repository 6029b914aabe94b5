//! What goes on beside frames: buffers that are posted, credits that are given and asked back, rings that are
//! opened for those who talk most, and everything that waits for room.

use mpi_core::buffer::RawBytes;
use mpi_core::port::{Body, Full, PeerId};

use super::Rdma;
use super::channel::Channel;
use super::envelope::Kind;
use super::fabric::Fabric;
use super::job::Job;
use super::peer::{State, due};
use super::pool::Buffer;
use super::ring::{RingIn, slot_bytes};
use super::send::Content;

/// Buffers for messages that take no credit.
const RESERVE: usize = 8;
/// So many more may be posted than are needed, so that their number does not go up and down.
const SLACK: usize = 8;
/// Credits of one peer at most.
const WINDOW_MAX: u16 = 256;
/// Who has not been heard in so many polls can give back credits.
const QUIET_POLLS: u64 = 100;
/// Messages by which a peer may come to a ring; again after each so many.
const RING_TALK: u32 = 16;

impl<F: Fabric> Channel<F> {
    /// Buffers that may be posted: half of the pool, so that as much is left for what goes out, as far as the fabric
    /// has room.
    pub(super) fn posted_limit(&self) -> usize {
        (self.pool.buffers_max() / 2).min(self.posts_max)
    }

    /// Buffers that should be posted.
    fn wanted(&self) -> usize {
        let reserve = if self.met == 0 { 0 } else { RESERVE + self.met / 4 };
        // A large message tells of its end once on each rail.
        let ends = self.awaiting * self.abilities.rails;
        (self.granted + reserve + ends).min(self.posted_limit())
    }

    /// Posts buffers as many as are needed.
    #[inline]
    pub(super) fn top_up(&mut self) {
        let wanted = self.wanted();
        if self.posted < wanted {
            self.post_more(wanted);
        }
    }

    #[cold]
    fn post_more(&mut self, wanted: usize) {
        while self.posted < wanted {
            let Some(buffer) = self.pool.take_to_keep(&mut self.fabric) else { return };
            if !self.post(buffer) {
                return;
            }
        }
    }

    /// Posts a buffer, or gives it back if there is no room.
    #[inline]
    fn post(&mut self, buffer: Buffer) -> bool {
        let bytes = self.message_bytes_max();
        let Some(local) = self.pool.local(buffer, bytes) else { return false };
        // SAFETY: the buffer is used for nothing else until it completes.
        let posted = unsafe { self.fabric.post(local, Job::Posted(buffer).to_work()) };
        if posted.is_err() {
            self.posts_max = self.posted.max(1);
            self.pool.give(&mut self.fabric, buffer);
            return false;
        }
        self.posted += 1;
        self.counters.posted_max = self.counters.posted_max.max(self.posted as u64);
        true
    }

    /// A posted buffer was taken and is read.
    #[inline]
    pub(super) fn post_again(&mut self, buffer: Buffer) {
        self.posted -= 1;
        if self.posted < self.wanted() + SLACK {
            self.post(buffer);
        } else {
            self.pool.give(&mut self.fabric, buffer);
        }
    }

    /// A peer starves: it gets twice as many credits, as far as there are buffers; where there are none, who has
    /// been quiet is asked to give back.
    pub(super) fn grant_more(&mut self, peer: PeerId) {
        let room = self.posted_limit().saturating_sub(self.windows);
        let Some(from) = self.peers.get(peer) else { return };
        let more =
            from.credits.grants.window.min(WINDOW_MAX.saturating_sub(from.credits.grants.window));
        let given = room.min(more.into()) as u16;
        from.credits.grants.window += given;
        self.windows += usize::from(given);
        if given > 0 {
            self.owe(peer, due::NOTE);
        }
        if given < more {
            self.ask_back(peer);
        }
    }

    /// Asks who was heard longest ago to give back credits.
    #[cold]
    fn ask_back(&mut self, but: PeerId) {
        let latest = self.polls.saturating_sub(QUIET_POLLS);
        let places = self.peers.places();
        let quiet = places.filter_map(|peer| {
            let one = self.peers.get(peer).filter(|one| peer != but && one.state == State::Up)?;
            (one.credits.grants.window > 1 && one.heard_at < latest).then_some((one.heard_at, peer))
        });
        let Some((_, peer)) = quiet.min() else { return };
        if let Some(one) = self.peers.get(peer) {
            self.windows -= usize::from(one.credits.grants.window - 1);
            one.credits.grants.window = 1;
            self.owe(peer, due::NOTE | due::YIELD);
        }
    }

    /// A peer has sent so many messages: it may come to a ring.
    #[inline]
    pub(super) fn consider_ring(&mut self, peer: PeerId, talk: u32) {
        if talk.is_multiple_of(RING_TALK) && self.config.settings.ring_slots > 0 {
            self.give_ring(peer, talk);
        }
    }

    #[cold]
    fn give_ring(&mut self, peer: PeerId, talk: u32) {
        let most = self.config.settings.ring_peers;
        if self.peers.get(peer).is_none_or(|from| from.rings.own.is_some()) || most == 0 {
            return;
        }
        if self.rings.len() >= most {
            return self.compare_talk(talk);
        }
        let (slots, bytes) =
            (self.config.settings.ring_slots as u16, slot_bytes(self.message_bytes_max()));
        let Some(ring) = RingIn::open(&mut self.fabric, peer, slots, bytes) else { return };
        if let Some(from) = self.peers.get(peer) {
            from.rings.own = Some(self.rings.len());
            self.rings.push(ring);
            self.counters.rings += 1;
            self.owe(peer, due::RING_OPEN);
        }
    }

    /// Who has the least used ring loses it, if that is used less than half as much as somebody talks without one.
    fn compare_talk(&mut self, talk: u32) {
        let least =
            self.rings.iter_mut().filter(|ring| !ring.is_closing).min_by_key(|ring| ring.talk);
        let Some(ring) = least.filter(|ring| ring.talk < talk / 2) else {
            self.rings.iter_mut().for_each(|ring| ring.talk /= 2);
            return;
        };
        ring.is_closing = true;
        let peer = ring.peer;
        self.owe(peer, due::RING_CLOSE);
    }

    /// A ring is written no more, and all of it is read.
    pub(super) fn close_ring(&mut self, peer: PeerId) {
        let Some(from) = self.peers.get(peer) else { return };
        from.rings.talk = 0;
        from.due &= !(due::RING_OPEN | due::RING_CLOSE);
        let Some(place) = from.rings.own.take() else { return };
        self.rings.swap_remove(place).close(&mut self.fabric);
        if let Some(moved) = self.rings.get(place).map(|ring| ring.peer)
            && let Some(other) = self.peers.get(moved)
        {
            other.rings.own = Some(place);
        }
    }

    /// Says what has to be said by messages of their own.
    pub(super) fn say_due(&mut self, peer: PeerId) -> Result<(), Full> {
        const KINDS: [(u8, Kind); 6] = [
            (due::RING_CLOSED, Kind::RingClosed),
            (due::RING_OPEN, Kind::RingOpen),
            (due::RING_CLOSE, Kind::RingClose),
            (due::RETURN, Kind::Returned),
            (due::NOTE, Kind::Note),
            (due::GOODBYE, Kind::Goodbye),
        ];
        for (bit, kind) in KINDS {
            let Some(to) = self.peers.get(peer) else { return Ok(()) };
            if to.due & bit == 0 {
                continue;
            }
            let content = match kind {
                Kind::Returned => to.credits.allowance.give_back().to_le_bytes().to_vec(),
                Kind::RingOpen => {
                    let ring = to.rings.own.and_then(|place| self.rings.get(place));
                    ring.map_or(Vec::new(), |ring| ring.place(&self.fabric).to_bytes().to_vec())
                }
                _ => Vec::new(),
            };
            let body = Body::Bytes(RawBytes::from(&content[..]));
            self.transmit(peer, Content { kind, head: &[], body })?;
            if let Some(to) = self.peers.get(peer) {
                to.due &= !bit;
                to.has_said_goodbye |= kind == Kind::Goodbye;
            }
        }
        Ok(())
    }
}

impl<F: Fabric> Rdma<F> {
    /// Goes on with everything that waited for room.
    pub(super) fn attend(&mut self) {
        for peer in std::mem::take(&mut self.channel.pending) {
            let Some(to) = self.channel.peers.get(peer) else { continue };
            to.is_pending = false;
            if to.state != State::Up {
                continue;
            }
            if to.is_up() {
                // What is not posted stays due.
                let _ = self.channel.say_due(peer);
                self.go_on(peer);
            } else if to.has_work() {
                let _ = self.channel.seek(peer);
            }
            if self.channel.peers.get(peer).is_some_and(|to| to.has_work()) {
                self.channel.pend(peer);
            }
        }
    }

    /// Posts fragments of large messages, unless a frame that found no room has its turn.
    fn go_on(&mut self, peer: PeerId) {
        let Some(to) = self.channel.peers.get(peer) else { return };
        if to.frame_waits && !to.passed_over {
            to.passed_over = true;
            return;
        }
        to.passed_over = false;
        self.moves.post(peer, &mut self.channel);
        self.channel.post_fragments(peer);
    }
}
