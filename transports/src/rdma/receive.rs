//! The way in: frames in rings, which are looked at in memory, and completions of the fabric.
//!
//! Messages and frames of a peer have one order, told by their numbers. A frame in a ring whose forerunner is a
//! message waits for it in its slot. A message has come after the frames that were written before it on its rail:
//! they are taken first. A message that is told before its forerunners waits too (`ahead`).

use mpi_core::buffer::RawBytes;
use mpi_core::header::{HEADER_BYTES, Header};
use mpi_core::port::{Activity, PeerId, Sink};

use super::Rdma;
use super::channel::{Channel, Event};
use super::envelope::{ENVELOPE_BYTES, Envelope, Kind, RingPlace, STARVES, YIELD};
use super::fabric::{Completion, Fabric, Work};
use super::job::Job;
use super::peer::{State, due};
use super::pool::Buffer;
use super::ring::{Next, RingOut};
use super::transfers::Ahead;

/// Why a peer is not believed any more.
pub(super) type Breach = &'static str;

pub(super) const DISORDER: Breach = "what it sends does not follow in order";
/// Why as well.
pub(super) const TOO_MANY: Breach = "it sends more than it may";
const SHORT: Breach = "a message of it is too short";

/// What became of a message.
pub(super) enum Taken {
    /// Its buffer is read.
    Over,
    /// It waits for its turn in its buffer.
    Kept,
}

impl<F: Fabric> Rdma<F> {
    /// Takes in what has come, and does what is due (see [`mpi_core::port::Transport::poll`]).
    #[inline]
    pub(super) fn poll_fabric<S: Sink>(&mut self, sink: &mut S) -> Activity {
        self.channel.polls += 1;
        let mut busy = self.look_at_rings(sink);
        let mut news = std::mem::take(&mut self.news);
        self.channel.fabric.poll(&mut news);
        let was_quiet = news.is_empty();
        busy |= !was_quiet;
        for completion in news.drain(..) {
            self.take(completion, sink);
        }
        self.news = news;
        self.is_awake = false;
        if !self.leavers.is_empty() {
            self.end_goodbyes(was_quiet);
        }
        self.channel.answer_all();
        if !self.channel.pending.is_empty() {
            self.attend();
        }
        self.channel.top_up();
        if !self.channel.events.is_empty() {
            busy = true;
            self.tell(sink);
        }
        if busy { Activity::Busy } else { Activity::Idle }
    }

    /// Tells the sink what has happened.
    #[cold]
    fn tell<S: Sink>(&mut self, sink: &mut S) {
        for event in std::mem::take(&mut self.channel.events) {
            match event {
                Event::Down(peer, why) => sink.peer_down(peer, why),
                Event::Sent(token) => sink.sent(token),
            }
        }
    }

    /// Looks at all rings; whether anything was there.
    #[inline]
    fn look_at_rings<S: Sink>(&mut self, sink: &mut S) -> bool {
        let (mut busy, mut place) = (false, 0);
        while let Some(ring) = self.channel.rings.get(place) {
            if ring.look() != Next::Nothing {
                let peer = ring.peer;
                busy |= self.drain(peer, None, sink);
            }
            place += 1;
        }
        busy
    }

    /// Takes the frames in a peer's ring whose turn it is, or until it is that of a message with this number;
    /// whether there were any.
    pub(super) fn drain<S: Sink>(
        &mut self,
        peer: PeerId,
        until: Option<u16>,
        sink: &mut S,
    ) -> bool {
        let mut budget = self.channel.config.settings.ring_slots;
        let mut busy = false;
        while budget > 0 {
            let Some(from) = self.channel.peers.get(peer) else { break };
            if until == Some(from.next_in) || from.state != State::Up {
                break;
            }
            let Some(ring) = from.rings.own.and_then(|place| self.channel.rings.get(place)) else {
                break;
            };
            let expected = from.next_in;
            let taken = match ring.look() {
                Next::Nothing => break,
                Next::Breach => Err("a frame of it has an impossible length"),
                Next::Frame(at, len) => match read_envelope(at, len) {
                    Err(breach) => Err(breach),
                    Ok(envelope) => match envelope.sequence.wrapping_sub(expected) as i16 {
                        0 => {
                            let end = (at.wrapping_add(ENVELOPE_BYTES), len - ENVELOPE_BYTES);
                            self.take_in(peer, envelope, end, sink)
                        }
                        // Its forerunner is a message that has not been reported yet.
                        1.. => break,
                        _ => Err(DISORDER),
                    },
                },
            };
            (busy, budget) = (true, budget - 1);
            self.channel.counters.ring_frames_in += 1;
            if let Err(breach) = taken {
                self.distrust(peer, breach);
                break;
            }
            let place = self.channel.peers.get(peer).and_then(|from| from.rings.own);
            if let Some(ring) = place.and_then(|place| self.channel.rings.get_mut(place)) {
                ring.free();
            }
        }
        busy
    }

