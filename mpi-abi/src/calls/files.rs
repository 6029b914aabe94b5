//! Files: opening them, what they are, and what a process sees of them (MPI-5.0 §14.2, §14.3).

use mpi_core::error::Result;
use mpi_core::group::Group;
use mpi_core::handle::{CommHandle, DatatypeHandle, FileHandle, GroupHandle, InfoHandle};
use mpi_core::info::Info;
use mpi_core::io::view::View;
use mpi_core::text::Text;

use super::info::check;
use crate::cx::{Cx, Owner};
use crate::failure;

/// `MPI_File_open`. Hints are not used by this library, as a hint may be.
pub fn file_open(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    filename: Result<&[u8]>,
    amode: i32,
    info: InfoHandle,
    fh: &mut FileHandle,
) -> Result<()> {
    let filename = check_info(cx, info).and(filename);
    *fh = cx.files().open(comm, filename, amode, failure::of_files())?;
    Ok(())
}

fn check_info(cx: &Cx<'_>, info: InfoHandle) -> Result<()> {
    if info.is_null() { Ok(()) } else { check(&cx.always, info) }
}

/// `MPI_File_close`.
pub fn file_close(cx: &mut Cx<'_>, fh: &mut FileHandle) -> Result<()> {
    let file = *fh;
    cx.file(file)?;
    *fh = FileHandle::NULL;
    // The handler of the file hears of what fails; then the file is gone all the same.
    cx.owner = Owner::NoFile(file);
    cx.files().close(file)?;
    cx.files().forget(file)
}

/// `MPI_File_delete`.
pub fn file_delete(cx: &mut Cx<'_>, filename: &[u8], info: InfoHandle) -> Result<()> {
    check_info(cx, info)?;
    cx.files().delete(filename)
}

/// `MPI_File_get_size`.
pub fn file_get_size(cx: &mut Cx<'_>, fh: FileHandle, size: &mut i64) -> Result<()> {
    *size = cx.file(fh)?.size()? as i64;
    Ok(())
}

/// `MPI_File_get_group`.
pub fn file_get_group(cx: &mut Cx<'_>, fh: FileHandle, group: &mut GroupHandle) -> Result<()> {
    let comm = cx.file(fh)?.comm;
    let members: Group = cx.comm(comm)?.group.clone();
    *group = cx.new_group(members)?;
    Ok(())
}

/// `MPI_File_get_amode`.
pub fn file_get_amode(cx: &mut Cx<'_>, fh: FileHandle, amode: &mut i32) -> Result<()> {
    *amode = cx.file(fh)?.modes.bits;
    Ok(())
}

/// `MPI_File_set_info`.
pub fn file_set_info(cx: &mut Cx<'_>, fh: FileHandle, info: InfoHandle) -> Result<()> {
    cx.file(fh)?;
    check_info(cx, info)
}

/// `MPI_File_get_info`: the hints in use, of which the program gives none.
pub fn file_get_info(cx: &mut Cx<'_>, fh: FileHandle, info_used: &mut InfoHandle) -> Result<()> {
    let comm = cx.file(fh)?.comm;
    *info_used = super::hints::used_on(cx, comm, Info::new())?;
    Ok(())
}

/// `MPI_File_set_view`.
pub fn file_set_view(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    disp: i64,
    etype: DatatypeHandle,
    filetype: DatatypeHandle,
    datarep: Result<&[u8]>,
    info: InfoHandle,
) -> Result<()> {
    let disp = cx.files().displacement(fh, disp)?;
    let datarep = check_info(cx, info).and(datarep);
    let view = datarep.and_then(|datarep| view(cx, disp, etype, filetype, datarep));
    cx.files().set_view(fh, view)
}

fn view(
    cx: &Cx<'_>,
    disp: i64,
    etype: DatatypeHandle,
    filetype: DatatypeHandle,
    datarep: &[u8],
) -> Result<View> {
    View::new(disp, cx.datatypes.committed(etype)?, cx.datatypes.committed(filetype)?, datarep)
}

/// `MPI_File_get_view`: derived datatypes come as handles that the program frees.
pub fn file_get_view(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    disp: &mut i64,
    etype: &mut DatatypeHandle,
    filetype: &mut DatatypeHandle,
    datarep: &mut Text,
) -> Result<()> {
    let view = cx.file(fh)?.view.clone();
    *disp = view.displacement;
    *etype = cx.datatypes.add(view.etype)?;
    *filetype = cx.datatypes.add(view.filetype)?;
    *datarep = view.datarep.name().into();
    Ok(())
}

/// `MPI_File_get_type_extent` (§14.5.1).
pub fn file_get_type_extent(
    cx: &mut Cx<'_>,
    fh: FileHandle,
    datatype: DatatypeHandle,
    extent: &mut i64,
) -> Result<()> {
    *extent = cx.file(fh)?.view.extent_of(cx.datatypes.get(datatype)?)?;
    Ok(())
}

/// `MPI_File_get_atomicity`.
pub fn file_get_atomicity(cx: &mut Cx<'_>, fh: FileHandle, flag: &mut bool) -> Result<()> {
    *flag = cx.file(fh)?.atomic;
    Ok(())
}
