//! A lane: a ring of cache-line cells from one writer to one reader.
//!
//! A cell is eight words. Word 0 is written last, with release; the lowest bit of it is the lap
//! parity, by which the reader sees that the cell is new, so that a message of up to 40 bytes is
//! one cache line going from core to core and nothing else: no shared index, no fence. The
//! reader counts what it has consumed in a line of its own; the writer looks there only when its
//! copy of the count says that the ring is full. The count also rides back in the control word
//! of frames going the other way, which spares that look.
//!
//! Neither side believes the other: indices are masked, counts checked against what can be
//! (decision 21). The protocol is checked under loom in `lane_model.rs`.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Words of a cell.
pub const CELL_WORDS: usize = 8;
/// Words of a cell behind the header.
pub const PAYLOAD_WORDS: usize = 5;
/// Cells of a lane at most: the count that rides back has 8 bits.
pub const CELLS_MAX: u32 = 128;

/// Bytes of a place beside the cells, for a body that does not fit into its cell. Of 256 bytes, four
/// lines, the exchange buffer is the better place where processors are near each other.
pub const BESIDE_BYTES: usize = 128;
/// Places beside the cells of a lane, taken in turn.
const BESIDE_PLACES: u32 = 2;
/// What the places of a lane take, in cells.
pub const BESIDE_CELLS: u32 = BESIDE_PLACES * PLACE_CELLS;
const PLACE_CELLS: u32 = BESIDE_BYTES as u32 / 64;

/// One cache line of a ring.
#[repr(C, align(64))]
pub struct Cell([AtomicU64; CELL_WORDS]);

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
static SILENCE: Cell = Cell([const { AtomicU64::new(0) }; CELL_WORDS]);

/// What a frame is to the transport itself: bits 1 to 3 of the control word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum Class {
    /// A frame of the core with its body in the cell.
    Inline = 0,
    /// A frame of the core with its body in a slot of the sender, or whole in its ring.
    Body = 1,
    /// The begin of a bulk transfer.
    Begin = 2,
    /// A piece of a bulk transfer, in a chunk of the sender.
    Chunk = 3,
    /// The begin of an eager message that lies in the ring of the sender, piece by piece.
    Stream = 4,
    /// The next piece of it.
    Piece = 5,
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
            5 => Class::Piece,
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
fn beside(cells: *const Cell, capacity: u32, n: u32) -> *const u8 {
    cells.wrapping_add((capacity + n % BESIDE_PLACES * PLACE_CELLS) as usize).cast()
}

/// A count that the reader of a lane cannot have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impossible;

/// The writing end.
#[derive(Debug)]
pub struct Writer {
    cells: *const Cell,
    counter: *const AtomicU32,
    /// 0 for an end that leads nowhere, which so has never room.
    capacity: u32,
    tail: u32,
    consumed: u32,
    /// What the last look at the reader's count showed.
    seen: u32,
}

// SAFETY: the pointers are into shared memory that any thread may use; the end has one owner.
unsafe impl Send for Writer {}

impl Writer {
    /// An end that leads nowhere and so has never room.
    pub fn closed() -> Writer {
        let (cells, counter) = (std::ptr::null(), std::ptr::null());
        Writer { cells, counter, capacity: 0, tail: 0, consumed: 0, seen: 0 }
    }

    /// The writing end of an unused lane.
    ///
    /// # Safety
    /// `cells` points to `capacity` cells, a power of two, and [`BESIDE_CELLS`] more, `counter` to the
    /// reader's count; all outlive the end. Nobody else writes these cells.
    pub unsafe fn new(cells: *const Cell, counter: *const AtomicU32, capacity: u32) -> Writer {
        debug_assert!(capacity.is_power_of_two() && capacity <= CELLS_MAX);
        Writer { cells, counter, capacity, tail: 0, consumed: 0, seen: 0 }
    }

