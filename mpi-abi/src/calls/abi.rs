//! What the library says of its binary interface, and of the Fortran it was made for (MPI-5.0
//! §20.3, §20.4).

use std::ffi::{c_int, c_void};

use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::InfoHandle;
use mpi_core::info::Info;
use mpi_core::op::{booleans, set_booleans};

use crate::cx::AlwaysCx;

/// Bytes of the Fortran types that every compiler has.
const FORTRAN_TYPES: &[(&str, u32)] = &[
    ("mpi_logical_size", LOGICAL_BYTES as u32),
    ("mpi_integer_size", 4),
    ("mpi_real_size", 4),
    ("mpi_double_precision_size", 8),
];

/// The Fortran types that some compilers have, and whether the library has a datatype for each.
const OPTIONAL_TYPES: &[(&str, bool)] = &[
    ("mpi_logical1_supported", true),
    ("mpi_logical2_supported", true),
    ("mpi_logical4_supported", true),
    ("mpi_logical8_supported", true),
    ("mpi_logical16_supported", true),
    ("mpi_integer1_supported", true),
    ("mpi_integer2_supported", true),
    ("mpi_integer4_supported", true),
    ("mpi_integer8_supported", true),
    ("mpi_integer16_supported", true),
    ("mpi_real2_supported", true),
    ("mpi_real4_supported", true),
    ("mpi_real8_supported", true),
    ("mpi_real16_supported", true),
    ("mpi_complex4_supported", true),
    ("mpi_complex8_supported", true),
    ("mpi_complex16_supported", true),
    ("mpi_complex32_supported", true),
    ("mpi_double_complex_supported", true),
];

/// Bytes of a LOGICAL.
const LOGICAL_BYTES: c_int = 4;

fn filled(
    cx: &mut AlwaysCx,
    known: impl Iterator<Item = (&'static str, String)>,
) -> Result<InfoHandle> {
    let mut info = Info::new();
    for (key, value) in known {
        info.set(key, value)?;
    }
    cx.always.infos.lock().insert(info)
}

fn sizes(of: &'static [(&str, u32)]) -> impl Iterator<Item = (&'static str, String)> {
    of.iter().map(|(key, bytes)| (*key, bytes.to_string()))
}

/// `MPI_Abi_get_fortran_info`.
pub fn abi_get_fortran_info(cx: &mut AlwaysCx, info: &mut InfoHandle) -> Result<()> {
    let optional = OPTIONAL_TYPES.iter().map(|(key, has)| (*key, has.to_string()));
    *info = filled(cx, sizes(FORTRAN_TYPES).chain(optional))?;
    Ok(())
}

/// `MPI_Abi_set_fortran_info`: the library has Fortran interfaces of its own, made for these types.
pub fn abi_set_fortran_info(_cx: &mut AlwaysCx, _info: InfoHandle) -> Result<()> {
    Err(Error::new(ErrorClass::ABI, "the sizes of Fortran types are fixed in this library")
        .hint("MPI_Abi_get_fortran_info tells them."))
}

fn check_size(logical_size: i32) -> Result<()> {
    if logical_size == LOGICAL_BYTES {
        return Ok(());
    }
    let what = format!("is {logical_size}, but a LOGICAL has {LOGICAL_BYTES} bytes here");
    Err(Error::param(ErrorClass::ARG, "logical_size", what))
}

/// The places of the two truth values.
fn check_places(logical_true: *const c_void, logical_false: *const c_void) -> Result<()> {
    for (name, place) in [("logical_true", logical_true), ("logical_false", logical_false)] {
        if place.is_null() {
            return Err(Error::param(ErrorClass::ARG, name, "is NULL"));
        }
    }
    Ok(())
}

/// `MPI_Abi_set_fortran_booleans`.
pub fn abi_set_fortran_booleans(
    _cx: &mut AlwaysCx,
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result<()> {
    check_size(logical_size)?;
    check_places(logical_true, logical_false)?;
    // SAFETY: by the standard these are LOGICALs of that size.
    let (yes, no) = unsafe { (*logical_true.cast::<c_int>(), *logical_false.cast::<c_int>()) };
    if yes == no {
        let what = format!("is {yes}, the same as logical_true");
        return Err(Error::param(ErrorClass::ARG, "logical_false", what));
    }
    if !set_booleans(yes, no) {
        return Err(Error::new(ErrorClass::ABI, "Fortran's truth values are already set")
            .hint("Ask MPI_Abi_get_fortran_booleans first."));
    }
    Ok(())
}

/// `MPI_Abi_get_fortran_booleans`.
pub fn abi_get_fortran_booleans(
    _cx: &mut AlwaysCx,
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: &mut bool,
) -> Result<()> {
    check_size(logical_size)?;
    check_places(logical_true, logical_false)?;
    *is_set = false;
    if let Some((yes, no)) = booleans() {
        *is_set = true;
        // SAFETY: by the standard these are variables of that size.
        unsafe {
            *logical_true.cast::<c_int>() = yes;
            *logical_false.cast::<c_int>() = no;
        }
    }
    Ok(())
}
