//! The Fortran interfaces of the standard face.
//!
//! `mpif.h` and the modules declare the variables with a meaning of their own in one common block,
//! so that one compare tells an ordinary buffer from all of them. Every program that names one
//! defines the block too, and the linker makes them one; so it is reached as data that a program
//! may define, never by an address known here.

use std::ffi::{c_int, c_void};

use mpi_abi::fortran::{Fortran, Special};

use crate::face::Standard;

/// INTEGERs in the common block: six single ones and two statuses.
const INTEGERS: usize = 6 + 2 * 8;

/// `COMMON /FERRITE_FORTRAN/` in the order of its declaration.
#[allow(non_upper_case_globals)] // a symbol, not a name
#[unsafe(no_mangle)]
static mut ferrite_fortran: [c_int; INTEGERS] = [0; INTEGERS];

/// `COMMON /FERRITE_FORTRAN_TEXTS/`.
#[allow(non_upper_case_globals)] // a symbol, not a name
#[unsafe(no_mangle)]
static mut ferrite_fortran_texts: [u8; 2] = [0; 2];

impl Fortran for Standard {
    const SHARES_STATE: bool = false;

    #[inline]
    fn special(address: *const c_void) -> Option<Special> {
        let offset = address.addr().wrapping_sub((&raw const ferrite_fortran).addr());
        if offset < 4 * INTEGERS {
            return Some(match offset / 4 {
                0 => Special::Bottom,
                1 => Special::InPlace,
                2 => Special::BufferAutomatic,
                3 => Special::Unweighted,
                4 => Special::WeightsEmpty,
                5 => Special::ErrcodesIgnore,
                _ => Special::StatusIgnore,
            });
        }
        let offset = address.addr().wrapping_sub((&raw const ferrite_fortran_texts).addr());
        (offset < 2).then_some(Special::ArgvNull)
    }

    fn special_out(special: Special) -> *mut c_void {
        std::ptr::without_provenance_mut(match special {
            Special::Bottom | Special::StatusIgnore => 0,
            Special::ErrcodesIgnore | Special::ArgvNull => 0,
            Special::InPlace => 1,
            Special::BufferAutomatic => 2,
            Special::Unweighted => 10,
            Special::WeightsEmpty => 11,
        })
    }

    fn buffer_automatic() -> Option<*mut c_void> {
        Some((&raw mut ferrite_fortran).cast::<c_int>().wrapping_add(2).cast())
    }
}

#[allow(clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]
#[allow(clippy::missing_safety_doc, clippy::unnecessary_cast)]
#[allow(unreachable_pub, missing_docs, non_snake_case, unused_unsafe)]
mod entries {
    type Here = crate::face::Standard;
    include!(concat!(env!("GENERATED"), "/fortran_entries.rs"));
}
