//! What the value of an attribute looks like in each language (MPI-5.0 §19.3.7).
//!
//! C sees a pointer. Of an attribute that Fortran set it sees the address of an integer, of a
//! predefined one too; Fortran sees those integers themselves, and of C's pointers the bits.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_core::attributes::{Attribute, Convention, KeyvalHandle};
use parking_lot::Mutex;

use super::attribute_objects::Object;
use crate::cx::Cx;
use crate::face::ConstantGroup;
use crate::fortran_callbacks::About;

/// Integers of Fortran whose addresses C programs have been given: they stay, and an integer that
/// is shown twice is shown at one place.
static SHOWN: Mutex<BTreeMap<i64, &'static i64>> = Mutex::new(BTreeMap::new());

/// The value of an attribute that is set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// The address of a predefined one, which is an `int`.
    Predefined(*mut c_void),
    /// The address of a predefined one, which is an `MPI_Aint`.
    PredefinedWide(*mut i64),
    /// A predefined one that is an address itself.
    Address(*mut c_void),
    /// What the program set.
    Set(Attribute),
}

impl Found {
    /// As C sees it.
    pub(crate) fn for_c(self) -> *mut c_void {
        match self {
            Found::Predefined(address) | Found::Address(address) => address,
            Found::PredefinedWide(address) => address.cast(),
            Found::Set(Attribute { value, set_by: Convention::C }) => {
                ptr::with_exposed_provenance_mut(value)
            }
            Found::Set(Attribute { value, .. }) => {
                let value = value as i64;
                let mut shown = SHOWN.lock();
                let place = shown.entry(value).or_insert_with(|| Box::leak(Box::new(value)));
                ptr::from_ref(*place).cast_mut().cast()
            }
        }
    }

    /// As Fortran sees it.
    pub(crate) fn for_fortran(self) -> i64 {
        match self {
            // SAFETY: predefined attributes are integers that stay.
            Found::Predefined(address) => i64::from(unsafe { *address.cast::<c_int>() }),
            // SAFETY: as before.
            Found::PredefinedWide(address) => unsafe { *address },
            Found::Address(address) => address.expose_provenance() as i64,
            Found::Set(Attribute { value, .. }) => value as i64,
        }
    }
}

/// What a Fortran function is told of an attribute of `object`.
pub(crate) fn about(cx: &Cx<'_>, object: Object, key: KeyvalHandle, extra_state: usize) -> About {
    let keyval = key.raw().cast_signed();
    About {
        object: (cx.face.handle_to_fint)(object.name().1),
        keyval: (cx.face.constant_out)(ConstantGroup::Keyval, keyval),
        extra_state: extra_state as i64,
    }
}
