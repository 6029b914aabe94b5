//! The way in: what has come to the lanes goes to the sink, or straight to who waits for it.

use mpi_core::buffer::RawBytes;
use mpi_core::header::{Header, INLINE_BYTES};
use mpi_core::port::{Activity, Expected, Front, PeerId, Sink};
use mpi_core::tuning::{FRAMES_PER_LANE, LANES_PER_POLL, LOOKS_AMID};

use crate::shm::peer::Peer;
use crate::shm::ring::exchange::EXCHANGE;
use crate::shm::ring::lane::{BESIDE_BYTES, CELLS_MAX, Class, Impossible, Reader, Words};
use crate::shm::ring::pool::Pool;
use crate::shm::ring::runs::Ring;
use crate::shm::{Event, Shm};

impl Shm {
    /// Takes in what has come (see [`mpi_core::port::Transport::poll`]).
    #[inline]
    pub(in crate::shm) fn poll_lanes<S: Sink>(&mut self, sink: &mut S) -> Activity {
        self.segments.forget_missed();
        let mut activity = Activity::Idle;
        let all = if self.look_at_all {
            self.contacts.row.len()
        } else {
            LANES_PER_POLL.min(self.contacts.row.len())
        };
        for at in 0..all {
            if self.look_at(at, sink) {
                activity = Activity::Busy;
            }
        }
        if self.contacts.row.len() > all && self.look_in_turn(sink) {
            activity = Activity::Busy;
        }
        self.look_at_all = false;
        self.contacts.until_look -= 1;
        if self.contacts.chores || self.contacts.until_look == 0 {
            self.do_chores(sink);
            if std::mem::take(&mut self.pumped) {
                activity = Activity::Busy;
            }
        }
        activity
    }

    /// Takes in what has come from the peer at a place of the row, if there still is one.
    #[inline]
    fn look_at<S: Sink>(&mut self, at: usize, sink: &mut S) -> bool {
        let Some(&peer) = self.contacts.row.get(at) else { return false };
        let news = self.contacts.peers[peer.0 as usize].reader.has_news();
        if news {
            self.heard = self.heard.wrapping_add(1);
            self.drain(peer, sink);
        }
        news
    }