    /// Whether the lane is surely able to take a cell.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.tail.wrapping_sub(self.consumed) < self.capacity
    }

    /// Asks for the next cell's line, to be written soon: a reader that waits there has it.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn claim(&self) {
        let index = self.tail & self.capacity.wrapping_sub(1);
        mpi_core::buffer::claim(self.cells.wrapping_add(index as usize).cast());
    }

    /// The place beside the cells for the body of the next frame, if it is surely not read any more
    /// for an earlier one.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn beside(&self) -> Option<*mut u8> {
        (self.outstanding() < BESIDE_PLACES.min(self.capacity)).then(|| self.next_beside())
    }

    #[cfg(not(loom))]
    #[inline(always)]
    fn next_beside(&self) -> *mut u8 {
        beside(self.cells, self.capacity, self.tail).cast_mut()
    }

    /// As [`Writer::claim`] for the lines of that place that a body of `len` bytes takes.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn claim_beside(&self, len: usize) {
        for at in (0..len.min(BESIDE_BYTES)).step_by(64) {
            mpi_core::buffer::claim(self.next_beside().wrapping_add(at));
        }
    }

    /// Whether the lane is surely able to take so many cells.
    #[inline]
    pub fn has_room_for(&self, cells: u32) -> bool {
        self.outstanding() + cells <= self.capacity
    }

    /// Cells written and not known to be consumed.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.tail.wrapping_sub(self.consumed)
    }

    /// Cells of the lane; 0 for an end that leads nowhere.
    #[inline]
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Number of the next cell.
    #[inline]
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// Number of cells known to be consumed, modulo 2³².
    #[inline]
    pub fn consumed(&self) -> u32 {
        self.consumed
    }

    /// Writes a frame, if [`Writer::has_room`] said so: `first` is the first header word with
    /// its transport bits clear, `ride` the count to ride back.
    #[inline(always)]
    pub fn write(&mut self, class: Class, ride: u8, header: [u64; 3], payload: &[u64]) {
        debug_assert!(self.has_room() && payload.len() <= PAYLOAD_WORDS);
        let index = self.tail & (self.capacity - 1);
        // SAFETY: masked, so within the cells that `new`'s caller promised.
        let Cell(words) = unsafe { &*self.cells.add(index as usize) };
        for (word, value) in words[3..].iter().zip(payload) {
            word.store(*value, Ordering::Relaxed);
        }
        words[1].store(header[1], Ordering::Relaxed);
        words[2].store(header[2], Ordering::Relaxed);
        let own = parity(self.tail, self.capacity) | (class as u64) << 1 | u64::from(ride) << 8;
        words[0].store(header[0] & !0xffff | own, Ordering::Release);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Looks up the reader's count; whether the reader has written it since the last look.
    ///
    /// # Errors
    /// The count is not one that the reader can have reached.
    pub fn look(&mut self) -> Result<bool, Impossible> {
        if self.capacity == 0 {
            return Ok(false);
        }
        // SAFETY: `new`'s caller promised the counter.
        let count = unsafe { (*self.counter).load(Ordering::Acquire) };
        let ahead = count.wrapping_sub(self.consumed);
        if ahead > self.outstanding() {
            return Err(Impossible);
        }
        self.consumed = count;
        let seen = std::mem::replace(&mut self.seen, count);
        Ok(seen != count)
    }

    /// Takes in the count that rode back on a frame.
    ///
    /// # Errors
    /// As [`Writer::look`].
    #[inline(always)]
    pub fn learn(&mut self, ride: u8) -> Result<(), Impossible> {
        let ahead = u32::from(ride.wrapping_sub(self.consumed as u8));
        if ahead > self.outstanding() {
            return Err(Impossible);
        }
        self.consumed = self.consumed.wrapping_add(ahead);
        Ok(())
    }
}

/// The reading end.
#[derive(Debug)]
pub struct Reader {
    cells: *const Cell,
    counter: *const AtomicU32,
    capacity: u32,
    head: u32,
    /// Bytes of the last frame that lay beside the cells.
    beside: u32,
}

// SAFETY: as for `Writer`.
unsafe impl Send for Reader {}

impl Reader {
    /// An end to which nobody writes.
    #[cfg(not(loom))]
    pub fn closed() -> Reader {
        Reader {
            cells: &raw const SILENCE,
            counter: std::ptr::null(),
            capacity: 1,
            head: 0,
            beside: 0,
        }
    }

