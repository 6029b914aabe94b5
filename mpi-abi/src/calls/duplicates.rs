//! Duplicates of communicators, their hints, and their end (MPI-5.0 §7.4.2 to §7.4.4).

use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, InfoHandle, RequestHandle};
use mpi_core::info::Info;

use super::attributes::{copy_all_of_comm, delete_all_of_comm};
use super::info::look;
use crate::entry::Cx;

/// Hints that are kept and told back: what the program promises about its messages (§7.4.4).
const ASSERTIONS: [&str; 4] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
];

/// Copies attributes to a new communicator; if that fails, it goes again.
fn inherit(cx: &mut Cx<'_>, comm: CommHandle, made: CommHandle) -> Result<()> {
    let copied = copy_all_of_comm(cx, comm, made);
    if copied.is_err() {
        release(cx, made)?;
    }
    copied
}

/// Deletes the attributes of a communicator, then the communicator.
fn release(cx: &mut Cx<'_>, comm: CommHandle) -> Result<()> {
    if !comm.is_predefined() {
        delete_all_of_comm(cx, comm)?;
    }
    cx.comm_free(comm)
}

/// `MPI_Comm_dup`. Hints are not inherited.
pub fn comm_dup(cx: &mut Cx<'_>, comm: CommHandle, newcomm: &mut CommHandle) -> Result<()> {
    let made = cx.comm_clone(comm)?;
    inherit(cx, comm, made)?;
    *newcomm = made;
    Ok(())
}

/// `MPI_Comm_dup_with_info`.
pub fn comm_dup_with_info(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    info: InfoHandle,
    newcomm: &mut CommHandle,
) -> Result<()> {
    let hints = given(cx, info)?;
    comm_dup(cx, comm, newcomm)?;
    keep(cx, *newcomm, hints)
}

/// `MPI_Comm_idup`.
pub fn comm_idup(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    newcomm: &mut CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let (made, begun) = cx.comm_iclone(comm)?;
    if let Err(error) = inherit(cx, comm, made) {
        cx.free_request(begun)?;
        return Err(error);
    }
    (*newcomm, *request) = (made, begun);
    Ok(())
}

/// `MPI_Comm_idup_with_info`.
pub fn comm_idup_with_info(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    info: InfoHandle,
    newcomm: &mut CommHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let hints = given(cx, info)?;
    comm_idup(cx, comm, newcomm, request)?;
    keep(cx, *newcomm, hints)
}

/// `MPI_Comm_free`.
pub fn comm_free(cx: &mut Cx<'_>, comm: &mut CommHandle) -> Result<()> {
    release(cx, *comm)?;
    *comm = CommHandle::NULL;
    Ok(())
}

/// `MPI_Comm_disconnect` (§11.10.4): when all processes have come here, none has anything more
/// to send on the communicator, and what it sent before is on its way.
pub fn comm_disconnect(cx: &mut Cx<'_>, comm: &mut CommHandle) -> Result<()> {
    if !comm.is_predefined() {
        let meeting = cx.barrier(*comm)?;
        cx.run(meeting)?;
    }
    comm_free(cx, comm)
}

/// The hints of an info argument that are understood; none of `MPI_INFO_NULL`.
fn given(cx: &Cx<'_>, info: InfoHandle) -> Result<Info> {
    let mut understood = Info::new();
    if !info.is_null() {
        let info = look(cx, info)?;
        for key in ASSERTIONS {
            if let Some(value) = info.hint_bool(key) {
                understood.set(key, if value { "true" } else { "false" })?;
            }
        }
    }
    Ok(understood)
}

/// Adds to the hints of a communicator.
fn keep(cx: &mut Cx<'_>, comm: CommHandle, hints: Info) -> Result<()> {
    let kept = cx.comm(comm)?.info;
    if kept.is_null() {
        let kept = cx.infos.insert(hints)?;
        cx.comm_mut(comm)?.info = kept;
        return Ok(());
    }
    let kept = cx.infos.get_mut(kept)?;
    hints.iter().try_for_each(|(key, value)| kept.set(key, value))
}

/// `MPI_Comm_set_info`.
pub fn comm_set_info(cx: &mut Cx<'_>, comm: CommHandle, info: InfoHandle) -> Result<()> {
    let hints = given(cx, info)?;
    keep(cx, comm, hints)
}

/// `MPI_Comm_get_info`: the hints in use, in an info object of the program's own.
pub fn comm_get_info(cx: &mut Cx<'_>, comm: CommHandle, info_used: &mut InfoHandle) -> Result<()> {
    let kept = cx.comm(comm)?.info;
    let copy = if kept.is_null() { Info::new() } else { cx.infos.get(kept)?.clone() };
    *info_used = cx.infos.insert(copy)?;
    Ok(())
}
