//! Arrays of any shape, as `mpi_f08` passes them (MPI-5.0 §19.1.6): a descriptor with strides.
//!
//! Enters: the address of a descriptor, in gfortran's own layout, which it uses between Fortran
//! procedures, or in that of C's `CFI_cdesc_t` (Fortran 2018 §18.5.3), which flang uses throughout.
//! Leaves: an address without gaps: the array's own; a packed copy for the time of a blocking call;
//! or the array's own with a datatype that steps over the gaps, for an operation that outlives it.

use std::ffi::{c_int, c_void};
use std::ops::RangeInclusive;
use std::ptr;

use mpi_core::error::{Error, ErrorClass};

use super::{Fortran, datatype, datatype_null, datatype_out, done};
use crate::args::IntArray;
use crate::entry::{self, Owner};
use crate::glue;
use crate::procedure::Procedure;

/// `CFI_VERSION` of the compilers that pass a `CFI_cdesc_t`: the day on which they last changed it,
/// in 2018 for flang before version 20 and in 2024 after it. The members read here stayed.
const CFI_VERSIONS: RangeInclusive<u32> = 20_180_101..=20_991_231;

/// The most dimensions that Fortran has.
const DIMENSIONS: usize = 15;

/// An array, perhaps with gaps.
pub struct Section {
    address: *mut c_void,
    /// Bytes of an element.
    element: i64,
    rank: usize,
    /// Extent of each dimension, and the bytes from one of its elements to the next.
    dims: [(i64, i64); DIMENSIONS],
}

impl Section {
    /// Reads a descriptor.
    ///
    /// # Safety
    /// It is what the compiler made for an argument of assumed type and rank.
    pub unsafe fn of(descriptor: *const c_void) -> Section {
        // SAFETY: a descriptor has a head of five words, or three in C's layout, and three more
        // for each dimension.
        let word = |at: usize| unsafe { *descriptor.cast::<i64>().add(at) };
        let third = word(2);
        let is_cfi = is_cfi(third);
        let head = if is_cfi { third >> 32 } else { word(3) >> 32 };
        let rank = usize::from(head as u8).min(DIMENSIONS);
        let mut dims = [(0, 0); DIMENSIONS];
        for (at, dim) in dims.iter_mut().enumerate().take(rank) {
            *dim = if is_cfi {
                (word(4 + 3 * at), word(5 + 3 * at))
            } else {
                let [stride, lower, upper] = [0, 1, 2].map(|field| word(5 + 3 * at + field));
                (upper - lower + 1, stride * word(4))
            };
        }
        let address = ptr::with_exposed_provenance_mut(word(0) as usize);
        Section { address, element: if is_cfi { word(1) } else { third }, rank, dims }
    }

    /// Where its first element is.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    fn dims(&self) -> &[(i64, i64)] {
        &self.dims[..self.rank]
    }

    /// Whether its elements lie one behind the other. The last extent of an array of assumed size
    /// says nothing, and is not needed.
    fn is_whole(&self) -> bool {
        let mut expected = self.element;
        self.dims().iter().all(|&(extent, stride)| {
            let fits = extent == 1 || stride == expected;
            expected = expected.saturating_mul(extent);
            fits
        })
    }

    /// The number of its elements.
    fn elements(&self) -> i64 {
        self.dims().iter().map(|&(extent, _)| extent.max(0)).product()
    }

    /// How far the elements are from the first one, in bytes, in the order of the array.
    fn places(&self) -> impl Iterator<Item = i64> {
        (0..self.elements()).map(|index| {
            let mut rest = index;
            let mut place = 0;
            for &(extent, stride) in self.dims() {
                place += rest % extent * stride;
                rest /= extent;
            }
            place
        })
    }
}

/// Whether the third word of a descriptor is that of a `CFI_cdesc_t`: the version, above it the rank,
/// a type, which is never zero, and an attribute. gfortran has an element's size there, which only
/// of elements of 4 GiB and more reaches into the upper half.
fn is_cfi(third: i64) -> bool {
    let [rank, kind, attribute, _] = ((third >> 32) as u32).to_le_bytes();
    let is_plausible = usize::from(rank) <= DIMENSIONS && kind != 0 && attribute <= 2;
    is_plausible && CFI_VERSIONS.contains(&(third as u32))
}

/// A buffer of a blocking procedure: the array itself, or a copy without its gaps.
pub struct Packed {
    section: Section,
    copy: Vec<u64>,
}

impl Packed {
    /// The array behind `descriptor`.
    ///
    /// # Safety
    /// As for [`Section::of`]; the array is the program's.
    #[inline]
    pub unsafe fn new(descriptor: *const c_void) -> Packed {
        // SAFETY: handed on.
        let section = unsafe { Section::of(descriptor) };
        let mut packed = Packed { section, copy: Vec::new() };
        if !packed.section.is_whole() {
            // SAFETY: handed on.
            unsafe { packed.read() };
        }
        packed
    }