    /// Whether nobody writes to this end.
    #[cfg(not(loom))]
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.counter.is_null()
    }

    /// The reading end of an unused lane.
    ///
    /// # Safety
    /// As [`Writer::new`]; nobody else writes the counter.
    pub unsafe fn new(cells: *const Cell, counter: *const AtomicU32, capacity: u32) -> Reader {
        debug_assert!(capacity.is_power_of_two() && capacity <= CELLS_MAX);
        Reader { cells, counter, capacity, head: 0, beside: 0 }
    }

    #[inline]
    fn cell(&self) -> &[AtomicU64; CELL_WORDS] {
        let index = self.head & (self.capacity - 1);
        // SAFETY: masked, so within the cells that `new`'s caller promised.
        let Cell(words) = unsafe { &*self.cells.add(index as usize) };
        words
    }

    /// Whether a frame has come.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.cell()[0].load(Ordering::Relaxed) & 1 == parity(self.head, self.capacity)
    }

    /// The payload bytes of the frame that stands in the next cell, once it has come. The writer,
    /// if it is hostile, may still change them.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn next_payload(&self) -> *const u8 {
        self.cell()[3..].as_ptr().cast()
    }

    /// The bytes beside the cells of the frame that stands in the next cell; as
    /// [`Reader::next_payload`].
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn next_beside(&self) -> *const u8 {
        beside(self.cells, self.capacity, self.head)
    }

    /// Notes how many bytes of the last frame lay beside the cells: as many are looked for then.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn expect_beside(&mut self, len: usize) {
        self.beside = len as u32;
    }

    /// The header words of the next frame, if it comes while one looks so many times; as
    /// [`Reader::comes_within`]. Each look asks for the lines beside the cells too of which the last frame
    /// made use: the next body then comes together with its cell, not after it.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn peek_within(&self, looks: u32) -> Option<Words> {
        let mut left = looks;
        loop {
            let words = self.peek();
            left = left.saturating_sub(1);
            if words.is_some() || left == 0 {
                return words;
            }
            for at in (0..self.beside).step_by(64) {
                crate::copy::ask(self.next_beside().wrapping_add(at as usize));
            }
            crate::copy::finish_loads();
        }
    }

    /// Whether a frame comes while one looks so many times. Each look ends before the next
    /// begins: looks that pile up would all have to be undone when the line changes.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn comes_within(&self, looks: u32) -> bool {
        (0..looks).any(|_| {
            let news = self.has_news();
            if !news {
                crate::copy::finish_loads();
            }
            news
        })
    }

    /// The header words of the next frame, if one has come.
    #[inline(always)]
    pub fn peek(&self) -> Option<Words> {
        let words = self.cell();
        let first = words[0].load(Ordering::Acquire);
        if first & 1 != parity(self.head, self.capacity) {
            return None;
        }
        let rest = [words[1].load(Ordering::Relaxed), words[2].load(Ordering::Relaxed)];
        Some(Words { header: [first, rest[0], rest[1]] })
    }

    /// A payload word of the frame that [`Reader::peek`] showed.
    #[inline]
    pub fn payload_word(&self, i: usize) -> u64 {
        self.cell()[3 + i].load(Ordering::Relaxed)
    }

    /// Goes on to the next cell; the writer hears of it by [`Reader::publish`].
    #[inline]
    pub fn advance(&mut self) {
        self.head = self.head.wrapping_add(1);
    }

    /// Tells the writer how far this end is: the cells, and the slots named in them, are free.
    #[inline]
    pub fn publish(&self) {
        // SAFETY: `new`'s caller promised the counter.
        unsafe { (*self.counter).store(self.head, Ordering::Release) };
    }

    /// The lowest bits of the count of consumed cells, to ride back on a frame.
    #[inline]
    pub fn ride(&self) -> u8 {
        self.head as u8
    }
}

/// The lap parity of cell number `n`: 1 on the first lap, since memory begins as zeros.
#[inline]
fn parity(n: u32, capacity: u32) -> u64 {
    u64::from(n & capacity == 0)
}
