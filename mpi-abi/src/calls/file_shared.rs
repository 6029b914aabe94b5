//! Accesses at the shared file pointer (MPI-5.0 §14.4.4, §14.4.5).

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{DatatypeHandle, FileHandle, RequestHandle};
use mpi_core::io::pending::Split;
use mpi_core::io::transfer::{Memory, Place};
use mpi_core::status::Status;

use crate::entry::Cx;

/// `MPI_File_seek_shared`.
pub fn file_seek_shared(cx: &mut Cx<'_>, fh: FileHandle, offset: i64, whence: i32) -> Result<()> {
    cx.file_seek_shared(fh, offset, whence)
}

/// `MPI_File_get_position_shared`.
pub fn file_get_position_shared(cx: &mut Cx<'_>, fh: FileHandle, offset: &mut i64) -> Result<()> {
    *offset = cx.file_position_shared(fh)?;
    Ok(())
}

/// `MPI_File_read_shared`.
pub fn file_read_shared(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_read(fh, Place::Shared, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_iread_shared`.
pub fn file_iread_shared(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let status = cx.file_read(fh, Place::Shared, Memory { buf, count, datatype })?;
    *request = cx.file_request(fh, status)?;
    Ok(())
}

/// `MPI_File_read_ordered`.
pub fn file_read_ordered(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_read_ordered(fh, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_read_ordered_begin`.
pub fn file_read_ordered_begin(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Result<()> {
    cx.file_check_no_split(fh)?;
    let status = cx.file_read_ordered(fh, Memory { buf, count, datatype })?;
    cx.file_begin(fh, Split::ReadOrdered, status)
}

/// `MPI_File_read_ordered_end`.
pub fn file_read_ordered_end(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    _buf: UserBuffer,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_end(fh, Split::ReadOrdered)?;
    Ok(())
}

/// `MPI_File_write_shared`.
pub fn file_write_shared(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_write(fh, Place::Shared, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_iwrite_shared`.
pub fn file_iwrite_shared(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let status = cx.file_write(fh, Place::Shared, Memory { buf, count, datatype })?;
    *request = cx.file_request(fh, status)?;
    Ok(())
}

/// `MPI_File_write_ordered`.
pub fn file_write_ordered(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_write_ordered(fh, Memory { buf, count, datatype })?;
    Ok(())
}

/// `MPI_File_write_ordered_begin`.
pub fn file_write_ordered_begin(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Result<()> {
    cx.file_check_no_split(fh)?;
    let status = cx.file_write_ordered(fh, Memory { buf, count, datatype })?;
    cx.file_begin(fh, Split::WriteOrdered, status)
}

/// `MPI_File_write_ordered_end`.
pub fn file_write_ordered_end(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    _buf: UserBuffer,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_end(fh, Split::WriteOrdered)?;
    Ok(())
}
