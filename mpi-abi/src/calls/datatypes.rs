//! Constructors of datatypes (MPI-5.0 §5.1.2 to §5.1.4, §5.1.7 to §5.1.11, §6.9.4, §19.1.9), and
//! the ones of MPI-1 that MPI-3.0 removed. Those over arrays of datatypes are in `raw`.
//!
//! Each takes whether its `_c` form was called, since a datatype remembers that (§5.1.13).

use std::sync::Arc;

use mpi_core::datatype::{DEFAULT_DARG, Darray, Datatype, Form, Subarray};
use mpi_core::error::Result;
use mpi_core::handle::DatatypeHandle;
use mpi_core::lists::listed;

use crate::args::{DEFAULT_DISTRIBUTION_ARGUMENT, IntArray};
use crate::calls::attribute_objects::Object;
use crate::calls::attributes::{copy_all, delete_all};
use crate::cx::Cx;

/// Which form of a constructor was called.
pub(crate) fn form(large: bool) -> Form {
    if large { Form::Large } else { Form::Int }
}

/// The datatype that a constructor starts from, kept while the process changes.
fn old(cx: &Cx<'_>, oldtype: DatatypeHandle) -> Result<Arc<Datatype>> {
    cx.datatypes.get(oldtype).map(Arc::clone)
}

/// The program's array of `count` elements.
fn list(array: IntArray, count: i64) -> Result<Vec<i64>> {
    // SAFETY: by the standard the array has that many elements; the glue refuses a negative count
    // and a null pointer where there are elements.
    unsafe { array.to_vec(count as usize) }
}

