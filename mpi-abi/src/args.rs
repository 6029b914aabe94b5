//! Arguments on their way in and results on their way out: the checks that a kind of argument
//! allows without knowing any object, and the shapes that hide whether a C integer has 32 bits or
//! 64 (MPI-5.0 §2.5.8, large counts).
//!
//! Everything is small and inlined: after monomorphisation a conversion is a move.

use std::ffi::{CStr, c_char, c_int, c_void};

use mpi_core::buffer::UserBuffer;
use mpi_core::constants::UNDEFINED;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::lists::listed;
use mpi_core::status::Status;

use crate::device;
use crate::face::{ConstantGroup, Face};
use crate::strings::copy_out;

#[derive(Clone, Copy, Debug)]
enum Form {
    Int,
    Wide,
    Rank(fn(c_int) -> i32),
}

/// An array of integers that the program gave, of whatever width.
#[derive(Clone, Copy, Debug)]
pub struct IntArray {
    data: *const c_int,
    form: Form,
}

impl IntArray {
    /// An array of C `int`.
    #[inline]
    pub fn int(data: *const c_int) -> IntArray {
        IntArray { data, form: Form::Int }
    }

    /// An array of `MPI_Count`, `MPI_Aint` or `MPI_Offset`.
    #[inline]
    pub fn wide(data: *const i64) -> IntArray {
        IntArray { data: data.cast(), form: Form::Wide }
    }

    /// An array of ranks, with the face's special values.
    #[inline]
    pub fn ranks<F: Face>(data: *const c_int) -> IntArray {
        IntArray { data, form: Form::Rank(F::rank_in) }
    }

    /// The array of a parameter that this form of the procedure lacks.
    #[inline]
    pub fn absent() -> IntArray {
        IntArray::int(std::ptr::null())
    }

    /// Whether the program passed a null pointer.
    #[inline]
    pub fn is_null(self) -> bool {
        self.data.is_null()
    }

    /// The element at `index`, a core value.
    ///
    /// # Safety
    /// The program's array has more than `index` elements.
    #[inline]
    pub unsafe fn at(self, index: usize) -> i64 {
        // SAFETY: the caller's promise; the constructors fix the width.
        unsafe {
            match self.form {
                Form::Int => i64::from(*self.data.add(index)),
                Form::Wide => *self.data.cast::<i64>().add(index),
                Form::Rank(core) => i64::from(core(*self.data.add(index))),
            }
        }
    }

    /// The first `length` elements.
    ///
    /// # Errors
    /// There is no memory for so many.
    ///
    /// # Safety
    /// The program's array has at least so many.
    pub unsafe fn to_vec(self, length: usize) -> Result<Vec<i64>> {
        // SAFETY: the caller's promise.
        listed((0..length).map(|index| unsafe { self.at(index) }))
    }
}

/// An array of integers where results go, of whatever width.
#[derive(Clone, Copy, Debug)]
pub struct IntArrayMut {
    data: *mut c_int,
    form: FormOut,
}

#[derive(Clone, Copy, Debug)]
enum FormOut {
    Int,
    Wide,
    Rank(fn(c_int) -> i32, fn(i32) -> c_int),
}

impl IntArrayMut {
    /// An array of C `int`.
    #[inline]
    pub fn int(data: *mut c_int) -> IntArrayMut {
        IntArrayMut { data, form: FormOut::Int }
    }

    /// An array of `MPI_Count`, `MPI_Aint` or `MPI_Offset`.
    #[inline]
    pub fn wide(data: *mut i64) -> IntArrayMut {
        IntArrayMut { data: data.cast(), form: FormOut::Wide }
    }

    /// An array of ranks, with the face's special values.
    #[inline]
    pub fn ranks<F: Face>(data: *mut c_int) -> IntArrayMut {
        IntArrayMut { data, form: FormOut::Rank(F::rank_in, F::rank_out) }
    }

