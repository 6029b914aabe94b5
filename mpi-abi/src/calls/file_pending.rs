//! Nonblocking and split accesses of files (MPI-5.0 §14.4.2, §14.4.3, §14.4.5).

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{DatatypeHandle, FileHandle, RequestHandle};
use mpi_core::io::pending::Split;
use mpi_core::io::transfer::{Memory, Place};
use mpi_core::status::Status;

use crate::entry::Cx;

/// `MPI_File_iread`.
#[allow(clippy::too_many_arguments)]
pub fn file_iread(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let status = cx.file_read(fh, Place::Pointer, Memory { buf, count, datatype })?;
    *request = cx.file_request(fh, status)?;
    Ok(())
}

/// `MPI_File_iread_all`.
#[allow(clippy::too_many_arguments)]
pub fn file_iread_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    file_iread(cx, fh, buf, count, datatype, request)
}

/// `MPI_File_iread_at`.
#[allow(clippy::too_many_arguments)]
pub fn file_iread_at(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let status = cx.file_read(fh, Place::At(offset), Memory { buf, count, datatype })?;
    *request = cx.file_request(fh, status)?;
    Ok(())
}

/// `MPI_File_iread_at_all`.
#[allow(clippy::too_many_arguments)]
pub fn file_iread_at_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    file_iread_at(cx, fh, offset, buf, count, datatype, request)
}

/// `MPI_File_read_all_begin`.
pub fn file_read_all_begin(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Result<()> {
    cx.file_check_no_split(fh)?;
    let status = cx.file_read(fh, Place::Pointer, Memory { buf, count, datatype })?;
    cx.file_begin(fh, Split::ReadAll, status)
}

/// `MPI_File_read_all_end`.
pub fn file_read_all_end(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    _buf: UserBuffer,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_end(fh, Split::ReadAll)?;
    Ok(())
}

/// `MPI_File_read_at_all_begin`.
pub fn file_read_at_all_begin(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Result<()> {
    cx.file_check_no_split(fh)?;
    let status = cx.file_read(fh, Place::At(offset), Memory { buf, count, datatype })?;
    cx.file_begin(fh, Split::ReadAtAll, status)
}

/// `MPI_File_read_at_all_end`.
pub fn file_read_at_all_end(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    _buf: UserBuffer,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_end(fh, Split::ReadAtAll)?;
    Ok(())
}

/// `MPI_File_iwrite`.
#[allow(clippy::too_many_arguments)]
pub fn file_iwrite(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let status = cx.file_write(fh, Place::Pointer, Memory { buf, count, datatype })?;
    *request = cx.file_request(fh, status)?;
    Ok(())
}

/// `MPI_File_iwrite_all`.
#[allow(clippy::too_many_arguments)]
pub fn file_iwrite_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    file_iwrite(cx, fh, buf, count, datatype, request)
}

/// `MPI_File_iwrite_at`.
#[allow(clippy::too_many_arguments)]
pub fn file_iwrite_at(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let status = cx.file_write(fh, Place::At(offset), Memory { buf, count, datatype })?;
    *request = cx.file_request(fh, status)?;
    Ok(())
}

/// `MPI_File_iwrite_at_all`.
#[allow(clippy::too_many_arguments)]
pub fn file_iwrite_at_all(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    file_iwrite_at(cx, fh, offset, buf, count, datatype, request)
}

/// `MPI_File_write_all_begin`.
pub fn file_write_all_begin(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Result<()> {
    cx.file_check_no_split(fh)?;
    let status = cx.file_write(fh, Place::Pointer, Memory { buf, count, datatype })?;
    cx.file_begin(fh, Split::WriteAll, status)
}

/// `MPI_File_write_all_end`.
pub fn file_write_all_end(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    _buf: UserBuffer,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_end(fh, Split::WriteAll)?;
    Ok(())
}

/// `MPI_File_write_at_all_begin`.
pub fn file_write_at_all_begin(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Result<()> {
    cx.file_check_no_split(fh)?;
    let status = cx.file_write(fh, Place::At(offset), Memory { buf, count, datatype })?;
    cx.file_begin(fh, Split::WriteAtAll, status)
}

/// `MPI_File_write_at_all_end`.
pub fn file_write_at_all_end(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    _buf: UserBuffer,
    status: &mut Status,
) -> Result<()> {
    *status = cx.file_end(fh, Split::WriteAtAll)?;
    Ok(())
}
