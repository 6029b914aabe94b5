//! Objects for the handles of the user: one cell for each kind and index of a core handle.
//!
//! A cell holds the word of the handle given out last, with its generation, so that the core
//! sees a freed handle for what it is until the cell is used again. What a program has kept as an
//! INTEGER of an object that is gone has a cell of its own: that of the object in its place belongs to others.
//! Cells lie in segments that double in size and never move or go away: an address stays valid for the life of the
//! process, and a look-up needs no lock.

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
pub(crate) const KINDS: usize = 16;

const _: () = assert!(FIRST * ((1 << SEGMENTS) - 1) >= INDEX_END as usize);

/// Segments of cells, by kind and size.
type Cells = [[AtomicPtr<AtomicU64>; SEGMENTS]; KINDS];

/// The cells of handles that were given out.
static GIVEN: Cells = [const { [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS] }; KINDS];
/// The cells of INTEGERs whose objects are gone.
static GONE: Cells = [const { [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS] }; KINDS];

/// The address that stands for the core handle `raw` of a user's object, from now on.
#[inline]
pub(crate) fn address_of(raw: u32) -> *mut c_void {
    let cell = cell(&GIVEN, raw);
    cell.store(word::of(raw), Ordering::Relaxed);
    cell.as_ptr().cast()
}

/// The address that stands for a core handle which the program has kept otherwise.
#[inline]
pub(crate) fn address_of_kept(raw: u32) -> *mut c_void {
    let given = cell(&GIVEN, raw);
    if given.load(Ordering::Relaxed) == word::of(raw) {
        return given.as_ptr().cast();
    }
    let gone = cell(&GONE, raw);
    gone.store(word::of(raw), Ordering::Relaxed);
    gone.as_ptr().cast()
}

/// Whether there is a cell of this kind at an address.
pub(crate) fn has(kind: u32, address: *const c_void) -> bool {
    let segments = [&GIVEN, &GONE]
        .into_iter()
        .flat_map(|cells| cells[kind as usize % KINDS].iter().enumerate());
    segments.into_iter().any(|(segment, cells)| {
        let first = cells.load(Ordering::Acquire).addr();
        let place = address.addr().wrapping_sub(first);
        first != 0
            && place < (FIRST << segment) * size_of::<AtomicU64>()
            && place.is_multiple_of(size_of::<AtomicU64>())
    })
}

/// The cell of a core handle.
#[inline]
fn cell(cells: &'static Cells, raw: u32) -> &'static AtomicU64 {
    // Kind and index lie at the same bits in handles of every kind.
    let handle = CommHandle::from_raw(raw);
    let position = handle.index() as usize + FIRST;
    let segment = (position.ilog2() - FIRST.ilog2()) as usize;
    let offset = position - (FIRST << segment);
    let slot = &cells[handle.kind_number() as usize % KINDS][segment];
    let mut cells = slot.load(Ordering::Acquire);
    if cells.is_null() {
        cells = grow(slot, FIRST << segment);
    }
    // SAFETY: the segment has FIRST << segment cells, of which `offset` is one, and stays.
    unsafe { &*cells.add(offset) }
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
