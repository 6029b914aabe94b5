//! The first word of a handle's object: a mark in the upper half, the core handle in the lower.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use mpi_abi::face::foreign;

/// Says that an address leads to an object of this library.
const MARK: u64 = 0xfe2b_217e << 32;
/// No object lies below; small numbers are a frequent mistake (a Fortran handle, an int).
const FIRST_ADDRESS: usize = 4096;

/// The word of the object that stands for the core handle `raw`.
pub(crate) const fn of(raw: u32) -> u64 {
    MARK | raw as u64
}

/// The core handle for which the object at `address` stands.
///
/// The address comes from the program. What is plainly none is recognised; beyond that a handle
/// is trusted like any pointer argument.
#[inline]
pub(crate) fn read(address: *const c_void) -> u32 {
    if (address as usize) < FIRST_ADDRESS || !address.cast::<AtomicU64>().is_aligned() {
        return foreign(address as usize);
    }
    // SAFETY: aligned, and a handle by the contract of every MPI procedure: an object of at least
    // one word, which is only accessed atomically.
    let word = unsafe { AtomicU64::from_ptr(address.cast_mut().cast()) }.load(Ordering::Relaxed);
    if word & !u64::from(u32::MAX) == MARK { word as u32 } else { foreign(address as usize) }
}