    /// Takes in a completion.
    #[inline]
    fn take<S: Sink>(&mut self, completion: Completion, sink: &mut S) {
        match completion {
            Completion::Received { peer, work, len } => {
                let Job::Posted(buffer) = Job::from_work(work) else { return };
                self.channel.counters.messages_in += 1;
                match self.take_message(peer, buffer, len, sink) {
                    Ok(Taken::Over) => self.channel.post_again(buffer),
                    Ok(Taken::Kept) => {}
                    Err(breach) => {
                        self.distrust(peer, breach);
                        self.channel.post_again(buffer);
                    }
                }
            }
            Completion::Done(work) => self.end_work(work, true, sink),
            Completion::Failed(work) => self.end_work(work, false, sink),
            Completion::Written { peer, immediate, work } => {
                if let Some(Job::Posted(buffer)) = work.map(Job::from_work) {
                    self.channel.post_again(buffer);
                }
                if let Err(breach) = self.landings.end(peer, immediate, &mut self.channel, sink) {
                    self.distrust(peer, breach);
                }
            }
            Completion::Unused(work) => {
                if let Job::Posted(buffer) = Job::from_work(work) {
                    self.channel.posted -= 1;
                    self.channel.pool.give(&mut self.channel.fabric, buffer);
                }
            }
            Completion::Up(peer) => self.channel.come_up(peer),
            Completion::Down(peer, how) => {
                // What it has written before lies there, perhaps behind a message that has just been taken.
                self.drain(peer, None, sink);
                // Whoever has taken leave may have gone; what it wrote may be behind this.
                if !self.leavers.iter().any(|(leaver, _)| *leaver == peer) {
                    self.go_down(peer, &how);
                }
            }
        }
    }

    /// A work request is over.
    #[inline]
    fn end_work<S: Sink>(&mut self, work: Work, is_done: bool, sink: &mut S) {
        match Job::from_work(work) {
            Job::Message { peer, buffer, carries } => {
                if let Some(buffer) = buffer {
                    self.channel.pool.give(&mut self.channel.fabric, buffer);
                }
                let Some(to) = self.channel.peers.get(peer) else { return };
                if carries {
                    to.carried -= 1;
                    to.has_failed |= !is_done;
                }
            }
            Job::Posted(buffer) => {
                self.channel.posted -= 1;
                self.channel.pool.give(&mut self.channel.fabric, buffer);
            }
            Job::Move(number) => self.moves.end_fragment(number, is_done, &mut self.channel, sink),
        }
    }

    /// A message of a peer lies in a buffer.
    #[inline]
    fn take_message<S: Sink>(
        &mut self,
        peer: PeerId,
        buffer: Buffer,
        len: usize,
        sink: &mut S,
    ) -> Result<Taken, Breach> {
        if len > self.channel.pool.buffer_bytes() {
            return Err(SHORT);
        }
        let Some(local) = self.channel.pool.local(buffer, len) else { return Ok(Taken::Over) };
        let envelope = read_envelope(local.address, len)?;
        let from = match self.channel.peers.get(peer) {
            Some(from) => from,
            None => self.channel.peer(peer).ok_or(DISORDER)?,
        };
        if from.state != State::Up {
            return Ok(Taken::Over);
        }
        if envelope.sequence != from.next_in {
            self.drain(peer, Some(envelope.sequence), sink);
            let Some(from) = self.channel.peers.get(peer).filter(|from| from.state == State::Up)
            else {
                return Ok(Taken::Over);
            };
            if envelope.sequence != from.next_in {
                return self.channel.keep_ahead(peer, Ahead { envelope, buffer, len });
            }
        }
        self.take_next(peer, envelope, (local.address, len), sink)?;
        if !self.channel.abilities.tells_in_order {
            self.take_ahead(peer, sink)?;
        }
        Ok(Taken::Over)
    }

    /// Takes in the message of a peer whose turn it is, which lies in so many bytes at a place.
    #[inline]
    pub(super) fn take_next<S: Sink>(
        &mut self,
        peer: PeerId,
        envelope: Envelope,
        (at, len): (*const u8, usize),
        sink: &mut S,
    ) -> Result<(), Breach> {
        if envelope.kind.is_counted()
            && let Some(from) = self.channel.peers.get(peer)
        {
            if !from.credits.grants.consume() {
                return Err(TOO_MANY);
            }
            from.rings.talk += 1;
            let talk = from.rings.talk;
            self.channel.granted -= 1;
            self.channel.consider_ring(peer, talk);
        }
        let at = at.wrapping_add(ENVELOPE_BYTES);
        self.take_in(peer, envelope, (at, len - ENVELOPE_BYTES), sink)
    }

