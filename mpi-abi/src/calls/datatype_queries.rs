//! What a datatype is, whether it may be communicated, and its end (MPI-5.0 §5.1.5 to §5.1.9,
//! §5.1.13, §7.8).

use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::DatatypeHandle;
use mpi_core::text::Text;

use crate::calls::attribute_objects::Object;
use crate::calls::attributes::delete_all;
use crate::cx::Cx;

/// `MPI_Type_commit`.
pub fn type_commit(cx: &mut Cx<'_>, datatype: &mut DatatypeHandle) -> Result<()> {
    cx.datatypes.get(*datatype)?.commit();
    Ok(())
}

/// `MPI_Type_free`.
pub fn type_free(cx: &mut Cx<'_>, datatype: &mut DatatypeHandle) -> Result<()> {
    if !cx.datatypes.get(*datatype)?.is_predefined() {
        delete_all(cx, Object::Datatype(*datatype))?;
    }
    cx.datatypes.free(*datatype)?;
    *datatype = DatatypeHandle::NULL;
    Ok(())
}

/// `MPI_Type_size`.
pub fn type_size(cx: &mut Cx<'_>, datatype: DatatypeHandle, size: &mut i64) -> Result<()> {
    let bytes = cx.datatypes.get(datatype)?.size();
    *size = i64::try_from(bytes).map_err(|_| {
        let text = format!("has {bytes} bytes of data, beyond an MPI_Count");
        Error::param(ErrorClass::TYPE, "datatype", text)
    })?;
    Ok(())
}

/// `MPI_Type_get_extent`.
pub fn type_get_extent(
    cx: &mut Cx<'_>,
    datatype: DatatypeHandle,
    lb: &mut i64,
    extent: &mut i64,
) -> Result<()> {
    let datatype = cx.datatypes.get(datatype)?;
    (*lb, *extent) = (datatype.lb(), datatype.extent());
    Ok(())
}

/// `MPI_Type_get_true_extent`.
pub fn type_get_true_extent(
    cx: &mut Cx<'_>,
    datatype: DatatypeHandle,
    true_lb: &mut i64,
    true_extent: &mut i64,
) -> Result<()> {
    let datatype = cx.datatypes.get(datatype)?;
    (*true_lb, *true_extent) = (datatype.true_lb(), datatype.true_extent());
    Ok(())
}

/// `MPI_Type_extent`, which MPI-3.0 removed.
pub fn type_extent(cx: &mut Cx<'_>, datatype: DatatypeHandle, extent: &mut i64) -> Result<()> {
    *extent = cx.datatypes.get(datatype)?.extent();
    Ok(())
}

/// `MPI_Type_lb`, which MPI-3.0 removed.
pub fn type_lb(cx: &mut Cx<'_>, datatype: DatatypeHandle, displacement: &mut i64) -> Result<()> {
    *displacement = cx.datatypes.get(datatype)?.lb();
    Ok(())
}

/// `MPI_Type_ub`, which MPI-3.0 removed.
pub fn type_ub(cx: &mut Cx<'_>, datatype: DatatypeHandle, displacement: &mut i64) -> Result<()> {
    *displacement = cx.datatypes.get(datatype)?.ub();
    Ok(())
}

/// `MPI_Type_get_envelope`.
pub fn type_get_envelope(
    cx: &mut Cx<'_>,
    datatype: DatatypeHandle,
    num_integers: &mut i64,
    num_addresses: &mut i64,
    num_large_counts: &mut i64,
    num_datatypes: &mut i64,
    combiner: &mut i32,
) -> Result<()> {
    let envelope = cx.datatypes.get(datatype)?.envelope();
    *num_integers = envelope.integers as i64;
    *num_addresses = envelope.addresses as i64;
    *num_large_counts = envelope.counts as i64;
    *num_datatypes = envelope.datatypes as i64;
    *combiner = envelope.combiner as i32;
    Ok(())
}

/// `MPI_Type_get_name`.
pub fn type_get_name(
    cx: &mut Cx<'_>,
    datatype: DatatypeHandle,
    type_name: &mut Text,
) -> Result<()> {
    *type_name = cx.datatypes.name(datatype)?.into();
    Ok(())
}

/// `MPI_Type_set_name`.
pub fn type_set_name(cx: &mut Cx<'_>, datatype: DatatypeHandle, type_name: &[u8]) -> Result<()> {
    let name = Text::within(type_name, cx.face.limits.object_name - 1);
    cx.datatypes.set_name(datatype, name)
}
