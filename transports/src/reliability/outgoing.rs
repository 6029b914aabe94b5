//! What the core has handed over for a peer and the peer does not have yet: frames, copied into a ring as
//! one stream of records, and large messages in the memory of their requests.
//!
//! In the stream each frame is a record: bytes that follow 4, header 24, body. Frames go first, as far as
//! the peer lets them; messages take turns.

use std::collections::VecDeque;
use std::ops::Range;

use mpi_core::datatype::Packer;
use mpi_core::header::{HEADER_BYTES, Header};
use mpi_core::port::{Body, Token};

use super::flight::Cargo;
use super::flow::Flow;
use crate::piece::{PIECE_BYTES, PieceHead};
use crate::ring::Ring;

/// Bytes before a frame's header in the stream.
pub(super) const LENGTH_BYTES: usize = 4;
/// Bytes of a ring that was just used for the first time: a short frame, since most peers of a process
/// hear from it seldom.
const RING_BYTES: usize = 64;
/// Bytes before those of the stream in the load of a datagram.
const PLACE_BYTES: usize = 8;
/// Messages that take turns; others wait until one of them is given out.
const TURNS: usize = 8;

struct Message {
    header: Header,
    source: Packer,
    token: Token,
    total: u64,
    flow: Flow,
    /// Whether it is among those that have something to send.
    is_ready: bool,
}

/// Frames and messages.
#[derive(Default)]
pub(super) struct Outgoing {
    ring: Ring<RING_BYTES>,
    frames: Flow,
    /// Messages by number, from `first` on; `None` are those that the peer has.
    messages: VecDeque<Option<Message>>,
    first: u64,
    /// Those that have something to send, in the order of their turns.
    ready: VecDeque<u64>,
}

impl Outgoing {
    /// Bytes of frames that are kept.
    #[inline]
    pub(super) fn kept(&self) -> usize {
        self.ring.len()
    }

    /// Whether the peer has everything.
    pub(super) fn is_done(&self) -> bool {
        self.ring.len() == 0 && self.messages.is_empty()
    }

    /// Adds a frame with a body of `len` bytes.
    #[inline]
    pub(super) fn push_frame(&mut self, header: &Header, body: Body<'_>, len: usize) {
        self.ring.push(&((HEADER_BYTES + len) as u32).to_le_bytes());
        self.ring.push(&header.to_bytes());
        self.ring.push_body(body, len);
        self.frames.extend(LENGTH_BYTES + HEADER_BYTES + len);
    }

    /// Adds a message.
    pub(super) fn push_message(&mut self, header: &Header, source: Packer, token: Token) {
        let (header, total) = (*header, source.remaining());
        let flow = Flow::new(places(total));
        self.ready.push_back(self.first + self.messages.len() as u64);
        let message = Message { header, source, token, total, flow, is_ready: true };
        self.messages.push_back(Some(message));
    }

    /// Whether there may be something to send, with frames up to the place `credit`.
    #[inline]
    pub(super) fn has_next(&self, credit: u64) -> bool {
        self.frames.has_next(credit) || !self.ready.is_empty()
    }

    /// What goes next into a datagram that has `room` for its load.
    pub(super) fn next(&mut self, room: usize, credit: u64) -> Option<Cargo> {
        if let Some(range) = self.frames.next(room - PLACE_BYTES, credit) {
            return Some(Cargo::Frames(range));
        }
        while let Some(id) = self.ready.pop_front() {
            let Some(message) = message(&mut self.messages, self.first, id) else { continue };
            let range = message.flow.next(room - PIECE_BYTES, u64::MAX);
            message.is_ready = message.flow.has_next(u64::MAX);
            if message.is_ready {
                self.ready.insert(self.ready.len().min(TURNS - 1), id);
            }
            if let Some(range) = range {
                return Some(Cargo::Piece(id, range));
            }
        }
        None
    }

    /// Bytes of the stream of frames, in at most two runs.
    pub(super) fn frames(&self, range: &Range<u64>) -> [Option<&[u8]>; 2] {
        self.ring.runs(range.start, (range.end - range.start) as usize)
    }

    /// A piece of a message: its head, and a cursor over its bytes.
    pub(super) fn piece(&self, id: u64, range: &Range<u64>) -> Option<(PieceHead, Packer)> {
        let message = self.messages.get(id.checked_sub(self.first)? as usize)?.as_ref()?;
        let mut source = message.source.clone();
        source.skip(range.start);
        source.truncate(range.end - range.start);
        let (header, total, at) = (message.header, message.total, range.start);
        Some((PieceHead { header, id, total, at }, source))
    }

    /// The peer has this. The token of a message of which that was the last.
    #[inline]
    pub(super) fn acknowledge(&mut self, cargo: Cargo) -> Option<Token> {
        match cargo {
            Cargo::Ping => None,
            Cargo::Frames(range) => {
                self.frames.acknowledge(range);
                self.ring.release((self.frames.low() - self.ring.start()) as usize);
                None
            }
            Cargo::Piece(id, range) => {
                let message = message(&mut self.messages, self.first, id)?;
                message.flow.acknowledge(range);
                message.flow.is_done().then(|| self.end(id)).flatten()
            }
        }
    }

    /// The peer has all of this message.
    fn end(&mut self, id: u64) -> Option<Token> {
        let ended = self.messages.get_mut((id - self.first) as usize)?.take()?;
        while self.messages.pop_front_if(|front| front.is_none()).is_some() {
            self.first += 1;
        }
        Some(ended.token)
    }

    /// This has to go again, before anything new.
    pub(super) fn lose(&mut self, cargo: Cargo) {
        match cargo {
            Cargo::Ping => {}
            Cargo::Frames(range) => self.frames.lose(range),
            Cargo::Piece(id, range) => {
                let Some(message) = message(&mut self.messages, self.first, id) else { return };
                message.flow.lose(range);
                if !message.is_ready {
                    message.is_ready = true;
                    self.ready.push_front(id);
                }
            }
        }
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.ring.trim();
        self.frames.trim();
        self.messages.shrink_to_fit();
        self.ready.shrink_to_fit();
    }
}

/// Places of a message of so many bytes: an empty one has one, so that it is sent and acknowledged as
/// others are.
#[inline]
pub(super) fn places(total: u64) -> u64 {
    total.max(1)
}

fn message(messages: &mut VecDeque<Option<Message>>, first: u64, id: u64) -> Option<&mut Message> {
    messages.get_mut(id.checked_sub(first)? as usize)?.as_mut()
}
