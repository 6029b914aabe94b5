//! Buffers of the own arena that hold bodies on their way: slots and chunks.
//!
//! The free list is last in, first out, so that the buffers in use stay in the cache. A buffer
//! comes back when its reader's count has passed the cell that names it: no word in shared
//! memory says so a second time.

use std::collections::VecDeque;

/// Equal buffers at known offsets.
#[derive(Debug)]
pub(super) struct Pool {
    free: Vec<u64>,
    next: u64,
    end: u64,
    stride: u64,
}

impl Pool {
    /// `count` buffers, `stride` bytes apart, from offset `at`.
    pub(super) fn new(at: u64, stride: u64, count: u64) -> Pool {
        Pool { free: Vec::new(), next: at, end: at + stride * count, stride }
    }

    /// The offset of a free buffer, if there is one: the one given back last, or one whose
    /// pages were never touched.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        self.free.pop().or_else(|| self.fresh())
    }

    #[cold]
    fn fresh(&mut self) -> Option<u64> {
        let offset = self.next;
        (offset < self.end).then(|| {
            self.next += self.stride;
            offset
        })
    }

    /// Takes back a buffer.
    #[inline]
    pub(super) fn give(&mut self, offset: u64) {
        self.free.push(offset);
    }
}

/// Which buffers the cells of one lane name.
#[derive(Debug, Default)]
pub(super) struct Held {
    cells: VecDeque<(u32, u64, bool)>,
    chunks: u32,
}

impl Held {
    /// Notes that cell number `cell` names the buffer at `offset`.
    #[inline]
    pub(super) fn note(&mut self, cell: u32, offset: u64, is_chunk: bool) {
        self.cells.push_back((cell, offset, is_chunk));
        self.chunks += u32::from(is_chunk);
    }

    /// Whether no buffer is held.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Buffers that are held.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Chunks that are held.
    #[inline]
    pub(super) fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Gives back everything: nobody reads it any more.
    pub(super) fn give_all_back(&mut self, slots: &mut Pool, chunks: &mut Pool) {
        if let Some(&(last, ..)) = self.cells.back() {
            self.give_back(last.wrapping_add(1), slots, chunks);
        }
    }

    /// Gives back what the first `consumed` cells name.
    pub(super) fn give_back(&mut self, consumed: u32, slots: &mut Pool, chunks: &mut Pool) {
        while let Some(&(cell, offset, is_chunk)) = self.cells.front() {
            if (consumed.wrapping_sub(cell) as i32) <= 0 {
                return;
            }
            self.cells.pop_front();
            if is_chunk {
                self.chunks -= 1;
                chunks.give(offset);
            } else {
                slots.give(offset);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_last_is_taken_first() {
        let mut pool = Pool::new(4096, 100, 2);
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(4096), Some(4196), None));
        pool.give(4096);
        pool.give(4196);
        assert_eq!(pool.take(), Some(4196));
    }

    #[test]
    fn buffers_come_back_when_their_cell_is_consumed_across_the_wrap() {
        let (mut slots, mut chunks) = (Pool::new(0, 1, 0), Pool::new(0, 1, 0));
        let mut held = Held::default();
        held.note(u32::MAX, 7, false);
        held.note(0, 8, true);
        held.give_back(u32::MAX, &mut slots, &mut chunks);
        assert_eq!(slots.take(), None);
        held.give_back(0, &mut slots, &mut chunks);
        assert_eq!((slots.take(), chunks.take(), held.chunks()), (Some(7), None, 1));
        held.give_back(1, &mut slots, &mut chunks);
        assert_eq!((chunks.take(), held.chunks()), (Some(8), 0));
        assert!(held.is_empty());
    }
}
