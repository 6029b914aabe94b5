//! A stream of fragments from one writer to some readers: a ring of cells and a ring of bodies.
//!
//! A cell is some cache lines: its sequence word, written last, says that the fragment is there; a short fragment lies
//! in the cell itself, the body of a longer one beside. Each reader counts what it has consumed in a word of its own,
//! which the writer looks at only when it would else overwrite something. All counts begin at the segment's mark, so
//! what an earlier segment left in the same memory means nothing.
//!
//! In: fragments of messages. Out: the same, in place.

mod bodies;
mod cells;
mod inbound;
mod outbound;
mod pages;
mod readers;

pub(super) use cells::Cells;
pub(super) use inbound::Inbound;
pub(super) use outbound::Outbound;
pub(super) use readers::Answer;

/// Bytes for the bodies of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    /// In which they go round.
    pub usual: usize,
    /// The same with what lies beyond, for what is not read yet where ranks share processors.
    pub all: usize,
}
