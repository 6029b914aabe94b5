//! Arrays of integers.

use std::ffi::c_int;

use mpi_core::error::Result;
use mpi_core::lists::listed;

/// A length as C has it; a negative one is refused by the C function, so nothing is read.
#[inline]
pub fn length(length: i64) -> usize {
    usize::try_from(length).unwrap_or(0)
}

/// Addresses that a removed procedure takes as INTEGERs.
///
/// # Errors
/// As [`listed`].
pub unsafe fn widened(from: *mut c_int, length: usize) -> Result<Vec<i64>> {
    // SAFETY: the program's array has that many elements.
    listed((0..length).map(|index| i64::from(unsafe { *from.add(index) })))
}

/// An address that a removed procedure returns as an INTEGER, cut as MPI-1 programs know it.
pub fn narrowed(value: i64) -> c_int {
    value as c_int
}

/// Indices of completed requests count from 1 (MPI-5.0 §3.7.5); `MPI_UNDEFINED` stays.
pub unsafe fn indices(first: *mut c_int, count: c_int) {
    for index in 0..length(i64::from(count)) {
        // SAFETY: the program's array has at least `count` elements.
        let index = unsafe { &mut *first.add(index) };
        if *index >= 0 {
            *index += 1;
        }
    }
}
