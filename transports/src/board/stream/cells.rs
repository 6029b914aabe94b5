//! The ring of cells of a stream, which say what is there, and hold what is short.
//!
//! Two members have cells of one line. Where there are more, one that writes to each of the others in turn spares most
//! by a second line: a body beside costs a place in their ring, and looks at its reader as often as that goes round.
//!
//! In: where the cells lie, and the number of members. Out: the cell of a piece, and what fits into it.

use crate::board::apart::{Apart, Lies};
use crate::board::layout::CELLS;
use crate::sync::{AtomicU64, Ordering};

/// Bytes of a line, and of the part of the first one of a cell that holds a piece.
const LINE: usize = 64;
pub(super) const FIRST_BYTES: usize = LINE - 16;

/// The first line of a cell. `form` has the length in its low half, the place of the body above, and `LAST`.
#[repr(C, align(64))]
pub(in crate::board) struct Cell {
    pub(super) seq: AtomicU64,
    pub(super) form: AtomicU64,
    payload: [AtomicU64; FIRST_BYTES / 8],
}

const _: () = assert!(size_of::<Cell>() == LINE);

impl Cell {
    pub(super) fn set_apart(&self, Apart { at: Lies { address, offset }, len, back }: Apart) {
        for (word, value) in self.payload.iter().zip([address, len, back, offset]) {
            word.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn apart(&self) -> Apart {
        let [address, len, back, offset] =
            std::array::from_fn(|word| self.payload[word].load(Ordering::Relaxed));
        Apart { at: Lies { address, offset }, len, back }
    }
}

/// A ring of cells.
#[derive(Clone, Copy)]
pub(in crate::board) struct Cells {
    at: *const Cell,
    /// Lines of each.
    lines: usize,
}

impl Cells {
    /// The cells that begin there in a part of a board of `size` members.
    pub(in crate::board) fn new(at: *const u8, size: usize) -> Cells {
        Cells { at: at.cast(), lines: Cells::lines(size) }
    }

    fn lines(size: usize) -> usize {
        if size > 2 { 2 } else { 1 }
    }

    /// Bytes of a ring of them.
    pub(in crate::board) fn bytes(size: usize) -> usize {
        CELLS * Cells::lines(size) * LINE
    }

    /// Bytes of the longest piece that lies in its cell.
    #[inline]
    pub(super) fn inline_bytes(self) -> usize {
        self.lines * LINE - 16
    }

    /// The cell of the piece of this number.
    #[inline]
    pub(super) fn of(self, piece: u64) -> *const Cell {
        self.at.wrapping_add((piece % CELLS as u64) as usize * self.lines)
    }

    /// Where the piece of this number lies if it lies in its cell.
    #[inline]
    pub(super) fn payload(self, piece: u64) -> *const u8 {
        self.of(piece).cast::<u8>().wrapping_add(LINE - FIRST_BYTES)
    }

    /// What the cell of the piece of this number has behind its first line.
    #[inline]
    pub(super) fn behind(self, piece: u64) -> *const u8 {
        self.of(piece).cast::<u8>().wrapping_add(LINE)
    }
}