    #[cold]
    unsafe fn read(&mut self) {
        let bytes = super::length(self.section.elements() * self.section.element);
        self.copy = vec![0; bytes.div_ceil(size_of::<u64>()).max(1)];
        // SAFETY: handed on.
        unsafe { self.each(|place, copy, bytes| ptr::copy_nonoverlapping(place, copy, bytes)) };
    }

    /// What the procedure uses.
    pub fn address(&mut self) -> *mut c_void {
        if self.copy.is_empty() {
            return self.section.address();
        }
        self.copy.as_mut_ptr().cast()
    }

    /// Gives the array what the procedure left in the copy.
    ///
    /// # Safety
    /// The array is still the program's.
    #[inline]
    pub unsafe fn write_back(&mut self) {
        if !self.copy.is_empty() {
            // SAFETY: handed on.
            unsafe { self.each(|place, copy, bytes| ptr::copy_nonoverlapping(copy, place, bytes)) };
        }
    }

    /// Calls `act` with the place of each element, that in the copy, and their bytes.
    unsafe fn each(&mut self, act: impl Fn(*mut u8, *mut u8, usize)) {
        let bytes = super::length(self.section.element);
        let copy: *mut u8 = self.copy.as_mut_ptr().cast();
        for (index, place) in self.section.places().enumerate() {
            // SAFETY: the copy was made for all elements; the place is one of the array's.
            unsafe {
                act(
                    self.section.address().cast::<u8>().offset(place as isize),
                    copy.add(index * bytes),
                    bytes,
                );
            }
        }
    }
}

/// A buffer of an operation that outlives its call: the array, described past its gaps.
pub struct Part {
    address: *mut c_void,
    /// The INTEGER of a datatype that was made for it.
    made: Option<c_int>,
}

impl Part {
    /// `count` elements of `datatype` in the array behind `descriptor`; nothing after an error,
    /// which is then raised and reported.
    ///
    /// # Safety
    /// As for [`Section::of`].
    #[inline]
    pub unsafe fn new<F: Fortran>(
        procedure: Procedure,
        descriptor: *const c_void,
        count: i64,
        datatype: c_int,
        ierror: *mut c_int,
    ) -> Option<Part> {
        // SAFETY: handed on.
        let section = unsafe { Section::of(descriptor) };
        if section.is_whole() || count <= 0 {
            return Some(Part { address: section.address(), made: None });
        }
        // SAFETY: handed on.
        let made = unsafe { described::<F>(&section, count, datatype) };
        let Some(made) = made else {
            let why = "is a section of an array with gaps whose elements the count and the \
                       datatype do not fill evenly, in a call that returns before it is used";
            // SAFETY: handed on.
            unsafe { refuse::<F>(procedure, why, ierror) };
            return None;
        };
        Some(Part { address: section.address(), made: Some(datatype_out::<F>(made)) })
    }

    /// Where the array is.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// The place of the count: the program's, or that of `one`.
    pub fn count<T>(&self, count: *const T, one: &'static T) -> *const T {
        if self.made.is_some() { one } else { count }
    }

    /// The place of the datatype's INTEGER: the program's, or that of the one made.
    pub fn datatype(&self, datatype: *const c_int) -> *const c_int {
        self.made.as_ref().map_or(datatype, ptr::from_ref)
    }

    /// Frees the datatype, which the operation keeps for as long as it needs it (§5.1.9).
    ///
    /// # Safety
    /// The operation has been started.
    #[inline]
    pub unsafe fn end<F: Fortran>(self) {
        if let Some(made) = self.made {
            let mut made = datatype::<F>(made);
            // SAFETY: the place is local.
            unsafe { glue::type_free::<F>(&mut made) };
        }
    }
}

/// A datatype for `count` elements of `fint` in `section`, if they fill its elements evenly.
unsafe fn described<F: Fortran>(section: &Section, count: i64, fint: c_int) -> Option<F::Datatype> {
    let given = datatype::<F>(fint);
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: all places are local.
    unsafe {
        if glue::type_get_extent_x::<F>(given, &mut lower, &mut extent) != 0 || extent <= 0 {
            return None;
        }
        let each = section.element / extent;
        if each == 0 || section.element % extent != 0 || count % each != 0 {
            return None;
        }
        let elements = count / each;
        if elements > section.elements() {
            return None;
        }
        let mut made = datatype_null::<F>();
        if glue::type_contiguous::<F>(each, given, &mut made, true) != 0 {
            return None;
        }
        let next = |made: &mut F::Datatype,
                    make: &dyn Fn(F::Datatype, *mut F::Datatype) -> c_int| {
            let mut old = *made;
            let code = make(old, made);
            glue::type_free::<F>(&mut old);
            code == 0
        };
        if elements == section.elements() {
            for &(extent, stride) in section.dims() {
                let vector =
                    |old, new| glue::type_create_hvector::<F>(extent, 1, stride, old, new, true);
                if !next(&mut made, &vector) {
                    return None;
                }
            }
        } else {
            let places: Vec<i64> = section.places().take(super::length(elements)).collect();
            let list = IntArray::wide(places.as_ptr());
            let blocks =
                |old, new| glue::type_create_hindexed_block::<F>(elements, 1, list, old, new, true);
            if !next(&mut made, &blocks) {
                return None;
            }
        }
        (glue::type_commit::<F>(&mut made) == 0).then_some(made)
    }
}

