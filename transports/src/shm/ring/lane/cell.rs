//! The cells of a lane: how they lie, and what their words say.

use crate::sync::AtomicU64;

/// Words of a cell.
pub const CELL_WORDS: usize = 8;
/// Words of a cell behind the header.
pub const PAYLOAD_WORDS: usize = 5;
/// Cells of a lane at most: the count that rides back has 8 bits.
pub const CELLS_MAX: u32 = 128;
/// Cells that a lane needs: a transfer of fragments begins when there is room for two more.
pub const CELLS_MIN: u32 = 4;

/// Bytes of a place beside the cells, for a body that does not fit into its cell. Of 256 bytes, four
/// lines, the exchange buffer is the better place where processors are near each other.
pub const BESIDE_BYTES: usize = 128;
/// Places beside the cells of a lane, taken in turn.
pub(super) const BESIDE_PLACES: u32 = 2;
/// What the places of a lane take, in cells.
pub const BESIDE_CELLS: u32 = BESIDE_PLACES * PLACE_CELLS;
const PLACE_CELLS: u32 = BESIDE_BYTES as u32 / 64;

/// One cache line of a ring.
#[repr(C, align(64))]
pub struct Cell(pub(super) [AtomicU64; CELL_WORDS]);

#[cfg(not(loom))]
const _: () = assert!(std::mem::size_of::<Cell>() == 64);

#[cfg(loom)]
impl Cell {
    /// An empty cell, as zeroed memory is in the real thing.
    pub fn new() -> Cell {
        Cell(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

/// Where a reading end looks that nobody writes to: it never finds anything.
#[cfg(not(loom))]
pub(super) static SILENCE: Cell = Cell([const { AtomicU64::new(0) }; CELL_WORDS]);

/// What a frame is to the transport itself: bits 1 to 3 of the control word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum Class {
    /// A frame of the core with its body in the cell.
    Inline = 0,
    /// A frame of the core with its body in the exchange buffer, or in a slot or, whole, in the ring of the sender.
    Body = 1,
    /// The begin of a bulk transfer.
    Begin = 2,
    /// A fragment of a bulk transfer, in the exchange buffer or the ring of the sender.
    Chunk = 3,
    /// The begin of an eager message that lies in the exchange buffer or the ring of the sender, fragment by fragment.
    Stream = 4,
    /// The next fragment of it.
    Fragment = 5,
    /// A frame of the core with its body in the lane, beside the cells.
    Beside = 6,
}

impl Class {
    fn from_control(control: u64) -> Option<Class> {
        Some(match (control >> 1) & 7 {
            0 => Class::Inline,
            1 => Class::Body,
            2 => Class::Begin,
            3 => Class::Chunk,
            4 => Class::Stream,
            5 => Class::Fragment,
            6 => Class::Beside,
            _ => return None,
        })
    }
}

/// Words of a frame as they stand in a cell, copied once. The lowest 16 bits of the first are
/// the transport's: lap parity, class, and the count that rides back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The three words of the header.
    pub header: [u64; 3],
}

impl Words {
    /// What the frame is to the transport; `None` for a class that does not exist.
    #[inline]
    pub fn class(&self) -> Option<Class> {
        Class::from_control(self.header[0])
    }

    /// Whether it is a frame of the core with its body in the cell.
    #[inline]
    pub fn is_inline(&self) -> bool {
        self.class_bits() == 0
    }

    /// Whether it is a frame of the core with its body beside the cells.
    #[inline]
    pub fn is_beside(&self) -> bool {
        self.class_bits() == (Class::Beside as u64) << 1
    }

    /// The bits that say what the frame is to the transport; none for [`Class::Inline`].
    #[inline]
    pub fn class_bits(&self) -> u64 {
        self.header[0] & 0xe
    }

    /// The lowest 8 bits of the count of cells that the other side has consumed.
    #[inline]
    pub fn consumed(&self) -> u8 {
        (self.header[0] >> 8) as u8
    }
}

/// The place beside `capacity` cells for the body of frame number `n`.
#[cfg(not(loom))]
#[inline(always)]
pub(super) fn beside(cells: *const Cell, capacity: u32, n: u32) -> *const u8 {
    cells.wrapping_add((capacity + n % BESIDE_PLACES * PLACE_CELLS) as usize).cast()
}

/// The lap parity of cell number `n`: 1 on the first lap, since memory begins as zeros.
#[inline]
pub(super) fn parity(n: u32, capacity: u32) -> u64 {
    u64::from(n & capacity == 0)
}