    /// The array of a parameter that this form of the procedure lacks.
    #[inline]
    pub fn absent() -> IntArrayMut {
        IntArrayMut::int(std::ptr::null_mut())
    }

    /// Whether the program passed a null pointer (or does not want the array).
    #[inline]
    pub fn is_null(self) -> bool {
        self.data.is_null()
    }

    /// The element at `index`, a core value.
    ///
    /// # Safety
    /// The program's array has more than `index` elements.
    #[inline]
    pub unsafe fn at(self, index: usize) -> i64 {
        // SAFETY: the caller's promise; the constructors fix the width.
        unsafe {
            match self.form {
                FormOut::Int => i64::from(*self.data.add(index)),
                FormOut::Wide => *self.data.cast::<i64>().add(index),
                FormOut::Rank(core, _) => i64::from(core(*self.data.add(index))),
            }
        }
    }

    /// Writes the core value `value` at `index`. One that an `int` cannot hold becomes
    /// `MPI_UNDEFINED`.
    ///
    /// # Safety
    /// The program's array has more than `index` elements.
    #[inline]
    pub unsafe fn set(self, index: usize, value: i64) {
        let narrow = || c_int::try_from(value).unwrap_or(UNDEFINED);
        // SAFETY: the caller's promise; the constructors fix the width.
        unsafe {
            match self.form {
                FormOut::Int => *self.data.add(index) = narrow(),
                FormOut::Wide => *self.data.cast::<i64>().add(index) = value,
                FormOut::Rank(_, out) => *self.data.add(index) = out(narrow()),
            }
        }
    }
}

/// A datatype was made with so many large counts, of which the procedure that was called cannot tell (MPI-5.0 §5.1.13).
#[cold]
pub fn large_counts(number: impl std::fmt::Display) -> Error {
    let what = format!("was made with {number} large counts");
    Error::param(ErrorClass::TYPE, "datatype", what).hint(
        "Use MPI_Type_get_envelope_c and MPI_Type_get_contents_c, which tell of all constructors.",
    )
}

/// Where one integer goes, of whatever width.
#[derive(Clone, Copy, Debug)]
pub enum IntOut {
    /// An `int`.
    Int(*mut c_int),
    /// An `MPI_Count` or `MPI_Aint`.
    Wide(*mut i64),
    /// The result of a parameter that this form of the procedure lacks.
    Absent,
}

impl IntOut {
    /// A C `int`.
    #[inline]
    pub fn int(to: *mut c_int) -> IntOut {
        IntOut::Int(to)
    }

    /// An `MPI_Count` or `MPI_Aint`.
    #[inline]
    pub fn wide(to: *mut i64) -> IntOut {
        IntOut::Wide(to)
    }

    /// No place: there is nothing to be told but 0.
    #[inline]
    pub fn absent() -> IntOut {
        IntOut::Absent
    }

    /// Whether the program passed a null pointer.
    #[inline]
    pub fn is_null(self) -> bool {
        match self {
            IntOut::Int(to) => to.is_null(),
            IntOut::Wide(to) => to.is_null(),
            IntOut::Absent => false,
        }
    }

    /// The value that is there.
    ///
    /// # Safety
    /// The program's variable is readable.
    #[inline]
    pub unsafe fn load(self) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                IntOut::Int(from) => i64::from(*from),
                IntOut::Wide(from) => *from,
                IntOut::Absent => 0,
            }
        }
    }

    /// Writes `value`, the result `param`; one that does not fit is an error.
    ///
    /// # Safety
    /// The program's variable is writable.
    #[inline]
    pub unsafe fn store(self, param: &'static str, value: i64) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                IntOut::Int(to) => *to = narrow(param, value)?,
                IntOut::Wide(to) => *to = value,
                IntOut::Absent if value == 0 => {}
                IntOut::Absent => return Err(large_counts(value)),
            }
        }
        Ok(())
    }

    /// Writes `value`, or `MPI_UNDEFINED` if it does not fit.
    ///
    /// # Safety
    /// The program's variable is writable.
    #[inline]
    pub unsafe fn store_or_undefined(self, value: i64) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                IntOut::Int(to) => *to = c_int::try_from(value).unwrap_or(UNDEFINED),
                IntOut::Wide(to) => *to = value,
                IntOut::Absent => {}
            }
        }
    }
}

