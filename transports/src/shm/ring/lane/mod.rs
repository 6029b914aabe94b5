//! A lane: a ring of cache-line cells from one writer to one reader.
//!
//! A cell is eight words. Word 0 is written last, with release; the lowest bit of it is the lap parity, by which the
//! reader sees that the cell is new, so that a message of up to 40 bytes is one cache line going from core to core and
//! nothing else: no shared index, no fence. The reader counts what it has consumed in a line of its own; the writer
//! looks there only when its copy of the count says that the ring is full. The count also rides back in the control
//! word of frames going the other way, which spares that look.
//!
//! Neither side believes the other: indices are masked, counts checked against what can be
//! (decision 21). The protocol is checked under loom in `lane_model.rs`.

mod cell;
mod reader;
mod writer;

pub use cell::{
    BESIDE_BYTES, BESIDE_CELLS, CELL_WORDS, CELLS_MAX, CELLS_MIN, Cell, Class, PAYLOAD_WORDS, Words,
};
pub use reader::Reader;
pub use writer::{Impossible, Writer};
