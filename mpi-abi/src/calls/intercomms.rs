//! Intercommunicators, and communicators made of groups alone (MPI-5.0 §7.4.2, §7.6).

use mpi_core::errhandler::Target;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, ErrhandlerHandle, GroupHandle, InfoHandle};

use super::hints::{given, keep};
use crate::cx::Cx;
use crate::startup;

/// `MPI_Comm_create_from_group`; null for an empty group.
pub fn comm_create_from_group(
    cx: &mut Cx<'_>,
    group: GroupHandle,
    stringtag: &[u8],
    info: InfoHandle,
    errhandler: ErrhandlerHandle,
    newcomm: &mut CommHandle,
) -> Result<()> {
    *newcomm = with_handler(cx, errhandler, |cx| {
        let hints = given(cx, info)?;
        let group = cx.groups.get(group)?.clone();
        if group.size() == 0 {
            return Ok(CommHandle::NULL);
        }
        if group.size() > 1 {
            startup::meet(cx)?;
        }
        let made = cx.communicators().create_from_group(group, stringtag)?;
        keep(cx, made, hints)?;
        Ok(made)
    })?;
    Ok(())
}

/// `MPI_Intercomm_create_from_groups`.
#[allow(clippy::too_many_arguments)]
pub fn intercomm_create_from_groups(
    cx: &mut Cx<'_>,
    local_group: GroupHandle,
    local_leader: i32,
    remote_group: GroupHandle,
    remote_leader: i32,
    stringtag: &[u8],
    info: InfoHandle,
    errhandler: ErrhandlerHandle,
    newintercomm: &mut CommHandle,
) -> Result<()> {
    *newintercomm = with_handler(cx, errhandler, |cx| {
        let hints = given(cx, info)?;
        // With nobody on a side the call is local (§7.6.2). The remote group means something at the leader alone, where
        // a null one is refused.
        let is_empty = |group: GroupHandle| cx.groups.get(group).map(|group| group.size() == 0);
        if is_empty(local_group)? || !remote_group.is_null() && is_empty(remote_group)? {
            return Ok(CommHandle::NULL);
        }
        startup::meet(cx)?;
        let local = (local_group, local_leader);
        let remote = (remote_group, remote_leader);
        let made = cx.communicators().intercomm_from_groups(local, remote, stringtag)?;
        keep(cx, made, hints)?;
        Ok(made)
    })?;
    Ok(())
}

/// Makes a communicator that has this error handler; none is made where the handler does not fit.
fn with_handler(
    cx: &mut Cx<'_>,
    errhandler: ErrhandlerHandle,
    make: impl FnOnce(&mut Cx<'_>) -> Result<CommHandle>,
) -> Result<CommHandle> {
    cx.always.errhandlers.lock().attach(errhandler, Target::Comm)?;
    let made = make(cx);
    let spare = match made {
        Ok(made) if !made.is_null() => {
            std::mem::replace(&mut cx.comm_mut(made)?.errhandler, errhandler)
        }
        _ => errhandler,
    };
    cx.always.errhandlers.lock().release(spare)?;
    made
}
