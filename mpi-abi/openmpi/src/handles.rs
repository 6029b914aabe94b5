//! Open MPI's handles and the core's.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi_abi::face::foreign;
use mpi_abi::mpi_core::handle::{CommHandle, Handle, Kind, PREDEFINED_END};

use crate::cells::KINDS;
use crate::{cells, objects, word};

/// The core handle of a handle argument: one load.
#[inline]
pub(crate) fn handle_in<K: Kind>(address: *mut c_void) -> Handle<K> {
    Handle::from_raw(word::read(address))
}

/// Addresses of each kind that are remembered because an object of this library lies there, each in its one place.
const KNOWN_PLACES: usize = 16;
/// Scatters addresses over them, whose low bits are alike (Knuth's multiplicative hashing).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The same of an argument that may be anything where it means nothing: what lies at an address is looked at only if
/// an object of this library does. Mostly the address has been asked for before.
#[inline]
pub(crate) fn handle_in_doubt<K: Kind>(address: *mut c_void) -> Handle<K> {
    static KNOWN: [[AtomicPtr<c_void>; KNOWN_PLACES]; KINDS] =
        [const { [const { AtomicPtr::new(ptr::null_mut()) }; KNOWN_PLACES] }; KINDS];
    let place = (address.addr() as u64).wrapping_mul(GOLDEN) >> (64 - KNOWN_PLACES.ilog2());
    let known = &KNOWN[K::NUMBER as usize % KINDS][place as usize % KNOWN_PLACES];
    if known.load(Ordering::Relaxed) != address {
        if !objects::has(address) && !cells::has(K::NUMBER, address) {
            return Handle::from_raw(foreign(address.addr()));
        }
        known.store(address, Ordering::Relaxed);
    }
    handle_in(address)
}

/// The handle of a core handle; the kind's null handle for what this ABI does not have.
#[inline]
pub(crate) fn handle_out<K: Kind>(handle: Handle<K>) -> *mut c_void {
    match handle.kind_number() {
        0 => predefined(handle),
        _ => cells::address_of(handle.raw()),
    }
}

/// The same of one that the program has kept as an INTEGER.
#[inline]
pub(crate) fn kept_out<K: Kind>(handle: Handle<K>) -> *mut c_void {
    match handle.kind_number() {
        0 => predefined(handle),
        _ => cells::address_of_kept(handle.raw()),
    }
}

#[inline]
fn predefined<K: Kind>(handle: Handle<K>) -> *mut c_void {
    let raw = handle.raw();
    let known = if raw < PREDEFINED_END { objects::address_of(raw) } else { std::ptr::null() };
    let known = if known.is_null() { objects::address_of(K::NULL) } else { known };
    known.cast_mut()
}

/// The Fortran INTEGER of a core handle: Open MPI's index of a predefined one, the value itself
/// of a user's, which is larger than any index.
pub(crate) fn to_fint(raw: u32) -> c_int {
    if raw >= PREDEFINED_END {
        return raw as c_int;
    }
    objects::to_fint(raw).unwrap_or(raw as c_int)
}

/// The core handle of a Fortran INTEGER of kind `kind`.
pub(crate) fn from_fint(kind: u32, fint: c_int) -> u32 {
    let is_ours = fint > 0 && CommHandle::from_raw(fint as u32).kind_number() != 0;
    if is_ours && fint as u32 >> 30 == 0 { fint as u32 } else { objects::from_fint(kind, fint) }
}
