//! Memory for programs (`MPI_Alloc_mem`, windows): first fit over the end of the arena.
//!
//! Its book-keeping is in private memory: a peer that scribbles over the arena harms data, not the allocator.

use std::collections::BTreeMap;

use mpi_core::tuning::LINE_BYTES;

use crate::sys::memory::PAGE;

/// What an address handed out is a multiple of at least: a cache line.
pub(super) const ALIGN: u64 = LINE_BYTES as u64;

/// A first-fit allocator of offsets.
#[derive(Debug)]
pub(super) struct Allocator {
    /// Free ranges: begin and length, never adjacent.
    free: BTreeMap<u64, u64>,
    taken: BTreeMap<u64, u64>,
}

impl Allocator {
    /// All of `len` bytes from `at` on is free.
    pub(super) fn new(at: u64, len: u64) -> Allocator {
        let free = if len > 0 { BTreeMap::from([(at, len)]) } else { BTreeMap::new() };
        Allocator { free, taken: BTreeMap::new() }
    }

    /// Takes `len` bytes (at least one line) that begin at a multiple of `align`, which is one of [`ALIGN`].
    pub(super) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let len = len.max(1).checked_next_multiple_of(ALIGN)?;
        let (from, end, at) = self.free.iter().find_map(|(&from, &room)| {
            let (end, at) = (from + room, from.checked_next_multiple_of(align)?);
            (at.checked_add(len)? <= end).then_some((from, end, at))
        })?;
        self.free.remove(&from);
        if at > from {
            self.free.insert(from, at - from);
        }
        if end > at + len {
            self.free.insert(at + len, end - at - len);
        }
        self.taken.insert(at, len);
        Some(at)
    }

    /// Bytes of what begins at `at`, if that is taken: as many as were asked for, in whole lines.
    pub(super) fn len_of(&self, at: u64) -> Option<u64> {
        self.taken.get(&at).copied()
    }

    /// Takes back what begins at `at`; answers the whole pages of it that hold nothing else, `None` if nothing begins
    /// so.
    pub(super) fn give(&mut self, at: u64) -> Option<(u64, u64)> {
        let len = self.taken.remove(&at)?;
        let (mut begin, mut end) = (at, at + len);
        if let Some((&left, &room)) = self.free.range(..begin).next_back()
            && left + room == begin
        {
            self.free.remove(&left);
            begin = left;
        }
        if let Some(room) = self.free.remove(&end) {
            end += room;
        }
        self.free.insert(begin, end - begin);
        let page = PAGE as u64;
        let first = at.next_multiple_of(page);
        let last = (at + len) / page * page;
        Some((first, last.saturating_sub(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_never_overlap_and_all_comes_back(steps in
                proptest::collection::vec((any::<bool>(), 0u64..5000, 0u32..8), 1..200)) {
            let (base, size) = (1 << 20, 64 << 10);
            let mut allocator = Allocator::new(base, size);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (take, n, power) in steps {
                if take {
                    let align = ALIGN << power;
                    if let Some(at) = allocator.take(n, align) {
                        prop_assert!(at % align == 0 && at >= base && at + n <= base + size);
                        prop_assert!(live.iter().all(|&(b, l)| at + n.max(1) <= b || b + l <= at));
                        live.push((at, n.max(1)));
                    }
                } else if !live.is_empty() {
                    let (at, _) = live.swap_remove(n as usize % live.len());
                    prop_assert!(allocator.give(at).is_some());
                    prop_assert!(allocator.give(at).is_none());
                }
            }
            for (at, _) in live {
                allocator.give(at);
            }
            prop_assert_eq!(allocator.take(size, ALIGN), Some(base));
            prop_assert_eq!(allocator.take(1, ALIGN), None);
        }
    }
}
