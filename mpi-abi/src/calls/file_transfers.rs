//! Reading and writing files (MPI-5.0 §14.4.2, §14.4.3). A collective access moves each process's
//! data as the independent one does.

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{DatatypeHandle, FileHandle};
use mpi_core::io::transfer::{Memory, Place};
use mpi_core::status::Status;

use crate::entry::Cx;

/// `MPI_File_seek`.
pub fn file_seek(cx: &mut Cx<'_>, fh: FileHandle, offset: i64, whence: i32) -> Result<()> {
    cx.file_mut(fh)?.seek(offset, whence)
}

/// `MPI_File_get_position`.
pub fn file_get_position(cx: &mut Cx<'_>, fh: FileHandle, offset: &mut i64) -> Result<()> {
    *offset = cx.file(fh)?.position()?;
    Ok(())
}

/// `MPI_File_get_byte_offset`.
pub fn file_get_byte_offset(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    disp: &mut i64,
) -> Result<()> {
    *disp = cx.file(fh)?.view.byte_offset(offset)?;
    Ok(())
}

/// `MPI_File_read`.
pub fn file_read(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_read(fh, Place::Pointer, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_read_all`.
pub fn file_read_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_read(fh, Place::Pointer, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_write`.
pub fn file_write(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_write(fh, Place::Pointer, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_write_all`.
pub fn file_write_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_write(fh, Place::Pointer, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_read_at`.
pub fn file_read_at(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_read(fh, Place::At(offset), Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_read_at_all`.
pub fn file_read_at_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_read(fh, Place::At(offset), Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_write_at`.
pub fn file_write_at(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_write(fh, Place::At(offset), Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_write_at_all`.
pub fn file_write_at_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_write(fh, Place::At(offset), Memory { buf, count, datatype })?;
    Ok(())
}