/// Weights of the edges of a graph (MPI-5.0 §8.5.4).
#[derive(Clone, Copy, Debug)]
pub enum Weights {
    /// `MPI_UNWEIGHTED`.
    Unweighted,
    /// `MPI_WEIGHTS_EMPTY`: weighted, but this process has no edges.
    Empty,
    /// One for each edge.
    Given(IntArray),
}

/// Recognises the special values of a weights argument.
#[inline]
pub fn weights<F: Face>(data: *const c_int) -> Weights {
    if F::is_unweighted(data) {
        Weights::Unweighted
    } else if F::is_weights_empty(data) {
        Weights::Empty
    } else {
        Weights::Given(IntArray::int(data))
    }
}

/// Where weights go; null when the program passed a special value.
#[inline]
pub fn weights_out<F: Face>(data: *mut c_int) -> IntArrayMut {
    if F::is_unweighted(data) || F::is_weights_empty(data) {
        IntArrayMut::absent()
    } else {
        IntArrayMut::int(data)
    }
}

/// The buffer argument `param`, which must lie in memory that this process can reach.
#[inline]
pub fn buffer<F: Face>(param: &'static str, address: *const c_void) -> Result<UserBuffer> {
    device::refuse(param, address)?;
    Ok(F::buffer_in(address))
}

/// Refuses a negative value of the parameter `param`.
#[inline]
pub fn non_negative(param: &'static str, value: i64, class: ErrorClass) -> Result<()> {
    if value < 0 { negative(param, value, class) } else { Ok(()) }
}

#[cold]
fn negative(param: &'static str, value: i64, class: ErrorClass) -> Result<()> {
    Err(Error::param(class, param, format!("is {value}, but must not be negative")))
}

/// Refuses a null pointer where a result goes.
#[inline]
pub fn out(param: &'static str, is_null: bool) -> Result<()> {
    if is_null { missing(param, "is NULL, but a result is to be written there") } else { Ok(()) }
}

/// Refuses a null pointer for an array that has elements.
#[inline]
pub fn array(param: &'static str, is_null: bool, has_elements: bool) -> Result<()> {
    if is_null && has_elements {
        missing(param, "is NULL, but the array is not empty")
    } else {
        Ok(())
    }
}

#[cold]
fn missing(param: &'static str, what: &'static str) -> Result<()> {
    Err(Error::param(ErrorClass::ARG, param, what))
}

/// The `int` that `value`, the result `param`, is.
#[inline]
pub fn narrow(param: &'static str, value: i64) -> Result<c_int> {
    c_int::try_from(value).map_err(|_| too_large(param, value))
}

#[cold]
fn too_large(param: &'static str, value: i64) -> Error {
    Error::param(ErrorClass::VALUE_TOO_LARGE, param, format!("would be {value}, beyond an int"))
        .hint("Call the procedure whose name ends in _c.")
}

/// The bytes of a C string argument, which may be in any encoding.
///
/// # Safety
/// `text` is null or ends with a NUL, and stays so for `'a`.
pub unsafe fn text<'a>(param: &'static str, text: *const c_char) -> Result<&'a [u8]> {
    if text.is_null() {
        missing(param, "is NULL, but must be a string")?;
    }
    // SAFETY: the caller's promise, and not null.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// The bytes of a C string argument that only some processes have to give; empty if null.
///
/// # Safety
/// As for [`text`].
pub unsafe fn text_or_empty<'a>(param: &'static str, text: *const c_char) -> Result<&'a [u8]> {
    if text.is_null() {
        return Ok(&[]);
    }
    // SAFETY: the caller's promise.
    unsafe { self::text(param, text) }
}

