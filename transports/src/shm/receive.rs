//! The way in: every open lane is looked at, and what has come goes to the sink.

use mpi_core::buffer::RawBytes;
use mpi_core::header::{Header, INLINE_BYTES};
use mpi_core::port::{Activity, Sink};

use super::lane::{Class, Words};
use super::{Event, Shm};

/// Frames taken from one lane before the others get their turn, and before the sender hears how
/// far this end is.
const BATCH: usize = 16;

impl Shm {
    /// Takes in what has come (see [`mpi_core::port::Transport::poll`]).
    #[inline]
    pub(super) fn poll_lanes<S: Sink>(&mut self, sink: &mut S) -> Activity {
        let mut activity = Activity::Idle;
        let mut at = 0;
        while let Some(inbound) = self.inbound.get(at) {
            if inbound.reader.peek().is_some() {
                self.drain(at, sink);
                activity = Activity::Busy;
            }
            at += 1;
        }
        self.until_look -= 1;
        if self.chores || self.until_look == 0 {
            self.do_chores(sink);
        }
        activity
    }

    /// Takes up to a batch of frames from one lane.
    #[inline]
    fn drain<S: Sink>(&mut self, at: usize, sink: &mut S) {
        let peer = self.inbound[at].peer;
        for _ in 0..BATCH {
            let Some(words) = self.inbound[at].reader.peek() else {
                // What comes from now on was written after any look.
                self.peers[peer.0 as usize].stale = 0;
                break;
            };
            let (header, _) = Header::from_words(words.header);
            let from = &mut self.peers[peer.0 as usize];
            if from.learn(words.consumed(), &mut self.slots, &mut self.chunks).is_err() {
                return self.drop_peer(peer, "a frame of it carries an impossible count");
            }
            if words.is_inline() && usize::from(header.inline_len) <= INLINE_BYTES {
                let bytes = self.inbound[at].reader.payload();
                // SAFETY: the cell has `INLINE_BYTES` bytes behind its header and is mapped as
                // long as `self`; the writer leaves it alone until `publish`, and if it does
                // not, only what is copied out is wrong.
                let body = unsafe { RawBytes::new(bytes, usize::from(header.inline_len)) };
                sink.frame(peer, &header, body);
            } else if let Err(how) = self.take_other(at, words, &header, sink) {
                return self.drop_peer(peer, how);
            }
            self.inbound[at].reader.advance();
            if words.class() == Some(Class::Chunk) {
                // The sender fills the next while this end goes on.
                self.inbound[at].reader.publish();
            }
        }
        self.inbound[at].reader.publish();
    }

    /// A frame that is not a short one of the core.
    #[inline(never)]
    fn take_other<S: Sink>(
        &mut self,
        at: usize,
        words: Words,
        header: &Header,
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let Inbound { reader, peer } = &self.inbound[at];
        let peer = *peer;
        let word = |i| reader.payload_word(i);
        match words.class() {
            Some(Class::Slot) => {
                let (offset, len) = (word(0), word(1));
                let from = &self.peers[peer.0 as usize];
                let body = from.remote.as_ref().and_then(|remote| remote.body(offset, len));
                let body = body.ok_or("a frame of it names a body outside its slots")?;
                // SAFETY: `body` checked the range against the mapping, which `self` keeps.
                sink.frame(peer, header, unsafe { RawBytes::new(body, len as usize) });
                Ok(())
            }
            Some(Class::Begin) => {
                let (len, id) = (word(0), word(1));
                self.begin_bulk(peer, header, len, id, sink)
            }
            Some(Class::Chunk) => {
                let (id, offset, len) = (word(0), word(1), word(2));
                self.take_chunk(peer, id, offset, len, sink)
            }
            Some(Class::Inline) | None => Err("a frame of it has an impossible form"),
        }
    }

    /// What is due now and then, or when somebody asked for it: bulk data, the socket, events.
    #[cold]
    #[inline(never)]
    fn do_chores<S: Sink>(&mut self, sink: &mut S) {
        if self.until_look == 0 {
            self.look_around();
        }
        self.chores = self.pump();
        for event in std::mem::take(&mut self.events) {
            match event {
                Event::Sent(token) => sink.sent(token),
                Event::Down(peer, why) => sink.peer_down(peer, why),
            }
        }
    }
}

use super::peer::Inbound;
