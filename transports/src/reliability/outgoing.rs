//! What the core has handed over for a peer and the peer does not have yet: frames, copied into a ring as
//! one stream of records, and large messages.
//!
//! In the stream each frame is a record: bytes that follow 4, header 24, body. Frames go first, as far as
//! the peer lets them.

use std::ops::Range;

use mpi_core::datatype::Packer;
use mpi_core::header::{HEADER_BYTES, Header};
use mpi_core::port::{Body, Token};

use super::cargo::Cargo;
use super::flow::Flow;
use super::messages::Messages;
use crate::fragment::FragmentHead;
use crate::ring::Ring;

/// Bytes before a frame's header in the stream.
pub(super) const LENGTH_BYTES: usize = 4;
/// Bytes of a ring that was just used for the first time: a short frame, since most peers of a process
/// hear from it seldom.
const RING_BYTES: usize = 64;
/// Bytes before those of the stream in the load of a datagram.
const PLACE_BYTES: usize = 8;

/// What became of the last word: it goes when the peer has everything else, so it overtakes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Bye {
    #[default]
    Unsaid,
    Due,
    Out,
    Heard,
}

/// Frames, messages and the last word.
#[derive(Default)]
pub(super) struct Outgoing {
    ring: Ring<RING_BYTES>,
    frames: Flow,
    /// Once there was one: most peers are sent frames alone.
    messages: Option<Box<Messages>>,
    bye: Bye,
}

impl Outgoing {
    /// Bytes of frames that are kept.
    #[inline]
    pub(super) fn kept(&self) -> usize {
        self.ring.len()
    }

    /// Bytes that the peer does not have: those of frames, and of the oldest message.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        let message = self.messages.as_ref().map_or(0, |messages| messages.left_of_first());
        self.ring.len() as u64 + message
    }

    /// Whether the peer has everything.
    pub(super) fn is_done(&self) -> bool {
        self.ring.len() == 0 && self.messages.as_ref().is_none_or(|messages| messages.is_empty())
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
        self.messages.get_or_insert_default().push(header, source, token);
    }

    /// Nothing more will be handed over.
    pub(super) fn leave(&mut self) {
        if self.bye == Bye::Unsaid {
            self.bye = Bye::Due;
        }
    }

    /// Whether the last word is or will be on its way.
    pub(super) fn leaves(&self) -> bool {
        self.bye != Bye::Unsaid
    }

    /// Whether the peer has heard the last word.
    pub(super) fn has_left(&self) -> bool {
        self.bye == Bye::Heard
    }

    #[inline]
    fn is_bye_due(&self) -> bool {
        self.bye == Bye::Due && self.is_done()
    }

    /// Whether there may be something to send, with frames up to the place `credit`.
    #[inline]
    pub(super) fn has_next(&self, credit: u64) -> bool {
        let messages = self.messages.as_ref();
        let has_message = messages.is_some_and(|messages| messages.has_next());
        self.frames.has_next(credit) || has_message || self.is_bye_due()
    }

    /// What goes next into a datagram that has `room` for its load.
    pub(super) fn next(&mut self, room: usize, credit: u64) -> Option<Cargo> {
        if let Some(range) = self.frames.next(room - PLACE_BYTES, credit) {
            return Some(Cargo::Frames(range));
        }
        let messages = self.messages.as_mut();
        if let Some((id, range)) = messages.and_then(|messages| messages.next(room)) {
            return Some(Cargo::Fragment(id, range));
        }
        if self.is_bye_due() {
            self.bye = Bye::Out;
            return Some(Cargo::Bye);
        }
        None
    }

    /// Bytes of the stream of frames, in at most two runs.
    pub(super) fn frames(&self, range: &Range<u64>) -> [Option<&[u8]>; 2] {
        self.ring.runs(range.start, (range.end - range.start) as usize)
    }

    /// A fragment of a message: its head, and a cursor over its bytes.
    pub(super) fn fragment(&self, id: u64, range: &Range<u64>) -> Option<(FragmentHead, Packer)> {
        self.messages.as_ref()?.fragment(id, range)
    }

    /// The peer has this. The token of a message of which that was the last.
    #[inline]
    pub(super) fn acknowledge(&mut self, cargo: Cargo) -> Option<Token> {
        match cargo {
            Cargo::Ping | Cargo::Probe(_) | Cargo::Trial(_) => None,
            Cargo::Bye => {
                self.bye = Bye::Heard;
                None
            }
            Cargo::Frames(range) => {
                self.frames.acknowledge(range);
                self.ring.release((self.frames.low() - self.ring.start()) as usize);
                None
            }
            Cargo::Fragment(id, range) => self.messages.as_mut()?.acknowledge(id, range),
        }
    }

    /// This has to go again, before anything new.
    pub(super) fn lose(&mut self, cargo: Cargo) {
        match (cargo, &mut self.messages) {
            (Cargo::Frames(range), _) => self.frames.lose(range),
            (Cargo::Fragment(id, range), Some(messages)) => messages.lose(id, range),
            (Cargo::Bye, _) if self.bye == Bye::Out => self.bye = Bye::Due,
            (
                Cargo::Ping | Cargo::Probe(_) | Cargo::Trial(_) | Cargo::Bye | Cargo::Fragment(..),
                _,
            ) => {}
        }
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.ring.trim();
        self.frames.trim();
        if let Some(messages) = &mut self.messages {
            messages.trim();
        }
    }
}