    /// Looks at some of the quiet lanes; one that is no longer quiet comes to the front.
    fn look_in_turn<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut any = false;
        for _ in 0..LANES_PER_POLL.min(self.contacts.row.len() - LANES_PER_POLL) {
            let at = if self.turn + 1 < self.contacts.row.len() {
                self.turn + 1
            } else {
                LANES_PER_POLL
            };
            self.turn = at.max(LANES_PER_POLL);
            if self.look_at(self.turn, sink) {
                any = true;
                if self.turn < self.contacts.row.len() {
                    self.contacts.row.swap(self.turn, self.turn % LANES_PER_POLL);
                }
            }
        }
        any
    }

    /// Shows the next frame of `peer` to `wanted` if it is small (see [`mpi_core::port::Transport::take_front`]).
    #[inline(always)]
    pub(in crate::shm) fn show_front(
        &mut self,
        peer: PeerId,
        looks: u32,
        wanted: impl FnOnce(&Header, RawBytes<'_>) -> bool,
    ) -> Front {
        let Some(from) = self.contacts.peers.get_mut(peer.0 as usize) else { return Front::Other };
        let Some(words) = from.reader.peek_within(looks) else { return from.shows_nothing() };
        let (header, _) = Header::from_words(words.header);
        let Some(body) = small_body(from, words, &header) else { return Front::Other };
        if !wanted(&header, body) {
            return Front::Other;
        }
        from.take_over(words);
        self.heard = self.heard.wrapping_add(1);
        if from.go_on(words, &mut self.contacts.slots, &mut self.contacts.ring).is_err() {
            self.contacts.drop_peer(peer, IMPOSSIBLE_RIDE);
        }
        Front::Taken
    }

    /// Takes the next frame of `peer` if it is small and expected (see [`mpi_core::port::Transport::take_expected`]).
    #[inline(always)]
    pub(in crate::shm) fn take_expected_front(
        &mut self,
        peer: PeerId,
        looks: u32,
        expected: &Expected,
    ) -> Result<(Header, usize), Front> {
        let from = self.contacts.peers.get_mut(peer.0 as usize).ok_or(Front::Other)?;
        let payload = from.reader.next_payload();
        let Some(words) = from.reader.peek_within(looks) else { return Err(from.shows_nothing()) };
        let (header, _) = Header::from_words(words.header);
        let mut len = usize::from(header.inline_len);
        let differs = expected.differs(&words.header);
        let taken = if differs | words.class_bits() == 0 && len <= INLINE_BYTES {
            // An answer often goes back at once. Claim its cell now and not before: while the peer waits for it, it
            // polls that line, and would take it back before it is written.
            from.writer.claim();
            from.reader.expect_beside(0);
            // SAFETY: the cell has `INLINE_BYTES` bytes behind its header; as for `small_body`.
            expected.fill(unsafe { RawBytes::new(payload, len) })
        } else if differs == 0 && words.is_beside() {
            let body = beside_body(&from.reader).ok_or(Front::Other)?;
            len = body.len();
            from.reader.expect_beside(len);
            from.writer.claim_beside(len);
            from.writer.claim();
            expected.fill(body)
        } else if differs != 0 || words.class() != Some(Class::Body) {
            false
        } else {
            let (offset, long) = (from.reader.payload_word(0), from.reader.payload_word(1));
            let at = from.body(offset, long).ok_or(Front::Other)?;
            len = long as usize;
            // SAFETY: `body` checked the range; as for `small_body`.
            let taken = expected.fill(unsafe { RawBytes::new(at, len) });
            if taken && offset >= EXCHANGE {
                from.exchange.receive();
                from.exchange.claim(len);
                // The cell of the answer too, so that its line comes together with the body's.
                from.writer.claim();
            }
            taken
        };
        if !taken {
            return Err(Front::Other);
        }
        self.heard = self.heard.wrapping_add(1);
        if from.go_on(words, &mut self.contacts.slots, &mut self.contacts.ring).is_err() {
            self.contacts.drop_peer(peer, IMPOSSIBLE_RIDE);
        }
        Ok((header, len))
    }

    /// Takes up to a batch of frames from one lane.
    #[inline]
    fn drain<S: Sink>(&mut self, peer: PeerId, sink: &mut S) {
        for _ in 0..FRAMES_PER_LANE {
            let from = &mut self.contacts.peers[peer.0 as usize];
            let Some(words) = from.reader.peek() else {
                from.stale = 0;
                if from.is_amid() && !self.contacts.chores && from.reader.comes_within(LOOKS_AMID) {
                    continue;
                }
                break;
            };
            let (header, _) = Header::from_words(words.header);
            if from
                .learn(words.consumed(), &mut self.contacts.slots, &mut self.contacts.ring)
                .is_err()
            {
                return self.contacts.drop_peer(peer, IMPOSSIBLE_RIDE);
            }
            if let Some(body) =
                small_body(&mut self.contacts.peers[peer.0 as usize], words, &header)
            {
                sink.frame(peer, &header, body);
                self.contacts.peers[peer.0 as usize].take_over(words);
            } else if let Err(how) = self.take_other(peer, words, &header, sink) {
                return self.contacts.drop_peer(peer, how);
            }
            let from = &mut self.contacts.peers[peer.0 as usize];
            if from.reader.is_closed() {
                // What answered the frame has found the peer out.
                return;
            }
            from.reader.advance();
            if matches!(words.class(), Some(Class::Chunk | Class::Fragment)) {
                // The sender fills the next while this end goes on.
                from.reader.publish();
            }
        }
        self.contacts.peers[peer.0 as usize].reader.publish();
    }

    /// A frame that is no small one of the core.
    #[inline(never)]
    fn take_other<S: Sink>(
        &mut self,
        peer: PeerId,
        words: Words,
        header: &Header,
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let reader = &self.contacts.peers[peer.0 as usize].reader;
        let word = |i| reader.payload_word(i);
        match words.class() {
            Some(Class::Body) => Err("a frame of it names a body outside its slots and ring"),
            Some(Class::Begin) => {
                let (len, id) = (word(0), word(1));
                self.begin_bulk(peer, header, len, id, sink)
            }
            Some(Class::Chunk) => {
                let chunk = [0, 1, 2].map(word);
                self.receive_chunk(peer, chunk, sink)
            }
            Some(Class::Stream) => {
                let place = [0, 1, 2].map(word);
                self.begin_stream(peer, header, place, sink)
            }
            Some(Class::Fragment) => {
                let part = word(0);
                self.take_fragment(peer, part, sink)
            }
            Some(Class::Inline | Class::Beside) | None => {
                Err("a frame of it has an impossible form")
            }
        }
    }

    /// Takes in all that a peer which is gone had sent: at most what fits into its lane.
    fn take_rest<S: Sink>(&mut self, peer: PeerId, sink: &mut S) {
        for _ in 0..=CELLS_MAX as usize / FRAMES_PER_LANE {
            if !self.contacts.peers[peer.0 as usize].reader.has_news() {
                return;
            }
            self.drain(peer, sink);
        }
    }

    /// What is due now and then, or when somebody asked for it: bulk data, the socket, events.
    #[cold]
    #[inline(never)]
    fn do_chores<S: Sink>(&mut self, sink: &mut S) {
        if self.contacts.until_look == 0 {
            self.contacts.look_around();
        }
        self.contacts.chores = self.pump();
        self.contacts.ring_again();
        for event in std::mem::take(&mut self.contacts.events) {
            match event {
                Event::Sent(token) => sink.sent(token),
                Event::Down(peer, why) => {
                    self.take_rest(peer, sink);
                    // The requests give their memory back now.
                    let gone = &mut self.contacts.peers[peer.0 as usize];
                    gone.bulk_in.clear();
                    gone.arriving = None;
                    sink.peer_down(peer, why);
                }
            }
        }
    }
}

