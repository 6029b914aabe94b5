//! Packing and unpacking (MPI-5.0 §5.2, §5.3).

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::pack::{self as packs, PackBuffer};
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle};

use crate::cx::Cx;

/// `MPI_Pack`.
#[allow(clippy::too_many_arguments)]
pub fn pack(
    cx: &mut Cx<'_>,
    inbuf: UserBuffer,
    incount: i64,
    datatype: DatatypeHandle,
    outbuf: UserBuffer,
    outsize: i64,
    position: &mut i64,
    comm: CommHandle,
) -> Result<()> {
    cx.comm(comm)?;
    let datatype = cx.datatypes.committed(datatype)?;
    let to = PackBuffer { at: outbuf, size: outsize, position: *position };
    // SAFETY: by the standard `inbuf` has the elements and `outbuf` has `outsize` bytes apart.
    *position = unsafe { packs::pack(inbuf, incount, datatype, to)? };
    Ok(())
}

/// `MPI_Unpack`.
#[allow(clippy::too_many_arguments)]
pub fn unpack(
    cx: &mut Cx<'_>,
    inbuf: UserBuffer,
    insize: i64,
    position: &mut i64,
    outbuf: UserBuffer,
    outcount: i64,
    datatype: DatatypeHandle,
    comm: CommHandle,
) -> Result<()> {
    cx.comm(comm)?;
    let datatype = cx.datatypes.committed(datatype)?;
    let from = PackBuffer { at: inbuf, size: insize, position: *position };
    // SAFETY: by the standard `outbuf` has the elements and `inbuf` has `insize` bytes apart.
    *position = unsafe { packs::unpack(from, outbuf, outcount, datatype)? };
    Ok(())
}

/// `MPI_Pack_size`.
pub fn pack_size(
    cx: &mut Cx<'_>,
    incount: i64,
    datatype: DatatypeHandle,
    comm: CommHandle,
    size: &mut i64,
) -> Result<()> {
    cx.comm(comm)?;
    *size = packs::pack_size(incount, cx.datatypes.get(datatype)?)?;
    Ok(())
}

/// `MPI_Pack_external`.
#[allow(clippy::too_many_arguments)]
pub fn pack_external(
    cx: &mut Cx<'_>,
    datarep: &[u8],
    inbuf: UserBuffer,
    incount: i64,
    datatype: DatatypeHandle,
    outbuf: UserBuffer,
    outsize: i64,
    position: &mut i64,
) -> Result<()> {
    packs::check_representation(datarep)?;
    let datatype = cx.datatypes.committed(datatype)?;
    let to = PackBuffer { at: outbuf, size: outsize, position: *position };
    // SAFETY: by the standard `inbuf` has the elements and `outbuf` has `outsize` bytes apart.
    *position = unsafe { packs::pack_external(inbuf, incount, datatype, to)? };
    Ok(())
}

/// `MPI_Unpack_external`.
#[allow(clippy::too_many_arguments)]
pub fn unpack_external(
    cx: &mut Cx<'_>,
    datarep: &[u8],
    inbuf: UserBuffer,
    insize: i64,
    position: &mut i64,
    outbuf: UserBuffer,
    outcount: i64,
    datatype: DatatypeHandle,
) -> Result<()> {
    packs::check_representation(datarep)?;
    let datatype = cx.datatypes.committed(datatype)?;
    let from = PackBuffer { at: inbuf, size: insize, position: *position };
    // SAFETY: by the standard `outbuf` has the elements and `inbuf` has `insize` bytes apart.
    *position = unsafe { packs::unpack_external(from, outbuf, outcount, datatype)? };
    Ok(())
}

/// `MPI_Pack_external_size`.
pub fn pack_external_size(
    cx: &mut Cx<'_>,
    datarep: &[u8],
    incount: i64,
    datatype: DatatypeHandle,
    size: &mut i64,
) -> Result<()> {
    packs::check_representation(datarep)?;
    *size = packs::pack_external_size(incount, cx.datatypes.get(datatype)?)?;
    Ok(())
}
