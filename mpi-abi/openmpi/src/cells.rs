//! Objects for the handles of the user: one cell for each kind and index of a core handle.
//!
//! A cell holds the word of the handle given out last, with its generation, so that the core
//! sees a freed handle for what it is until the cell is used again. Cells lie in segments that
//! double in size and never move or go away: an address stays valid for the life of the process,
//! and a look-up needs no lock.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use mpi_abi::mpi_core::handle::{CommHandle, INDEX_END};

use crate::word;

/// Cells of the first segment.
const FIRST: usize = 1024;
/// Segments that hold all indices: `FIRST` · (2^SEGMENTS − 1) ≥ INDEX_END.
const SEGMENTS: usize = 13;
/// Kind numbers are 4 bits.
const KINDS: usize = 16;

const _: () = assert!(FIRST * ((1 << SEGMENTS) - 1) >= INDEX_END as usize);

static CELLS: [[AtomicPtr<AtomicU64>; SEGMENTS]; KINDS] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS] }; KINDS];

/// The address that stands for the core handle `raw` of a user's object, from now on.
#[inline]
pub(crate) fn address_of(raw: u32) -> *mut c_void {
    // Kind and index lie at the same bits in handles of every kind.
    let handle = CommHandle::from_raw(raw);
    let position = handle.index() as usize + FIRST;
    let segment = (position.ilog2() - FIRST.ilog2()) as usize;
    let offset = position - (FIRST << segment);
    let slot = &CELLS[handle.kind_number() as usize % KINDS][segment];
    let mut cells = slot.load(Ordering::Acquire);
    if cells.is_null() {
        cells = grow(slot, FIRST << segment);
    }
    // SAFETY: the segment has FIRST << segment cells, of which `offset` is one, and stays.
    let cell = unsafe { &*cells.add(offset) };
    cell.store(word::of(raw), Ordering::Relaxed);
    cell.as_ptr().cast()
}

/// Makes a segment; if another thread was faster, takes that one's.
#[cold]
fn grow(slot: &AtomicPtr<AtomicU64>, len: usize) -> *mut AtomicU64 {
    let cells: Box<[AtomicU64]> = (0..len).map(|_| AtomicU64::new(0)).collect();
    let cells = Box::into_raw(cells);
    let first = cells.cast::<AtomicU64>();
    match slot.compare_exchange(ptr::null_mut(), first, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => first,
        Err(faster) => {
            // SAFETY: made above and given to nobody.
            drop(unsafe { Box::from_raw(cells) });
            faster
        }
    }
}
