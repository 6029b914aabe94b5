//! Hints of communicators (MPI-5.0 §7.4.4): what a program promises about its use of them, and
//! which kinds of memory it may use. Promises are kept and told back; none is needed here.

use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, InfoHandle};
use mpi_core::info::Info;
use mpi_core::text::Text;

use super::info::copied;
use crate::cx::Cx;
use crate::memory_kinds;

/// The promises.
const ASSERTIONS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

/// The hints of an info argument that are understood; none of `MPI_INFO_NULL`.
pub(crate) fn given(cx: &Cx<'_>, info: InfoHandle) -> Result<Info> {
    let mut understood = Info::new();
    if info.is_null() {
        return Ok(understood);
    }
    let info = copied(&cx.always, info)?;
    for key in ASSERTIONS {
        if let Some(value) = info.hint_bool(key) {
            understood.set(key, if value { "true" } else { "false" })?;
        }
    }
    if let Some(kinds) =
        info.hint(memory_kinds::PROMISE).filter(|kinds| memory_kinds::all_served(kinds))
    {
        understood.set(memory_kinds::PROMISE, kinds)?;
    }
    Ok(understood)
}

/// Adds to the hints of a communicator.
pub(crate) fn keep(cx: &mut Cx<'_>, comm: CommHandle, hints: Info) -> Result<()> {
    let kept = cx.comm(comm)?.info;
    if kept.is_null() {
        let kept = cx.always.infos.lock().insert(hints)?;
        cx.comm_mut(comm)?.info = kept;
        return Ok(());
    }
    let mut infos = cx.always.infos.lock();
    let kept = infos.get_mut(kept)?;
    hints.iter().try_for_each(|(key, value)| kept.set(key, value))
}

/// `MPI_Comm_set_info`.
pub fn comm_set_info(cx: &mut Cx<'_>, comm: CommHandle, info: InfoHandle) -> Result<()> {
    let hints = given(cx, info)?;
    keep(cx, comm, hints)
}

/// `MPI_Comm_get_info`: the hints in use, in an info object of the program's own; promises that nobody made, too, as
/// all hints that have a default value.
pub fn comm_get_info(cx: &mut Cx<'_>, comm: CommHandle, info_used: &mut InfoHandle) -> Result<()> {
    let kept = cx.comm(comm)?.info;
    let mut used = Info::new();
    // One whose name the program has no room for it could not ask for.
    let room = cx.face.limits.info_key;
    let known = ASSERTIONS.iter().filter(|key| key.len() < room);
    known.into_iter().try_for_each(|key| used.set(key, "false"))?;
    if !kept.is_null() {
        let infos = cx.always.infos.lock();
        infos.get(kept)?.iter().try_for_each(|(key, value)| used.set(key, value))?;
    }
    *info_used = used_on(cx, comm, used)?;
    Ok(())
}

/// A handle for the hints `used` on an object over `comm`, with the kinds of memory that are
/// served where the program asked (§12.4.3).
pub(crate) fn used_on(cx: &mut Cx<'_>, comm: CommHandle, mut used: Info) -> Result<InfoHandle> {
    let session = cx.comm(comm)?.session;
    let kinds = match session.is_null() {
        true => memory_kinds::of_world().map(Text::from),
        false => cx.session(session)?.hints.get(memory_kinds::KEY).cloned(),
    };
    if let Some(kinds) = kinds {
        used.set(memory_kinds::KEY, kinds)?;
    }
    cx.always.infos.lock().insert(used)
}
