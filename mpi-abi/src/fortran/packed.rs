//! Arrays with gaps in blocking calls, which work on a copy without them.

use std::ffi::c_void;
use std::ptr;

use mpi_core::error::Result;
use mpi_core::lists::{joined, listed};

use super::sections::Section;

/// A buffer of a blocking procedure: the array itself, or a copy without its gaps.
pub struct Packed {
    section: Section,
    copy: Vec<u64>,
    /// What the copy held at first, if the procedure may change it.
    before: Vec<u64>,
}

impl Packed {
    /// The array behind `descriptor`, for a procedure that only reads it, and perhaps not even that.
    ///
    /// # Safety
    /// As for [`Section::of`]; the array is the program's.
    ///
    /// # Errors
    /// There is no memory for the copy.
    #[inline]
    pub unsafe fn read(
        descriptor: *const c_void,
        is_used: impl FnOnce() -> bool,
    ) -> Result<Packed> {
        // SAFETY: handed on.
        let section = unsafe { Section::of(descriptor) };
        let mut packed = Packed { section, copy: Vec::new(), before: Vec::new() };
        if !packed.section.is_whole() && is_used() {
            // SAFETY: handed on.
            unsafe { packed.fill()? };
        }
        Ok(packed)
    }

    /// The array behind `descriptor`, for a procedure that may change it.
    ///
    /// # Safety
    /// As for [`Packed::read`].
    ///
    /// # Errors
    /// There is no memory for the copy.
    #[inline]
    pub unsafe fn changed(
        descriptor: *const c_void,
        is_used: impl FnOnce() -> bool,
    ) -> Result<Packed> {
        // SAFETY: handed on.
        let mut packed = unsafe { Packed::read(descriptor, is_used)? };
        packed.before = joined(&[&packed.copy])?;
        Ok(packed)
    }

    #[cold]
    unsafe fn fill(&mut self) -> Result<()> {
        let bytes = super::length(self.section.element);
        let all = super::length(self.section.elements()) * bytes;
        self.copy = listed(std::iter::repeat_n(0, all.div_ceil(size_of::<u64>())))?;
        let mut to: *mut u8 = self.copy.as_mut_ptr().cast();
        for place in self.section.places() {
            // SAFETY: the copy was made for all elements; the place is one of the array's.
            unsafe {
                ptr::copy_nonoverlapping(self.section.at(place), to, bytes);
                to = to.add(bytes);
            }
        }
        Ok(())
    }

    /// What the procedure uses.
    pub fn address(&mut self) -> *mut c_void {
        if self.copy.is_empty() {
            return self.section.address();
        }
        self.copy.as_mut_ptr().cast()
    }

    /// Gives the array what the procedure has changed in the copy, and no more: what lies beside it
    /// may have come meanwhile, by an operation that was pending.
    ///
    /// # Safety
    /// The array is still the program's; the procedure may change it.
    #[inline]
    pub unsafe fn write_back(&self) {
        if !self.copy.is_empty() {
            // SAFETY: handed on.
            unsafe { self.write_changes() };
        }
    }

    #[cold]
    unsafe fn write_changes(&self) {
        let bytes = super::length(self.section.element);
        let [now, before] = [&self.copy, &self.before].map(|words| as_bytes(words));
        let elements = now.chunks_exact(bytes).zip(before.chunks_exact(bytes));
        for (place, (now, before)) in self.section.places().zip(elements) {
            if now == before {
                continue;
            }
            let to = self.section.at(place);
            for at in (0..bytes).filter(|at| now[*at] != before[*at]) {
                // SAFETY: the place is one of the array's, with room for an element.
                unsafe { *to.add(at) = now[at] };
            }
        }
    }
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: bytes may have any value, and the words are borrowed for as long.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::super::sections::tests::descriptors;
    use super::*;

    #[test]
    fn sections_are_packed_and_written_back() {
        let mut array: Vec<i32> = (0..60).collect();
        // array(5, 12): rows 2 and 4 of columns 12, 9, 6, backwards.
        let first = 1 + 11 * 5;
        let wanted = [56, 58, 41, 43, 26, 28];
        for descriptor in descriptors(array[..].as_mut_ptr(), first, &[(2, 2), (3, -15)]) {
            // SAFETY: a descriptor of a local array.
            unsafe {
                let mut packed = Packed::changed(descriptor.as_ptr().cast(), || true).unwrap();
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
    fn what_is_not_there_or_not_used_is_left_alone() {
        let mut array = [1i32; 8];
        let base = array.as_mut_ptr();
        let strange = [(1 << 60, 7), (1 << 40, 9)];
        let cases = [
            (ptr::null_mut(), &[(4, 2)][..], true),
            (base, &strange, true),
            (base, &[(4, 2)], false),
        ];
        for (start, dims, is_used) in cases {
            for descriptor in descriptors(start, 0, dims) {
                // SAFETY: nothing is looked at behind the address.
                let packed = unsafe { Packed::changed(descriptor.as_ptr().cast(), || is_used) };
                let mut packed = packed.unwrap();
                assert_eq!(packed.address(), start.cast());
                // SAFETY: as above.
                unsafe { packed.write_back() };
            }
        }
    }

    #[test]
    fn what_came_meanwhile_stays() {
        let mut array = [0i32; 8];
        let base = array.as_mut_ptr();
        for descriptor in descriptors(base, 0, &[(4, 2)]) {
            // SAFETY: a descriptor of a local array, which is changed through its address alone.
            unsafe {
                base.write_bytes(0, 8);
                let mut packed = Packed::changed(descriptor.as_ptr().cast(), || true).unwrap();
                packed.address().cast::<i32>().write(5);
                base.add(4).write(7);
                packed.write_back();
                assert_eq!(base.cast::<[i32; 8]>().read(), [5, 0, 0, 0, 7, 0, 0, 0]);
            }
        }
    }
}
