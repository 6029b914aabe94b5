//! The predefined objects that `libmpi.so.40` exports, and tables from and to them.
//!
//! A program refers to them by address. An executable that is not position independent copies
//! them into itself (a COPY relocation) and the library must then use the copy's address: so they
//! have exactly the sizes that Open MPI gives them, all that matters is in their content from the
//! start (nothing is written at load), and the addresses are only taken through a `static` table
//! that the dynamic linker fills.

use std::ffi::c_void;

use mpi_abi::face::{ConstantGroup, foreign};
use mpi_abi::mpi_core::handle::{FOREIGN_HANDLE, PREDEFINED_END};

use crate::word;

/// An object of `WORDS` words.
#[repr(C, align(16))]
pub(crate) struct Object<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Object<WORDS> {
    pub(crate) const fn new(raw: u32) -> Self {
        let mut words = [0; WORDS];
        words[0] = word::of(raw);
        Object(words)
    }
}

/// The address of a predefined object, or null.
#[derive(Clone, Copy)]
pub(crate) struct Address(pub(crate) *const c_void);

// SAFETY: only the address is shared; the object behind it is accessed atomically.
unsafe impl Sync for Address {}

/// Number of predefined core handles, one per table row.
const ROWS: usize = PREDEFINED_END as usize;
/// One more than the largest Fortran INTEGER of a predefined handle.
const FINTS: usize = 80;
/// One more than the largest kind number.
const KINDS: usize = 12;

macro_rules! predefined_objects {
    ($($name:ident, $size:literal, $kind:literal, $core:literal, $fint:literal;)*) => {
        $(
            #[doc = concat!("The object behind a predefined handle: `", stringify!($name), "`.")]
            #[allow(non_upper_case_globals)]
            #[unsafe(no_mangle)]
            pub(crate) static mut $name: Object<{ $size / 8 }> = Object::new($core);
        )*

        /// The object of each predefined core handle.
        static OBJECTS: [Address; ROWS] = {
            let mut objects = [Address(std::ptr::null()); ROWS];
            $(
                if objects[$core].0.is_null() {
                    objects[$core] = Address((&raw const $name).cast());
                }
            )*
            objects
        };

        /// All of them, under all their names.
        static ALL: &[Address] = &[$(Address((&raw const $name).cast())),*];

        /// Kind, core handle and Fortran INTEGER of each object.
        const NUMBERS: &[(usize, u32, i32)] = &[$(($kind, $core, $fint)),*];
    };
}

/// The generated values of this ABI.
pub(crate) mod tables {
    #![allow(dead_code, reason = "the table names every value of the ABI, needed or not")]
    use super::*;

    include!(concat!(env!("GENERATED"), "/constants_openmpi.rs"));

    pub(super) fn object(raw: u32) -> *const c_void {
        OBJECTS[raw as usize].0
    }

    pub(super) fn all() -> &'static [Address] {
        ALL
    }

    pub(crate) const ALL_NUMBERS: &[(usize, u32, i32)] = NUMBERS;
}

/// The Fortran INTEGER of each predefined core handle; -1 where it has none.
static TO_FINT: [i32; ROWS] = {
    let mut fints = [-1; ROWS];
    let mut row = 0;
    while row < tables::ALL_NUMBERS.len() {
        let (_, core, fint) = tables::ALL_NUMBERS[row];
        if fints[core as usize] < 0 {
            fints[core as usize] = fint;
        }
        row += 1;
    }
    fints
};

/// The core handle of each kind's Fortran INTEGERs.
static FROM_FINT: [[u32; FINTS]; KINDS] = {
    let mut cores = [[FOREIGN_HANDLE; FINTS]; KINDS];
    let mut row = 0;
    while row < tables::ALL_NUMBERS.len() {
        let (kind, core, fint) = tables::ALL_NUMBERS[row];
        if fint >= 0 {
            cores[kind][fint as usize] = core;
        }
        row += 1;
    }
    cores
};

/// Whether there is a predefined object at an address.
pub(crate) fn has(address: *const c_void) -> bool {
    tables::all().iter().any(|object| object.0 == address)
}

/// The address of a predefined handle's object; null if this ABI has none.
#[inline]
pub(crate) fn address_of(raw: u32) -> *const c_void {
    tables::object(raw)
}

/// The Fortran INTEGER of a predefined handle, if it has one.
pub(crate) fn to_fint(raw: u32) -> Option<i32> {
    let fint = TO_FINT[raw as usize];
    (fint >= 0).then_some(fint)
}

/// The predefined core handle of a Fortran INTEGER of kind `kind`.
#[inline]
pub(crate) fn from_fint(kind: u32, fint: i32) -> u32 {
    let row = FROM_FINT.get(kind as usize);
    match row.and_then(|cores| cores.get(fint as usize)) {
        Some(&core) if core != FOREIGN_HANDLE => core,
        _ => foreign(fint as u32 as usize),
    }
}
