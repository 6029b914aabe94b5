//! Memory that this library allocated for the program (`MPI_Alloc_mem`): it goes when the library takes it back and
//! never else, so that its registrations are kept without a memory monitor. Paper 002 (VIA2SISCI) sends such memory
//! without a copy for the same reason.

use std::collections::BTreeMap;
use std::ops::Range;

use super::PinCache;
use crate::rdma::fabric::Memory;

/// Ranges of addresses, none of which overlap.
#[derive(Debug, Default)]
pub(super) struct OwnMemory {
    /// Where each ends, by where it begins.
    ends: BTreeMap<usize, usize>,
}

impl OwnMemory {
    /// Whether one of them has a part of each page of the range: while it is there, these pages stay.
    pub(super) fn holds(&self, range: &Range<usize>, page: usize) -> bool {
        let pages =
            |(start, end): (&usize, &usize)| start / page * page..end.next_multiple_of(page);
        let before = self.ends.range(..range.end).rev().map(pages);
        let mut near = before.take_while(|own| own.end > range.start);
        near.any(|own| own.start <= range.start && own.end >= range.end)
    }
}

impl<M: Memory> PinCache<M> {
    /// A range is this library's own until [`PinCache::disown`] is told of it.
    pub fn own(&mut self, range: Range<usize>) {
        self.own.ends.insert(range.start, range.end);
    }

    /// The range that begins there is about to go, but for pages that it shares with others: nothing of it stays
    /// registered but what a transfer uses just now.
    pub fn disown(&mut self, memory: &mut M, start: usize) {
        if let Some(end) = self.own.ends.remove(&start) {
            let whole = start.next_multiple_of(self.page)..end / self.page * self.page;
            if !whole.is_empty() {
                self.counters.invalidations += self.forget(memory, &whole);
            }
        }
    }
}
