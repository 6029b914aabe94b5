//! Datatypes from and to arrays of datatypes: structs (MPI-5.0 §5.1.2) and the arguments that a
//! datatype was made with (§5.1.13).

use std::ffi::c_int;
use std::sync::Arc;

use mpi_core::datatype::{Combiner, Contents, DEFAULT_DARG, Datatype};
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::DatatypeHandle;
use mpi_core::lists::{listed, reserved};

use crate::args::{self, IntArray, IntArrayMut, default_distribution_argument, narrow};
use crate::calls::datatypes::form;
use crate::cx::Cx;
use crate::face::{ConstantGroup, Face};

/// `MPI_Type_create_struct`.
///
/// # Safety
/// The arrays have `count` elements, and `newtype` is writable.
pub unsafe fn type_create_struct<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    array_of_types: *const F::Datatype,
    newtype: *mut F::Datatype,
    large: bool,
) -> Result<()> {
    let count = count as usize;
    // SAFETY: the caller's promise.
    let (lengths, disps) =
        unsafe { (array_of_blocklengths.to_vec(count)?, array_of_displacements.to_vec(count)?) };
    let mut types = reserved::<Arc<Datatype>>(count)?;
    for index in 0..count {
        // SAFETY: the caller's promise.
        let datatype = F::datatype_in(unsafe { *array_of_types.add(index) });
        types.push(Arc::clone(cx.datatypes.get(datatype)?));
    }
    let made = Datatype::structure(&lengths, &disps, &types, form(large))?;
    let handle = cx.datatypes.add(made)?;
    // SAFETY: the caller's promise.
    unsafe { *newtype = F::datatype_out(handle) };
    Ok(())
}

/// `MPI_Type_struct`, which MPI-3.0 removed.
///
/// # Safety
/// As for [`type_create_struct`].
pub unsafe fn type_struct<F: Face>(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_blocklengths: *mut c_int,
    array_of_displacements: *mut i64,
    array_of_types: *mut F::Datatype,
    newtype: *mut F::Datatype,
) -> Result<()> {
    let lengths = IntArray::int(array_of_blocklengths);
    let disps = IntArray::wide(array_of_displacements);
    // SAFETY: the caller's promise is the same.
    unsafe { type_create_struct::<F>(cx, count, lengths, disps, array_of_types, newtype, false) }
}

/// `MPI_Type_get_contents`.
///
/// # Safety
/// Each array has as many writable elements as its `max_` parameter says.
#[allow(clippy::too_many_arguments)]
pub unsafe fn type_get_contents<F: Face>(
    cx: &mut Cx<'_>,
    datatype: F::Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut i64,
    array_of_large_counts: IntArrayMut,
    array_of_datatypes: *mut F::Datatype,
) -> Result<()> {
    let datatype = Arc::clone(cx.datatypes.get(F::datatype_in(datatype))?);
    let contents = datatype.contents()?;
    room("max_integers", max_integers, contents.integers.len())?;
    room("max_addresses", max_addresses, contents.addresses.len())?;
    if max_large_counts == 0 && !contents.counts.is_empty() {
        return Err(args::large_counts(contents.counts.len()));
    }
    room("max_large_counts", max_large_counts, contents.counts.len())?;
    room("max_datatypes", max_datatypes, contents.datatypes.len())?;
    let integers = integers::<F>(contents)?;
    let types = handles(cx, contents)?;
    // SAFETY: the caller's promise, and each array has room for what is written to it.
    unsafe {
        for (index, integer) in integers.into_iter().enumerate() {
            *array_of_integers.add(index) = integer;
        }
        for (index, address) in contents.addresses.iter().enumerate() {
            *array_of_addresses.add(index) = *address;
        }
        for (index, count) in contents.counts.iter().enumerate() {
            array_of_large_counts.set(index, *count);
        }
        for (index, handle) in types.into_iter().enumerate() {
            *array_of_datatypes.add(index) = F::datatype_out(handle);
        }
    }
    Ok(())
}

fn room(param: &'static str, max: i64, needed: usize) -> Result<()> {
    if (max as usize) < needed {
        let text = format!("is {max}, but the datatype was made with {needed}");
        return Err(Error::param(ErrorClass::ARG, param, text));
    }
    Ok(())
}

/// Handles for the datatypes in `contents`. Of those made before an error none is left.
fn handles(cx: &mut Cx<'_>, contents: &Contents) -> Result<Vec<DatatypeHandle>> {
    let mut handles = reserved(contents.datatypes.len())?;
    for datatype in &contents.datatypes {
        match cx.datatypes.add(Arc::clone(datatype)) {
            Ok(handle) => handles.push(handle),
            Err(error) => {
                for handle in handles {
                    // A predefined one stays, which is what its refusal says.
                    let _ = cx.datatypes.free(handle);
                }
                return Err(error);
            }
        }
    }
    Ok(handles)
}

/// The integers as the program passed them, where constants differ between faces.
fn integers<F: Face>(contents: &Contents) -> Result<Vec<c_int>> {
    let constants = constants(contents)?;
    let value = |(index, &integer): (usize, &i64)| match constants.get(index) {
        Some(Special::Argument) if integer == DEFAULT_DARG => {
            Ok(default_distribution_argument::<F>())
        }
        Some(Special::Constant(group)) => {
            Ok(F::constant_out(*group, narrow("array_of_integers", integer)?))
        }
        _ => narrow("array_of_integers", integer),
    };
    let mut all = reserved(contents.integers.len())?;
    for integer in contents.integers.iter().enumerate() {
        all.push(value(integer)?);
    }
    Ok(all)
}

/// What an integer among the arguments is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Special {
    /// A number like any other.
    Plain,
    /// A constant.
    Constant(ConstantGroup),
    /// An argument of a distribution.
    Argument,
}

/// What each of the integers in `contents` is, by the tables of §5.1.13; empty when all are plain.
fn constants(contents: &Contents) -> Result<Vec<Special>> {
    let total = contents.integers.len();
    let mut all = listed(std::iter::repeat_n(Special::Plain, total))?;
    let order = Special::Constant(ConstantGroup::Order);
    match contents.combiner {
        Combiner::Subarray => all[total - 1] = order,
        Combiner::Darray => {
            let ndims = contents.integers[2] as usize;
            // The global sizes come before, unless they are large counts.
            let distribs = if contents.counts.is_empty() { 3 + ndims } else { 3 };
            let dargs = distribs + ndims;
            all[distribs..dargs].fill(Special::Constant(ConstantGroup::Distribution));
            all[dargs..dargs + ndims].fill(Special::Argument);
            all[total - 1] = order;
        }
        _ => {}
    }
    Ok(all)
}