/// `MPI_Type_contiguous`.
pub fn type_contiguous(
    cx: &mut Cx<'_>,
    count: i64,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let made = Datatype::contiguous(count, cx.datatypes.get(oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_vector`.
pub fn type_vector(
    cx: &mut Cx<'_>,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let made = Datatype::vector(count, blocklength, stride, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_create_hvector`.
pub fn type_create_hvector(
    cx: &mut Cx<'_>,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let made = Datatype::hvector(count, blocklength, stride, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_hvector`, which MPI-3.0 removed.
pub fn type_hvector(
    cx: &mut Cx<'_>,
    count: i64,
    blocklength: i32,
    stride: i64,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
) -> Result<()> {
    type_create_hvector(cx, count, i64::from(blocklength), stride, oldtype, newtype, false)
}

/// `MPI_Type_indexed`.
pub fn type_indexed(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let (lengths, disps) =
        (list(array_of_blocklengths, count)?, list(array_of_displacements, count)?);
    let made = Datatype::indexed(&lengths, &disps, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_create_hindexed`.
pub fn type_create_hindexed(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let (lengths, disps) =
        (list(array_of_blocklengths, count)?, list(array_of_displacements, count)?);
    let made = Datatype::hindexed(&lengths, &disps, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_hindexed`, which MPI-3.0 removed.
pub fn type_hindexed(
    cx: &mut Cx<'_>,
    count: i64,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
) -> Result<()> {
    let (lengths, disps) = (array_of_blocklengths, array_of_displacements);
    type_create_hindexed(cx, count, lengths, disps, oldtype, newtype, false)
}

/// `MPI_Type_create_indexed_block`.
pub fn type_create_indexed_block(
    cx: &mut Cx<'_>,
    count: i64,
    blocklength: i64,
    array_of_displacements: IntArray,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let disps = list(array_of_displacements, count)?;
    let made = Datatype::indexed_block(blocklength, &disps, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_create_hindexed_block`.
pub fn type_create_hindexed_block(
    cx: &mut Cx<'_>,
    count: i64,
    blocklength: i64,
    array_of_displacements: IntArray,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let disps = list(array_of_displacements, count)?;
    let made = Datatype::hindexed_block(blocklength, &disps, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_create_subarray`.
#[allow(clippy::too_many_arguments)]
pub fn type_create_subarray(
    cx: &mut Cx<'_>,
    ndims: i64,
    array_of_sizes: IntArray,
    array_of_subsizes: IntArray,
    array_of_starts: IntArray,
    order: i32,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let part = Subarray {
        sizes: &list(array_of_sizes, ndims)?,
        subsizes: &list(array_of_subsizes, ndims)?,
        starts: &list(array_of_starts, ndims)?,
        order: i64::from(order),
    };
    let made = Datatype::subarray(part, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_create_darray`.
#[allow(clippy::too_many_arguments)]
pub fn type_create_darray(
    cx: &mut Cx<'_>,
    size: i32,
    rank: i32,
    ndims: i64,
    array_of_gsizes: IntArray,
    array_of_distribs: &[i32],
    array_of_dargs: &[i32],
    array_of_psizes: IntArray,
    order: i32,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let darg = |&darg: &i32| match darg {
        DEFAULT_DISTRIBUTION_ARGUMENT => DEFAULT_DARG,
        darg => i64::from(darg),
    };
    let part = Darray {
        size: i64::from(size),
        rank: i64::from(rank),
        gsizes: &list(array_of_gsizes, ndims)?,
        distribs: &listed(array_of_distribs.iter().map(|&kind| i64::from(kind)))?,
        dargs: &listed(array_of_dargs.iter().map(darg))?,
        psizes: &list(array_of_psizes, ndims)?,
        order: i64::from(order),
    };
    let made = Datatype::darray(part, &old(cx, oldtype)?, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_create_resized`.
pub fn type_create_resized(
    cx: &mut Cx<'_>,
    oldtype: DatatypeHandle,
    lb: i64,
    extent: i64,
    newtype: &mut DatatypeHandle,
    large: bool,
) -> Result<()> {
    let made = Datatype::resized(cx.datatypes.get(oldtype)?, lb, extent, form(large))?;
    *newtype = cx.datatypes.add(made)?;
    Ok(())
}

/// `MPI_Type_dup`.
pub fn type_dup(
    cx: &mut Cx<'_>,
    oldtype: DatatypeHandle,
    newtype: &mut DatatypeHandle,
) -> Result<()> {
    let made = Datatype::dup(cx.datatypes.get(oldtype)?)?;
    let made = cx.datatypes.add(made)?;
    if let Err(error) = copy_all(cx, Object::Datatype(oldtype), Object::Datatype(made)) {
        delete_all(cx, Object::Datatype(made))?;
        cx.datatypes.free(made)?;
        return Err(error);
    }
    *newtype = made;
    Ok(())
}

/// `MPI_Type_create_f90_real`.
pub fn type_create_f90_real(
    cx: &mut Cx<'_>,
    p: i32,
    r: i32,
    newtype: &mut DatatypeHandle,
) -> Result<()> {
    *newtype = cx.datatypes.add(Datatype::f90_real(i64::from(p), i64::from(r))?)?;
    Ok(())
}

/// `MPI_Type_create_f90_complex`.
pub fn type_create_f90_complex(
    cx: &mut Cx<'_>,
    p: i32,
    r: i32,
    newtype: &mut DatatypeHandle,
) -> Result<()> {
    *newtype = cx.datatypes.add(Datatype::f90_complex(i64::from(p), i64::from(r))?)?;
    Ok(())
}

/// `MPI_Type_create_f90_integer`.
pub fn type_create_f90_integer(
    cx: &mut Cx<'_>,
    r: i32,
    newtype: &mut DatatypeHandle,
) -> Result<()> {
    *newtype = cx.datatypes.add(Datatype::f90_integer(i64::from(r))?)?;
    Ok(())
}

/// `MPI_Type_match_size`.
pub fn type_match_size(
    cx: &mut Cx<'_>,
    typeclass: i32,
    size: i32,
    datatype: &mut DatatypeHandle,
) -> Result<()> {
    let found = Datatype::match_size(i64::from(typeclass), i64::from(size))?;
    *datatype = cx.datatypes.add(Arc::clone(found))?;
    Ok(())
}

/// `MPI_Type_get_value_index`: null where the reductions do not support such pairs.
pub fn type_get_value_index(
    cx: &mut Cx<'_>,
    value_type: DatatypeHandle,
    index_type: DatatypeHandle,
    pair_type: &mut DatatypeHandle,
) -> Result<()> {
    let pair = Datatype::value_index(cx.datatypes.get(value_type)?, cx.datatypes.get(index_type)?)?;
    *pair_type = match pair {
        Some(pair) => cx.datatypes.add(pair)?,
        None => DatatypeHandle::NULL,
    };
    Ok(())
}
