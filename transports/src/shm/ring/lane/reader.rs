//! The end of a lane that reads.

use super::cell::{CELL_WORDS, CELLS_MAX, Cell, Words, parity};
#[cfg(not(loom))]
use super::cell::{SILENCE, beside};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The reading end.
#[derive(Debug)]
pub struct Reader {
    cells: *const Cell,
    counter: *const AtomicU32,
    capacity: u32,
    head: u32,
    /// Bytes of the last frame that lay beside the cells.
    #[cfg_attr(loom, expect(dead_code, reason = "the models have no bodies beside the cells"))]
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
    /// As [`Writer::new`](super::Writer::new); nobody else writes the counter.
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

    /// The payload of the frame in the next cell, once it has come. A hostile writer may still change it.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn next_payload(&self) -> *const u8 {
        self.cell()[3..].as_ptr().cast()
    }

    /// The bytes beside the cells of the frame that stands in the next cell; as [`Reader::next_payload`].
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