/// The address of an array without gaps, where no datatype can step over them; nothing after an
/// error, which is then raised and reported.
///
/// # Safety
/// As for [`Section::of`].
#[inline]
pub unsafe fn whole<F: Fortran>(
    procedure: Procedure,
    descriptor: *const c_void,
    ierror: *mut c_int,
) -> Option<*mut c_void> {
    // SAFETY: handed on.
    let section = unsafe { Section::of(descriptor) };
    if section.is_whole() {
        return Some(section.address());
    }
    let why = "is a section of an array with gaps, which this procedure cannot use after it \
               has returned";
    // SAFETY: handed on.
    unsafe { refuse::<F>(procedure, why, ierror) };
    None
}

/// Raises the error that a buffer cannot be used, and reports it.
#[cold]
unsafe fn refuse<F: Fortran>(procedure: Procedure, why: &'static str, ierror: *mut c_int) {
    let code = entry::call::<F>(procedure, Owner::None, |_| {
        let error = Error::new(ErrorClass::BUFFER, format!("the buffer {why}."));
        Err(error.hint("Pass the whole array with a derived datatype, or a copy of the section."))
    });
    // SAFETY: the program's variable.
    unsafe { done(ierror, code) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor of `array(dims)` of INTEGERs: `(extent, stride in elements)` for each.
    fn descriptors(array: *mut i32, first: usize, dims: &[(i64, i64)]) -> [Vec<i64>; 2] {
        let base = (array.expose_provenance() + 4 * first) as i64;
        let rank = dims.len() as i64;
        let mut gfortran = vec![base, -5, 4, (1 << 40) | (rank << 32), 4];
        let mut cfi = vec![base, 4, (9 << 40) | (rank << 32) | 20_240_719];
        for &(extent, stride) in dims {
            gfortran.extend([stride, 3, 3 + extent - 1]);
            cfi.extend([1, extent, stride * 4]);
        }
        cfi.extend([0, 0]);
        [gfortran, cfi]
    }

    #[test]
    fn sections_are_packed_and_written_back() {
        let mut array: Vec<i32> = (0..60).collect();
        // array(5, 12): rows 2 and 4 of columns 12, 9, 6, backwards.
        let first = 1 + 11 * 5;
        let wanted = [56, 58, 41, 43, 26, 28];
        for descriptor in descriptors(array[..].as_mut_ptr(), first, &[(2, 2), (3, -15)]) {
            // SAFETY: a descriptor of a local array.
            unsafe {
                let mut packed = Packed::new(descriptor.as_ptr().cast());
                let copy = std::slice::from_raw_parts_mut(packed.address().cast::<i32>(), 6);
                assert_eq!(copy, &wanted[..]);
                copy.fill(-1);
                packed.write_back();
            }
            let changed: Vec<i32> = (0..60).filter(|at| array[*at as usize] == -1).collect();
            let mut sorted = wanted;
            sorted.sort_unstable();
            assert_eq!(changed, sorted);
            (0..).zip(&mut array).for_each(|(at, cell)| *cell = at);
        }
    }

    #[test]
    fn arrays_without_gaps_are_used_in_place() {
        let mut array = [0i32; 24];
        let wholes: [&[(i64, i64)]; 6] =
            [&[], &[(24, 1)], &[(4, 1), (6, 4)], &[(1, 9), (5, 1)], &[(4, 1), (-1, 4)], &[(1, 7)]];
        for dims in wholes {
            for descriptor in descriptors(array.as_mut_ptr(), 0, dims) {
                // SAFETY: a descriptor of a local array.
                let section = unsafe { Section::of(descriptor.as_ptr().cast()) };
                assert!(section.is_whole(), "{dims:?}");
                assert_eq!(section.address(), (&raw mut array[0]).cast());
            }
        }
        for dims in [&[(4, 2)][..], &[(3, 1), (2, 4)], &[(2, -1)]] {
            for descriptor in descriptors(array.as_mut_ptr(), 0, dims) {
                // SAFETY: as above.
                assert!(!unsafe { Section::of(descriptor.as_ptr().cast()) }.is_whole(), "{dims:?}");
            }
        }
    }
    #[test]
    fn layouts_are_told_apart() {
        let upper =
            |rank: i64, kind: i64, attribute: i64| (attribute << 48) | (kind << 40) | (rank << 32);
        for version in [20_180_515, 20_240_719, 20_300_101] {
            for third in [upper(0, 9, 0), upper(2, 27, 2), upper(15, 0xff, 1)] {
                assert!(is_cfi(third | version), "{third:x} {version}");
            }
            // An element of so many bytes, in gfortran's layout.
            assert!(!is_cfi(version), "{version}");
        }
        for element in [0, 4, 1 << 32, (1 << 40) | 4, (9 << 40) + 20_180_100, 3 << 48] {
            assert!(!is_cfi(element), "{element}");
        }
    }
}
