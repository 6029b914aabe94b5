//! Accesses of files (MPI-5.0 §14.4.2 to §14.4.5): each function here describes one, for all
//! procedures that make it; and the pointers that they move.

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{DatatypeHandle, FileHandle};
use mpi_core::io::transfer::{Access, Memory, Place, Way};

use crate::cx::Cx;

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

/// Reading at the individual file pointer.
pub fn file_read(fh: FileHandle, buf: UserBuffer, count: i64, datatype: DatatypeHandle) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Read, place: Place::Pointer, memory }
}

/// Reading at an offset.
pub fn file_read_at(
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Read, place: Place::At(offset), memory }
}

/// Reading at the shared file pointer.
pub fn file_read_shared(
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Read, place: Place::Shared, memory }
}

/// Reading at the shared file pointer, in the order of ranks.
pub fn file_read_ordered(
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Read, place: Place::Ordered, memory }
}

/// Writing at the individual file pointer.
pub fn file_write(fh: FileHandle, buf: UserBuffer, count: i64, datatype: DatatypeHandle) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Write, place: Place::Pointer, memory }
}

/// Writing at an offset.
pub fn file_write_at(
    fh: FileHandle,
    offset: i64,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Write, place: Place::At(offset), memory }
}

/// Writing at the shared file pointer.
pub fn file_write_shared(
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Write, place: Place::Shared, memory }
}

/// Writing at the shared file pointer, in the order of ranks.
pub fn file_write_ordered(
    fh: FileHandle,
    buf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
) -> Access {
    let memory = Memory { buf, count, datatype };
    Access { fh, way: Way::Write, place: Place::Ordered, memory }
}