/// Copies `text` to the buffer of the argument `param`, whose size is in `length`, and writes to `length` the size that
/// the whole text needs. A size of 0 asks for that alone (MPI-5.0 §10, §11.3.2).
///
/// # Errors
/// `MPI_ERR_ARG` if the buffer is null and is said to have room.
///
/// # Safety
/// `length` is writable; `to` is null or writable for `*length` bytes.
pub unsafe fn text_out_measured(
    param: &'static str,
    to: *mut c_char,
    length: *mut c_int,
    text: &[u8],
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let room = usize::try_from(*length).unwrap_or(0);
        if room > 0 {
            out(param, to.is_null())?;
            copy_out(to, room, text);
        }
        *length = c_int::try_from(text.len() + 1).unwrap_or(c_int::MAX);
    }
    Ok(())
}

/// Refuses what is no status where one must be.
#[inline]
pub fn status<F: Face>(param: &'static str, status: *const F::Status) -> Result<()> {
    if status.is_null() || F::is_status_ignore(status) {
        return missing(param, "is MPI_STATUS_IGNORE, but must be a status");
    }
    Ok(())
}

/// Reads a status argument.
///
/// # Safety
/// `status` is null, an ignore value, or a status.
#[inline]
pub unsafe fn status_in<F: Face>(param: &'static str, status: *const F::Status) -> Result<Status> {
    self::status::<F>(param, status)?;
    // SAFETY: the caller's promise, and none of the special values.
    Ok(unsafe { F::status_in(status) })
}

/// Refuses a null pointer for a status, on faces where `MPI_STATUS_IGNORE` is another value.
#[inline]
pub fn status_out<F: Face>(param: &'static str, status: *const F::Status) -> Result<()> {
    if status.is_null() && !F::is_status_ignore(status) {
        return missing(param, "is NULL, but must be a status or MPI_STATUS_IGNORE");
    }
    Ok(())
}

/// The displacement of a file view; the core's value of `MPI_DISPLACEMENT_CURRENT` is −1.
#[inline]
pub fn view_disp<F: Face>(displacement: i64) -> i64 {
    if displacement == F::DISPLACEMENT_CURRENT { -1 } else { displacement }
}

/// The distributions of the dimensions of a distributed array.
///
/// # Safety
/// `data` has `length` elements.
pub unsafe fn distributions<F: Face>(data: *const c_int, length: c_int) -> Result<Vec<i32>> {
    let indices = 0..usize::try_from(length).unwrap_or(0);
    listed(indices.map(|index| {
        // SAFETY: the caller's promise.
        F::constant_in(ConstantGroup::Distribution, unsafe { *data.add(index) })
    }))
}

/// `MPI_DISTRIBUTE_DFLT_DARG` as [`distribution_arguments`] tells it: no block size in any ABI.
pub const DEFAULT_DISTRIBUTION_ARGUMENT: i32 = i32::MIN;

/// `MPI_DISTRIBUTE_DFLT_DARG` of the face.
pub fn default_distribution_argument<F: Face>() -> c_int {
    const STANDARD: i32 = 19;
    F::constant_out(ConstantGroup::Distribution, STANDARD)
}

/// Their arguments: block sizes, or [`DEFAULT_DISTRIBUTION_ARGUMENT`].
///
/// # Safety
/// `data` has `length` elements.
pub unsafe fn distribution_arguments<F: Face>(
    data: *const c_int,
    length: c_int,
) -> Result<Vec<i32>> {
    let default = default_distribution_argument::<F>();
    let indices = 0..usize::try_from(length).unwrap_or(0);
    // SAFETY: the caller's promise.
    listed(indices.map(|index| match unsafe { *data.add(index) } {
        argument if argument == default => DEFAULT_DISTRIBUTION_ARGUMENT,
        // What is no block size stays none, and is not taken for the default.
        argument => argument.max(-1),
    }))
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
