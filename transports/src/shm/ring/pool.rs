//! Slots of the own arena, which hold short bodies on their way, and what lanes hold of them.
//!
//! Slots are used again last in, first out, so that few of them are touched and stay in the
//! cache; longer bodies have the [`Ring`]. A buffer comes back when its reader's count has
//! passed the cell that names it: no word in shared memory says so a second time.

use std::collections::VecDeque;

use super::runs::Ring;

/// Equal buffers at known offsets.
#[derive(Debug)]
pub(in crate::shm) struct Pool {
    free: Vec<u64>,
    next: u64,
    end: u64,
    stride: u64,
}

impl Pool {
    /// `count` buffers, `stride` bytes apart, from offset `at`.
    pub(in crate::shm) fn new(at: u64, stride: u64, count: u64) -> Pool {
        Pool { free: Vec::new(), next: at, end: at + stride * count, stride }
    }

    /// The offset of a free buffer, if there is one.
    #[inline]
    pub(in crate::shm) fn take(&mut self) -> Option<u64> {
        self.free.pop().or_else(|| self.fresh())
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
    pub(in crate::shm) fn give(&mut self, offset: u64) {
        self.free.push(offset);
    }
}

/// Which buffers the cells of one lane name.
#[derive(Debug, Default)]
pub(in crate::shm) struct Held {
    cells: VecDeque<(u32, u32, u64)>,
    runs: u32,
}

impl Held {
    /// Notes that cell `cell` names the buffer at `offset`: a run of the ring of so many bytes, or a slot if none.
    #[inline]
    pub(in crate::shm) fn note(&mut self, cell: u32, offset: u64, run_bytes: u32) {
        self.cells.push_back((cell, run_bytes, offset));
        self.runs += u32::from(run_bytes != 0);
    }

    /// Whether no buffer is held.
    #[inline]
    pub(in crate::shm) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Buffers that are held.
    #[inline]
    pub(in crate::shm) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Runs of the ring that are held.
    #[inline]
    pub(in crate::shm) fn runs(&self) -> u32 {
        self.runs
    }

    /// Gives back everything: nobody reads it any more.
    pub(in crate::shm) fn give_all_back(&mut self, slots: &mut Pool, ring: &mut Ring) {
        if let Some(&(last, ..)) = self.cells.back() {
            self.give_back(last.wrapping_add(1), slots, ring);
        }
    }

    /// Gives back what the first `consumed` cells name.
    pub(in crate::shm) fn give_back(&mut self, consumed: u32, slots: &mut Pool, ring: &mut Ring) {
        while let Some(&(cell, run_bytes, offset)) = self.cells.front() {
            if (consumed.wrapping_sub(cell) as i32) <= 0 {
                return;
            }
            self.cells.pop_front();
            if run_bytes == 0 {
                slots.give(offset);
            } else {
                self.runs -= 1;
                ring.give(offset, run_bytes.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_given_back_last_is_taken_first() {
        let mut pool = Pool::new(4096, 100, 2);
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(4096), Some(4196), None));
        pool.give(4196);
        pool.give(4096);
        assert_eq!((pool.take(), pool.take()), (Some(4096), Some(4196)));
    }

    #[test]
    fn buffers_come_back_when_their_cell_is_consumed_across_the_wrap() {
        let (mut slots, mut ring) = (Pool::new(0, 64, 1), Ring::new(4096, 4096));
        let (slot, run) = (slots.take().unwrap(), ring.take(4096).unwrap());
        let mut held = Held::default();
        held.note(u32::MAX, slot, 0);
        held.note(0, run, 4096);
        held.give_back(u32::MAX, &mut slots, &mut ring);
        assert_eq!(slots.take(), None);
        held.give_back(0, &mut slots, &mut ring);
        assert_eq!((slots.take(), ring.take(1), held.runs()), (Some(slot), None, 1));
        held.give_back(1, &mut slots, &mut ring);
        assert_eq!((ring.take(1), held.runs()), (Some(run), 0));
        assert!(held.is_empty());
    }
}
