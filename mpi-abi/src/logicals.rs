//! LOGICALs. Compilers differ in what a true one is: 1 or −1, any odd number, anything but zero.
//! Unless the program says otherwise (`MPI_Abi_set_fortran_booleans`, MPI-5.0 §20.3), 1 and 0 are
//! written and the lowest bit is looked at, which is right for all of these.

use std::ffi::c_int;

use mpi_core::error::Result;
use mpi_core::lists::listed;
use mpi_core::op::booleans;

/// A LOGICAL as C has it.
#[inline]
pub fn logical(value: c_int) -> c_int {
    match booleans() {
        None => value & 1,
        Some((_, no)) => c_int::from(value != no),
    }
}

/// The LOGICAL of a truth value.
#[inline]
pub fn logical_value(truth: bool) -> c_int {
    let (yes, no) = booleans().unwrap_or((1, 0));
    if truth { yes } else { no }
}

/// Makes a LOGICAL of the C truth value in its place.
///
/// # Safety
/// It is the program's variable, just written.
#[inline]
pub unsafe fn logical_out(place: *mut c_int) {
    // SAFETY: the program's variable, just written.
    unsafe { *place = logical_value(*place != 0) };
}

/// An array of LOGICALs.
///
/// # Errors
/// As [`listed`].
///
/// # Safety
/// The program's array has that many elements.
pub unsafe fn logicals(from: *mut c_int, length: usize) -> Result<Vec<c_int>> {
    // SAFETY: the program's array has that many elements.
    listed((0..length).map(|index| logical(unsafe { *from.add(index) })))
}

/// Makes LOGICALs of an array of C truth values.
///
/// # Safety
/// The program's array has that many elements.
pub unsafe fn logicals_out(first: *mut c_int, length: usize) {
    for index in 0..length {
        // SAFETY: the program's array has that many elements.
        unsafe { logical_out(first.add(index)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_core::op::set_booleans;

    #[test]
    fn the_lowest_bit_decides_until_the_program_says_otherwise() {
        for (value, truth) in [(0, 0), (1, 1), (-1, 1), (2, 0), (3, 1)] {
            assert_eq!(logical(value), truth, "{value}");
        }
        let mut place = 7;
        // SAFETY: a local variable.
        unsafe { logical_out(&mut place) };
        assert_eq!(place, 1);
        assert!(set_booleans(-1, 2) && !set_booleans(1, 0), "they are set once");
        assert_eq!((logical(-1), logical(2), logical(0)), (1, 0, 1));
        let mut places = [0, 5];
        // SAFETY: a local array.
        unsafe { logicals_out(places.as_mut_ptr(), 2) };
        assert_eq!(places, [2, -1]);
        assert_eq!(booleans(), Some((-1, 2)));
    }
}
