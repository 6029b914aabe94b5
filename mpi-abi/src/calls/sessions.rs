//! Sessions and their process sets (MPI-5.0 §11.3).

use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{ErrhandlerHandle, GroupHandle, InfoHandle, SessionHandle};
use mpi_core::info::Info;
use mpi_core::session::{PROCESS_SETS, nth_process_set};
use mpi_core::text::{Text, shown};

use super::info::copied;
use crate::cx::{Cx, Owner};
use crate::memory_kinds;
use crate::startup;

/// `MPI_Session_init`. Does not wait for other processes: that is left to who first makes a
/// communicator of several.
pub fn session_init(
    cx: &mut Cx<'_>,
    info: InfoHandle,
    errhandler: ErrhandlerHandle,
    session: &mut SessionHandle,
) -> Result<()> {
    let made = cx.new_session(errhandler)?;
    // Errors of this call go to the handler that it was given, and the session with them.
    cx.owner = Owner::NoSession(made);
    let asked = if info.is_null() { Info::new() } else { copied(&cx.always, info)? };
    let level = thread_level(&asked)?;
    cx.session_mut(made)?.hints = hints(&asked, level)?;
    startup::begin_session(cx)?;
    *session = made;
    Ok(())
}

/// The level of thread support that is asked for; the lowest if none is (§11.3.1).
fn thread_level(asked: &Info) -> Result<i32> {
    let Some(wanted) = asked.hint("thread_level").map(str::trim) else { return Ok(0) };
    if let Some((_, level)) = startup::THREAD_LEVELS.iter().find(|(name, _)| *name == wanted) {
        return Ok(*level);
    }
    let names = startup::THREAD_LEVELS.map(|(name, _)| name).join(", ");
    let what =
        format!("has \"thread_level\" with the value \"{wanted}\", which is none of {names}");
    Err(Error::param(ErrorClass::INFO_VALUE, "info", what))
}

/// What is granted of what a program asked for, among it this thread level.
fn hints(asked: &Info, thread_level: i32) -> Result<Info> {
    let mut granted = Info::new();
    granted.set("thread_level", startup::session_level(thread_level))?;
    if let Some(kinds) = asked.hint(memory_kinds::KEY) {
        granted.set(memory_kinds::KEY, memory_kinds::granted(kinds))?;
    }
    Ok(granted)
}

/// `MPI_Session_finalize`: what was sent by means of the session has left.
pub fn session_finalize(cx: &mut Cx<'_>, session: &mut SessionHandle) -> Result<()> {
    cx.session(*session)?;
    startup::end_session(cx, *session)?;
    *session = SessionHandle::NULL;
    Ok(())
}

/// `MPI_Session_get_info`.
pub fn session_get_info(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    info_used: &mut InfoHandle,
) -> Result<()> {
    let hints = cx.session(session)?.hints.clone();
    *info_used = cx.always.infos.lock().insert(hints)?;
    Ok(())
}

/// `MPI_Session_get_num_psets`. No hint is of use.
pub fn session_get_num_psets(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    _info: InfoHandle,
    npset_names: &mut i64,
) -> Result<()> {
    cx.session(session)?;
    *npset_names = PROCESS_SETS.len() as i64;
    Ok(())
}

/// `MPI_Session_get_nth_pset`. No hint is of use.
pub fn session_get_nth_pset(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    _info: InfoHandle,
    n: i32,
    pset_name: &mut Text,
) -> Result<()> {
    cx.session(session)?;
    *pset_name = nth_process_set(n)?.into();
    Ok(())
}

/// `MPI_Session_get_pset_info`: the number of its processes (§11.3.2).
pub fn session_get_pset_info(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    pset_name: &[u8],
    info: &mut InfoHandle,
) -> Result<()> {
    cx.session(session)?;
    let Some(set) = cx.process_set(session, pset_name) else {
        let pset_name = shown(pset_name);
        mpi_core::fail!(ARG, "pset_name", "is \"{pset_name}\", which is no process set");
    };
    let mut about = Info::new();
    about.set("mpi_size", set.size().to_string())?;
    *info = cx.always.infos.lock().insert(about)?;
    Ok(())
}

/// `MPI_Group_from_session_pset`: null for a set that there is not (§7.3.2).
pub fn group_from_session_pset(
    cx: &mut Cx<'_>,
    session: SessionHandle,
    pset_name: &[u8],
    newgroup: &mut GroupHandle,
) -> Result<()> {
    cx.session(session)?;
    *newgroup = match cx.process_set(session, pset_name) {
        Some(set) => cx.new_group(set)?,
        None => GroupHandle::NULL,
    };
    Ok(())
}