    /// Takes in a message or frame whose turn it is; its content is so many bytes at a place.
    #[inline]
    fn take_in<S: Sink>(
        &mut self,
        peer: PeerId,
        envelope: Envelope,
        (at, len): (*const u8, usize),
        sink: &mut S,
    ) -> Result<(), Breach> {
        let polls = self.channel.polls;
        let Some(from) = self.channel.peers.get(peer) else { return Ok(()) };
        from.next_in = from.next_in.wrapping_add(1);
        from.heard_at = polls;
        if !from.credits.allowance.learn(envelope.granted) {
            return Err("it gives more credits than there are");
        }
        if let Some(ring) = &mut from.rings.out
            && !ring.learn(envelope.freed)
        {
            return Err("it has read more than was written");
        }
        if !std::mem::replace(&mut from.is_heard, true) {
            self.channel.heard.push(peer);
        }
        if envelope.flags != 0 {
            self.channel.heed(peer, envelope.flags);
        }
        if envelope.kind == Kind::Frame {
            if len < HEADER_BYTES {
                return Err(SHORT);
            }
            // SAFETY: so many bytes are in a buffer or slot of this process; they are copied out once.
            let bytes = unsafe { at.cast::<[u8; HEADER_BYTES]>().read_unaligned() };
            let body = at.wrapping_add(HEADER_BYTES);
            // SAFETY: the rest of them, which stays there during the call.
            let body = unsafe { RawBytes::new(body, len - HEADER_BYTES) };
            sink.frame(peer, &Header::from_bytes(&bytes), body);
            return Ok(());
        }
        // SAFETY: as above.
        self.take_other(peer, envelope.kind, unsafe { RawBytes::new(at, len) }, sink)
    }

    /// What is no frame.
    fn take_other<S: Sink>(
        &mut self,
        peer: PeerId,
        kind: Kind,
        content: RawBytes<'_>,
        sink: &mut S,
    ) -> Result<(), Breach> {
        match kind {
            Kind::Fragment => return self.take_fragment(peer, content, sink),
            Kind::RingOpen => {
                let max = self.channel.message_bytes_max();
                let place = RingPlace::from_bytes(&small(content));
                let ring = place.and_then(|place| RingOut::new(place, max));
                let ring = ring.ok_or("the ring that it tells of is none")?;
                if let Some(from) = self.channel.peers.get(peer) {
                    from.rings.out = Some(ring);
                }
            }
            Kind::RingClose => {
                if let Some(from) = self.channel.peers.get(peer)
                    && from.rings.out.take().is_some()
                {
                    self.channel.owe(peer, due::RING_CLOSED);
                }
            }
            Kind::RingClosed => self.channel.close_ring(peer),
            Kind::Returned => {
                let total = <[u8; 2]>::try_from(&small(content)[..]).map_err(|_| SHORT)?;
                let Some(from) = self.channel.peers.get(peer) else { return Ok(()) };
                let returned = from.credits.grants.take_back(u16::from_le_bytes(total));
                self.channel.granted -=
                    usize::from(returned.ok_or("it gives back what it does not have")?);
            }
            // What it has written before may stand in the completion queue of another device, which was not
            // looked at yet.
            Kind::Goodbye => self.leavers.push((peer, self.channel.polls)),
            Kind::Note | Kind::Frame => {}
        }
        Ok(())
    }
}

impl<F: Fabric> Channel<F> {
    /// What the flags of an envelope ask for.
    #[cold]
    fn heed(&mut self, peer: PeerId, flags: u8) {
        if flags & STARVES != 0 {
            self.grant_more(peer);
        }
        if flags & YIELD != 0 {
            self.owe(peer, due::RETURN);
        }
    }

    /// Those from whom something came are told how far this end is, if they must hear of it.
    #[inline]
    fn answer_all(&mut self) {
        while let Some(peer) = self.heard.pop() {
            let Some(from) = self.peers.get(peer) else { continue };
            from.is_heard = false;
            let ring = from.rings.own.and_then(|place| self.rings.get(place));
            if from.credits.grants.is_owed() || ring.is_some_and(|ring| ring.is_owed()) {
                self.owe(peer, due::NOTE);
            }
        }
    }
}

/// The envelope of a message of so many bytes.
#[inline]
fn read_envelope(at: *const u8, len: usize) -> Result<Envelope, Breach> {
    if len < ENVELOPE_BYTES {
        return Err(SHORT);
    }
    // SAFETY: so many bytes are in a buffer or slot of this process; they are copied out once.
    let bytes = unsafe { at.cast::<[u8; ENVELOPE_BYTES]>().read_unaligned() };
    Envelope::from_bytes(bytes).ok_or("a message of it is of an unknown kind")
}

/// The content of a message of this transport's own, in memory of our own; cut where it is too long to be one.
fn small(mut content: RawBytes<'_>) -> Vec<u8> {
    content.take(64).to_vec()
}