/// What is said of a peer whose frame carries a count that cannot be.
const IMPOSSIBLE_RIDE: &str = "a frame of it carries an impossible count";

impl Peer {
    /// Says what a look showed that found nothing.
    #[inline]
    fn shows_nothing(&mut self) -> Front {
        // What comes from now on was written after any look.
        self.stale = 0;
        if self.reader.is_closed() { Front::Other } else { Front::Empty }
    }

    /// Goes on behind a small frame that was taken in.
    #[inline(always)]
    fn go_on(&mut self, words: Words, slots: &mut Pool, ring: &mut Ring) -> Result<(), Impossible> {
        self.reader.advance();
        self.reader.publish();
        self.learn(words.consumed(), slots, ring)
    }

    /// Holds the exchange buffer if the small frame that was just taken in came through it.
    #[inline(always)]
    fn take_over(&mut self, words: Words) {
        if !words.is_inline() && self.reader.payload_word(0) >= EXCHANGE {
            self.exchange.receive();
        }
    }
}

/// The body beside the cells of the frame in the next cell; `None` if it says that it is longer than the place.
#[inline(always)]
fn beside_body<'a>(reader: &Reader) -> Option<RawBytes<'a>> {
    let len = reader.payload_word(0);
    // SAFETY: a place has so many bytes; as for `small_body`.
    let body = || unsafe { RawBytes::new(reader.next_beside(), len as usize) };
    (len <= BESIDE_BYTES as u64).then(body)
}

/// The body of a small frame that has come from `peer`: behind the header, beside the cells, in the
/// exchange buffer, or in a slot or the ring of the peer. `None` if it is no such frame, or not a sound one.
#[inline(always)]
fn small_body<'a>(peer: &mut Peer, words: Words, header: &Header) -> Option<RawBytes<'a>> {
    let (at, len) = if words.is_inline() {
        let len = usize::from(header.inline_len);
        (len <= INLINE_BYTES).then(|| (peer.reader.next_payload(), len))?
    } else if words.is_beside() {
        return beside_body(&peer.reader);
    } else if words.class() == Some(Class::Body) {
        let (offset, len) = (peer.reader.payload_word(0), peer.reader.payload_word(1));
        (peer.body(offset, len)?, len as usize)
    } else {
        return None;
    };
    // SAFETY: the cell has `INLINE_BYTES` bytes behind its header, and `body` checked the range
    // elsewhere; both are mapped as long as the transport. The writer leaves them alone until
    // `publish`, and if it does not, only what is copied out is wrong.
    Some(unsafe { RawBytes::new(at, len) })
}
