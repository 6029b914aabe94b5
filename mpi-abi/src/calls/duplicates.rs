//! Duplicates of communicators, and their end (MPI-5.0 §7.4.2, §7.4.3).

use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, InfoHandle, RequestHandle};

use super::attributes::{copy_all_of_comm, delete_all_of_comm};
use super::hints::{given, keep};
use crate::cx::Cx;

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
    cx.communicators().free(comm)
}

/// `MPI_Comm_dup`. Hints are not inherited.
pub fn comm_dup(cx: &mut Cx<'_>, comm: CommHandle, newcomm: &mut CommHandle) -> Result<()> {
    let made = cx.communicators().duplicate(comm)?;
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
    let (made, begun) = cx.communicators().begin_duplicate(comm)?;
    if let Err(error) = inherit(cx, comm, made) {
        cx.let_go(begun)?;
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

/// `MPI_Comm_disconnect` (§11.10.4): when all processes have come here, what they sent has been received. Messages that
/// came before the last of them did may still be on their way into the program's memory.
pub fn comm_disconnect(cx: &mut Cx<'_>, comm: &mut CommHandle) -> Result<()> {
    if !comm.is_predefined() {
        cx.communicators().finish(*comm);
        let meeting = cx.calls().barrier(*comm)?;
        cx.collectives().run(&meeting)?;
        cx.communicators().finish(*comm);
    }
    comm_free(cx, comm)
}
