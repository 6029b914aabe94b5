//! The end of a lane that writes.

#[cfg(not(loom))]
use super::cell::{BESIDE_BYTES, BESIDE_PLACES, beside};
use super::cell::{CELLS_MAX, Cell, Class, PAYLOAD_WORDS, parity};
use crate::sync::{AtomicU32, Ordering};

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
    /// `cells` points to `capacity` cells, a power of two, and [`BESIDE_CELLS`](super::BESIDE_CELLS) more, `counter`
    /// to the reader's count; all outlive the end. Nobody else writes these cells.
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

    /// The place beside the cells for the body of the next frame, if it is surely not read any more for an earlier one.
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

    /// Writes a frame, if [`Writer::has_room`] said so: `header` is the core's three words, of which the low 16 bits
    /// of the first are replaced; `ride` is the count to ride back.
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
