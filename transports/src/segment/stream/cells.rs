//! The ring of cells of a stream.
//!
//! A cell is some cache lines. The first begins with its sequence word, which says that the fragment is there, and the
//! form of that fragment; what is short lies behind them, in this and the other lines of the cell.
//!
//! In: numbers of fragments. Out: their cells.

use crate::segment::exposed::{Exposed, Location};
use crate::segment::layout::CELLS;
use crate::sync::{AtomicU64, Ordering};

/// The form of a fragment that ends its message.
pub(super) const LAST: u64 = 1 << 63;
/// The form of a message that lies in the memory of its writer: the cell has address and length.
pub(super) const EXPOSED: u64 = 1 << 31 | LAST;
/// Bytes of a fragment that lies in the line of its cell that says that it is there.
pub(super) const LINE_BYTES: usize = 48;

/// A cell's first line. `form`: the length in the low half, the body's place above, and the bit of a last fragment.
#[repr(C, align(64))]
pub(super) struct Cell {
    pub(super) seq: AtomicU64,
    pub(super) form: AtomicU64,
    payload: [AtomicU64; LINE_BYTES / 8],
}

/// Bytes of a cell before its fragment.
const HEAD_BYTES: usize = size_of::<Cell>() - LINE_BYTES;
const _: () = assert!(size_of::<Cell>() == 64 && HEAD_BYTES == 16);

impl Cell {
    pub(super) fn set_exposed(&self, Exposed { at: Location { address, offset }, len }: Exposed) {
        for (word, value) in self.payload.iter().zip([address, len, offset]) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Where the fragment lies, if it is an exposed one.
    pub(super) fn exposed(&self) -> Option<Exposed> {
        if self.form.load(Ordering::Relaxed) != EXPOSED {
            return None;
        }
        let [address, len, offset] =
            std::array::from_fn(|word| self.payload[word].load(Ordering::Relaxed));
        Some(Exposed { at: Location { address, offset }, len })
    }
}

/// The cells of one stream, which go round.
#[derive(Clone, Copy)]
pub(in crate::segment) struct Cells {
    first: *const u8,
    bytes: usize,
}

impl Cells {
    /// Cells of so many bytes, which are whole lines, in memory that begins here with one.
    pub(in crate::segment) fn new(first: *const u8, bytes: usize) -> Cells {
        Cells { first, bytes }
    }

    /// Bytes of the longest fragment that lies in its cell.
    #[inline(always)]
    pub(super) fn most(self) -> usize {
        self.bytes - HEAD_BYTES
    }

    /// The cell of the fragment of this number.
    #[inline(always)]
    pub(super) fn of(self, fragment: u64) -> *const Cell {
        self.first.wrapping_add((fragment % CELLS as u64) as usize * self.bytes).cast()
    }

    /// Where that fragment lies if it is short.
    #[inline(always)]
    pub(super) fn payload_of(self, fragment: u64) -> *const u8 {
        self.of(fragment).cast::<u8>().wrapping_add(HEAD_BYTES)
    }

    /// The second line of that cell.
    #[inline(always)]
    pub(super) fn beside(self, fragment: u64) -> *const u8 {
        self.of(fragment).wrapping_add(1).cast()
    }
}
