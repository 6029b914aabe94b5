//! What a datagram carried, as its sender keeps it in mind until it knows that it has come.

use std::ops::Range;

/// What a datagram carried, by places of its flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Cargo {
    /// A question.
    Ping,
    /// A probe of a datagram's size, with so many bytes.
    Probe(u16),
    /// A question by the path of this number, which is not the one in use.
    Trial(u8),
    /// The last word.
    Bye,
    /// A range of the stream of frames.
    Frames(Range<u64>),
    /// A range of the message with this number.
    Fragment(u64, Range<u64>),
}

impl Cargo {
    /// Whether it has to come there.
    pub(super) fn is_load(&self) -> bool {
        matches!(self, Cargo::Bye | Cargo::Frames(_) | Cargo::Fragment(..))
    }

    /// Whether it only tries what may not work: its loss says nothing of the path in use.
    pub(super) fn tries(&self) -> bool {
        matches!(self, Cargo::Probe(_) | Cargo::Trial(_))
    }
}
