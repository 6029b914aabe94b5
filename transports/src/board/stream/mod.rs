//! A stream of pieces from one writer to some readers: a ring of cells and a ring of bodies.
//!
//! A cell is some cache lines: its sequence word, written last, says that the piece is there; a short piece lies in the
//! cell itself, the body of a longer one beside. Each reader counts what it has consumed in a word of its
//! own, which the writer looks at only when it would else overwrite something. All counts begin at the board's mark, so
//! what an earlier board left in the same memory means nothing.
//!
//! In: pieces of messages. Out: the same, in place.

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

/// Short bodies go round in at least so many bytes, so that they stay in the cache and few pages are touched.
const WINDOW_MIN: usize = 4 << 10;
/// From here on readers map a long way round as a whole with its first body: its writer has got all pages.
const MAPPED_FROM: usize = 128 << 10;
/// The form of a piece that ends its message.
const LAST: u64 = 1 << 63;
/// The form of a message that lies in the memory of its writer: the cell has address and length.
const APART: u64 = 1 << 31 | LAST;

/// Bytes for the bodies of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    /// In which they go round.
    pub usual: usize,
    /// The same with what lies beyond, for what is not read yet where ranks share processors.
    pub all: usize,
}
