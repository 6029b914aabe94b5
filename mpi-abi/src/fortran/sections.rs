//! Arrays of any shape, as `mpi_f08` passes them (MPI-5.0 §19.1.6): a descriptor with strides.
//!
//! Enters: the address of a descriptor, in the layout that gfortran or Intel's compiler has for use
//! between Fortran procedures, or in that of C's `CFI_cdesc_t` (Fortran 2018 §18.5.3), which flang uses
//! throughout.
//! Leaves: where the elements are. A blocking call works on a packed copy (`packed`), one that
//! returns earlier steps over the gaps (`parts`).

use std::ffi::c_void;
use std::ops::RangeInclusive;
use std::ptr;

/// `CFI_VERSION` of the compilers that pass a `CFI_cdesc_t`: the day on which they last changed it,
/// in 2018 for flang before version 20 and in 2024 after it. The members read here stayed.
const CFI_VERSIONS: RangeInclusive<u32> = 20_180_101..=20_991_231;

/// The most dimensions that Fortran has.
const DIMENSIONS: usize = 15;

/// An array, perhaps with gaps.
pub struct Section {
    address: *mut c_void,
    /// Bytes of an element.
    pub(super) element: i64,
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
        // SAFETY: a descriptor has a head of five words, or three in C's layout and six in Intel's, and
        // three more for each dimension.
        let word = |at: usize| unsafe { *descriptor.cast::<i64>().add(at) };
        let layout = if is_cfi(word(2)) { Layout::C } else { Layout::of_head(word(3)) };
        let rank = match layout {
            Layout::C => word(2) >> 32,
            Layout::Gfortran => word(3) >> 32,
            Layout::Intel => word(4),
        };
        let rank = usize::from(rank as u8).min(DIMENSIONS);
        let mut dims = [(0, 0); DIMENSIONS];
        for (at, dim) in dims.iter_mut().enumerate().take(rank) {
            *dim = match layout {
                Layout::C => (word(4 + 3 * at), word(5 + 3 * at)),
                Layout::Intel => (word(6 + 3 * at), word(7 + 3 * at)),
                Layout::Gfortran => {
                    let [stride, lower, upper] = [0, 1, 2].map(|field| word(5 + 3 * at + field));
                    (upper - lower + 1, stride * word(4))
                }
            };
        }
        let address = ptr::with_exposed_provenance_mut(word(0) as usize);
        let element = match layout {
            Layout::Gfortran => element(word(2), (word(3) >> 40) as u8, word(4)),
            Layout::C | Layout::Intel => word(1),
        };
        Section { address, element, rank, dims }
    }

    /// Where its first element is.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// The address `place` bytes from the first element.
    pub(super) fn at(&self, place: i64) -> *mut u8 {
        self.address.cast::<u8>().wrapping_offset(place as isize)
    }

    pub(super) fn dims(&self) -> &[(i64, i64)] {
        &self.dims[..self.rank]
    }

    /// Whether its elements lie one behind the other, or there are none. The last extent of an array
    /// of assumed size says nothing, and is not needed. Of an array that is not allocated no extent
    /// does: such a one is passed where a buffer is not significant.
    pub(super) fn is_whole(&self) -> bool {
        if self.address.is_null() {
            return true;
        }
        let mut expected = self.element;
        let is_dense = self.dims().iter().all(|&(extent, stride)| {
            let fits = extent == 1 || stride == expected;
            expected = expected.saturating_mul(extent);
            fits
        });
        is_dense || self.element == 0 || self.elements() == 0
    }

    /// The number of its elements; none if no memory could hold them.
    pub(super) fn elements(&self) -> i64 {
        let element = self.element.max(1);
        let bytes = self
            .dims()
            .iter()
            .try_fold(element, |bytes, &(extent, _)| bytes.checked_mul(extent.max(0)));
        bytes.unwrap_or(0) / element
    }

    /// How far the elements are from the first one, in bytes, in the order of the array.
    pub(super) fn places(&self) -> impl Iterator<Item = i64> {
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

/// Whose descriptor it is.
enum Layout {
    C,
    Gfortran,
    Intel,
}

impl Layout {
    /// By the fourth word, of one that is not C's: gfortran has a version in its lower half, which is 0;
    /// Intel's compiler has flags there, of which one says that there is an array.
    fn of_head(fourth: i64) -> Layout {
        if fourth as u32 == 0 { Layout::Gfortran } else { Layout::Intel }
    }
}

/// The types by which gfortran describes what may be polymorphic: `CLASS(t)` as a derived type, and
/// `CLASS(*)` as if it were an address.
const DERIVED: u8 = 5;
const VOID: u8 = 10;

/// Bytes of an element, in gfortran's layout. Of a polymorphic array `length` is that of the declared
/// type, and of an address for `CLASS(*)`; the dynamic type's is the span, which strides count in. Of
/// other arrays the span may be longer: a pointer to a component (`p => points%x`) has that of the whole.
fn element(length: i64, kind: u8, span: i64) -> i64 {
    let may_be_polymorphic = matches!(kind, DERIVED | VOID);
    if may_be_polymorphic && span > 0 { span } else { length }
}

/// Whether the third word of a descriptor is that of a `CFI_cdesc_t`: the version, above it the rank,
/// a type, which is never zero, and an attribute. gfortran has an element's size there, which only
/// of elements of 4 GiB and more reaches into the upper half.
fn is_cfi(third: i64) -> bool {
    let [rank, kind, attribute, _] = ((third >> 32) as u32).to_le_bytes();
    let is_plausible = usize::from(rank) <= DIMENSIONS && kind != 0 && attribute <= 2;
    is_plausible && CFI_VERSIONS.contains(&(third as u32))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A descriptor of `array(dims)` of INTEGERs: `(extent, stride in elements)` for each.
    pub(in super::super) fn descriptors(
        array: *mut i32,
        first: usize,
        dims: &[(i64, i64)],
    ) -> [Vec<i64>; 3] {
        let base = (array.expose_provenance() + 4 * first) as i64;
        let rank = dims.len() as i64;
        let mut gfortran = vec![base, -5, 4, (1 << 40) | (rank << 32), 4];
        let mut cfi = vec![base, 4, (9 << 40) | (rank << 32) | 20_240_719];
        let mut intel = vec![base, 4, -20, 1, rank, 0];
        for &(extent, stride) in dims {
            gfortran.extend([stride, 3, 3 + extent - 1]);
            cfi.extend([1, extent, stride * 4]);
            intel.extend([extent, stride * 4, 3]);
        }
        cfi.extend([0, 0]);
        [gfortran, cfi, intel]
    }

    #[test]
    fn arrays_without_gaps_are_used_in_place() {
        let mut array = [0i32; 24];
        let none = [(4, 2), (0, 8)];
        let wholes: [&[(i64, i64)]; 7] = [
            &[],
            &[(24, 1)],
            &[(4, 1), (6, 4)],
            &[(1, 9), (5, 1)],
            &[(4, 1), (-1, 4)],
            &[(1, 7)],
            &none,
        ];
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

    /// Lengths, types and spans as gfortran 12 gives them.
    #[test]
    fn elements_are_those_of_the_dynamic_type() {
        let mut array = [0i32; 12];
        let base = array.as_mut_ptr().expose_provenance() as i64;
        let section = |length: i64, kind: i64, span: i64, stride: i64, extent: i64| {
            let head = (kind << 40) | (1 << 32);
            let descriptor = [base, -1, length, head, span, stride, 1, extent];
            // SAFETY: a descriptor of a local array.
            unsafe { Section::of(descriptor.as_ptr().cast()) }
        };
        for (length, kind, span) in [(8, 10, 4), (8, 10, 8), (4, 5, 12), (12, 5, 12)] {
            let whole = section(length, kind, span, 1, 48 / span);
            assert!(whole.is_whole() && whole.element == span, "{length} {kind} {span}");
            let gaps = section(length, kind, span, 2, 2);
            assert!(!gaps.is_whole() && gaps.element == span, "{length} {kind} {span}");
            assert_eq!(gaps.places().collect::<Vec<_>>(), [0, 2 * span]);
        }
        let component = section(4, 1, 12, 1, 4);
        assert!(!component.is_whole() && component.element == 4);
        assert_eq!(component.places().collect::<Vec<_>>(), [0, 12, 24, 36]);
        assert_eq!(section(4, 10, 0, 1, 4).element, 4);
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
