//! Arrays with gaps in calls that return before they have used them: a datatype steps over the gaps,
//! or the call is refused.

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_core::datatype::Datatype;
use mpi_core::error::{Error, ErrorClass};

use super::sections::Section;
use super::{Fortran, datatype, datatype_null, datatype_out, done};
use crate::args::IntArray;
use crate::cx::Owner;
use crate::entry;
use crate::glue;
use crate::procedure::Procedure;

/// A buffer of an operation that outlives its call: the array, described past its gaps.
pub struct Part {
    address: *mut c_void,
    /// The INTEGER of a datatype that was made for it.
    made: Option<c_int>,
}

impl Part {
    /// `count` elements of `datatype` in the array behind `descriptor`; nothing after an error,
    /// which `owner` then hears of and is reported.
    ///
    /// # Safety
    /// As for [`Section::of`].
    #[inline]
    pub unsafe fn new<F: Fortran>(
        procedure: Procedure,
        owner: impl FnOnce() -> Owner,
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
        let Some(size) = size::<F>(procedure, datatype) else {
            // No datatype, which the procedure itself will say.
            return Some(Part { address: section.address(), made: None });
        };
        // SAFETY: handed on.
        match unsafe { described::<F>(&section, count, datatype, size) } {
            Ok(made) => {
                Some(Part { address: section.address(), made: Some(datatype_out::<F>(made)) })
            }
            Err(why) => {
                // SAFETY: handed on.
                unsafe { refuse::<F>(procedure, owner(), why, ierror) };
                None
            }
        }
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

/// The extent of a datatype.
enum Size {
    /// It holds all that the datatype describes, so that elements may be laid down one by one.
    Own(i64),
    /// The datatype reaches out of it.
    Exceeded,
}

/// The size of the datatype `fint`, if it is one.
fn size<F: Fortran>(procedure: Procedure, fint: c_int) -> Option<Size> {
    let mut size = None;
    let of = |datatype: &Datatype| {
        let (begin, end) = (datatype.true_lb(), datatype.true_lb() + datatype.true_extent());
        let is_inside = datatype.lb() == 0 && begin >= 0 && end <= datatype.extent();
        if is_inside { Size::Own(datatype.extent()) } else { Size::Exceeded }
    };
    entry::call::<F>(procedure, Owner::None, |cx| {
        size =
            cx.datatypes.get(F::datatype_in(datatype::<F>(fint))).ok().map(|datatype| of(datatype));
        Ok(())
    });
    size
}

/// The number of `section`'s elements that `count` elements of a datatype fill, and how many fill
/// one of them; or why they do not.
fn filled(section: &Section, count: i64, size: Size) -> Result<(i64, i64), &'static str> {
    let Size::Own(extent) = size else {
        return Err(
            "is a section of an array with gaps, and the datatype does not begin where its \
                    extent does or ends beyond it, in a call that returns before it is used",
        );
    };
    let each = if extent > 0 { section.element / extent } else { 0 };
    let is_even = each > 0 && section.element % extent == 0 && count % each == 0;
    if !is_even || count / each > section.elements() {
        return Err("is a section of an array with gaps whose elements the count and the \
                    datatype do not fill evenly, in a call that returns before it is used");
    }
    Ok((count / each, each))
}

/// A datatype for `count` elements of `fint` in `section`, or why there is none.
unsafe fn described<F: Fortran>(
    section: &Section,
    count: i64,
    fint: c_int,
    size: Size,
) -> Result<F::Datatype, &'static str> {
    const FAILED: &str = "is a section of an array for which no datatype can be made";
    let (elements, each) = filled(section, count, size)?;
    // SAFETY: all places are local.
    unsafe {
        let mut made = datatype_null::<F>();
        if glue::type_contiguous::<F>(each, datatype::<F>(fint), &mut made, true) != 0 {
            return Err(FAILED);
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
                    return Err(FAILED);
                }
            }
        } else {
            let places: Vec<i64> = section.places().take(super::length(elements)).collect();
            let list = IntArray::wide(places.as_ptr());
            let blocks =
                |old, new| glue::type_create_hindexed_block::<F>(elements, 1, list, old, new, true);
            if !next(&mut made, &blocks) {
                return Err(FAILED);
            }
        }
        if glue::type_commit::<F>(&mut made) == 0 { Ok(made) } else { Err(FAILED) }
    }
}

/// The address of an array without gaps, where no datatype can step over them, or of one that the
/// procedure will not touch; nothing after an error, which `owner` then hears of and is reported.
///
/// # Safety
/// As for [`Section::of`].
#[inline]
pub unsafe fn whole<F: Fortran>(
    procedure: Procedure,
    owner: impl FnOnce() -> Owner,
    descriptor: *const c_void,
    is_used: impl FnOnce() -> bool,
    ierror: *mut c_int,
) -> Option<*mut c_void> {
    // SAFETY: handed on.
    let section = unsafe { Section::of(descriptor) };
    if section.is_whole() || !is_used() {
        return Some(section.address());
    }
    let why = "is a section of an array with gaps, which this procedure cannot use after it \
               has returned";
    // SAFETY: handed on.
    unsafe { refuse::<F>(procedure, owner(), why, ierror) };
    None
}

/// Raises the error that a buffer cannot be used, and reports it.
#[cold]
unsafe fn refuse<F: Fortran>(
    procedure: Procedure,
    owner: Owner,
    why: &'static str,
    ierror: *mut c_int,
) {
    let code = entry::call::<F>(procedure, owner, |_| {
        let error = Error::new(ErrorClass::BUFFER, format!("the buffer {why}"));
        Err(error.hint("Pass the whole array with a derived datatype, or a copy of the section."))
    });
    // SAFETY: the program's variable.
    unsafe { done(ierror, code) };
}
