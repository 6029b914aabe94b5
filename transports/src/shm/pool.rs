//! Buffers of the own arena that hold bodies on their way: slots and chunks.
//!
//! Slots are used again last in, first out, so that few of them are touched and stay in the
//! cache. Chunks go round: one that comes again soon still lies in its reader's cache, and
//! writing it costs twice as much (1 MiB through 32 KiB chunks: 118 µs with 4 of them, 43 with
//! 64, both sides copying; streamed, 57 and 41). A buffer comes back when its reader's count has
//! passed the cell that names it: no word in shared memory says so a second time.

use std::collections::VecDeque;

/// Which free buffer is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reuse {
    /// The one given back last.
    Last,
    /// The one that has been free for longest.
    First,
}

/// Equal buffers at known offsets.
#[derive(Debug)]
pub(super) struct Pool {
    free: VecDeque<u64>,
    reuse: Reuse,
    next: u64,
    end: u64,
    stride: u64,
}

impl Pool {
    /// `count` buffers, `stride` bytes apart, from offset `at`.
    pub(super) fn new(reuse: Reuse, at: u64, stride: u64, count: u64) -> Pool {
        Pool { free: VecDeque::new(), reuse, next: at, end: at + stride * count, stride }
    }

    /// The offset of a free buffer, if there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        match self.reuse {
            Reuse::Last => self.free.pop_back().or_else(|| self.fresh()),
            Reuse::First => self.fresh().or_else(|| self.free.pop_front()),
        }
    }

    /// One whose pages were never touched.
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
        self.free.push_back(offset);
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
    fn free_buffers_are_taken_in_the_order_chosen() {
        for (reuse, next) in [(Reuse::Last, 4196), (Reuse::First, 4096)] {
            let mut pool = Pool::new(reuse, 4096, 100, 2);
            assert_eq!((pool.take(), pool.take(), pool.take()), (Some(4096), Some(4196), None));
            pool.give(4096);
            pool.give(4196);
            assert_eq!(pool.take(), Some(next));
        }
    }

    #[test]
    fn buffers_come_back_when_their_cell_is_consumed_across_the_wrap() {
        let empty = || Pool::new(Reuse::Last, 0, 1, 0);
        let (mut slots, mut chunks) = (empty(), empty());
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
