//! Info objects (MPI-5.0 chapter 10), and `MPI_INFO_ENV` (§11.2.1).

use std::os::unix::ffi::OsStringExt;

use launch_wire::{Start, judge};
use mpi_core::always::Always;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::InfoHandle;
use mpi_core::info::Info;
use mpi_core::text::Text;

use crate::cx::AlwaysCx;
use crate::library;
use crate::memory_kinds;

/// `MPI_INFO_ENV`.
const ENVIRONMENT: u32 = 0x131;

/// What `MPI_INFO_ENV` says: how this process was started, as far as it can know.
pub(crate) fn environment() -> Info {
    let mut arguments = std::env::args_os().map(OsStringExt::into_vec);
    let mut known: Vec<(_, Text)> = Vec::new();
    known.extend(arguments.next().map(|command| ("command", command.into())));
    known.push(("argv", arguments.collect::<Vec<_>>().join(&b' ').into()));
    let ranks = library::place().map(|place| place.size).or_else(announced);
    known.extend(ranks.map(|ranks| ("maxprocs", ranks.to_string().into())));
    known.push(("host", crate::startup::host_name().into()));
    known.push(("arch", std::env::consts::ARCH.into()));
    let directory = std::env::current_dir().ok();
    known.extend(directory.map(|path| ("wdir", path.into_os_string().into_vec().into())));
    known.extend(memory_kinds::of_world().map(|kinds| (memory_kinds::KEY, kinds.into())));
    Info::environment(known)
}

/// The number of ranks that the launcher's variables announce, outside of MPI's run too.
fn announced() -> Option<u32> {
    match judge(&|name| std::env::var(name).ok(), "") {
        Ok(Start::PmiFd { size, .. }) => u32::try_from(size).ok(),
        Ok(Start::Singleton) => Some(1),
        Ok(Start::PmiPort { .. }) | Err(_) => None,
    }
}

/// Reads the info object that a handle names.
fn look<R>(always: &Always, info: InfoHandle, read: impl FnOnce(&Info) -> Result<R>) -> Result<R> {
    if info.raw() == ENVIRONMENT {
        return read(&environment());
    }
    read(always.infos.lock().get(info)?)
}

/// A copy of the info object that a handle names, as it is now.
pub(crate) fn copied(always: &Always, info: InfoHandle) -> Result<Info> {
    look(always, info, |info| Ok(info.clone()))
}

/// Whether a handle names an info object.
pub(crate) fn check(always: &Always, info: InfoHandle) -> Result<()> {
    look(always, info, |_| Ok(()))
}

/// Changes the info object that a handle names.
fn change(
    always: &Always,
    info: InfoHandle,
    change: impl FnOnce(&mut Info) -> Result<()>,
) -> Result<()> {
    if info.raw() == ENVIRONMENT {
        return Err(Error::param(ErrorClass::INFO, "info", "is MPI_INFO_ENV, which is read only")
            .hint("Change a copy made by MPI_Info_dup."));
    }
    change(always.infos.lock().get_mut(info)?)
}

/// Tells the program something in the info object that it gave, for calls that answer there too.
/// The null handle and `MPI_INFO_ENV` take nothing.
pub(crate) fn tell(always: &Always, info: InfoHandle, key: &str, value: &str) -> Result<()> {
    if info.is_null() || info.raw() == ENVIRONMENT {
        return Ok(());
    }
    always.infos.lock().get_mut(info)?.set(key, value)
}

/// `MPI_Info_create`.
pub fn info_create(cx: &mut AlwaysCx, info: &mut InfoHandle) -> Result<()> {
    *info = cx.always.infos.lock().insert(Info::new())?;
    Ok(())
}

/// `MPI_Info_dup`.
pub fn info_dup(cx: &mut AlwaysCx, info: InfoHandle, newinfo: &mut InfoHandle) -> Result<()> {
    let copy = copied(cx.always, info)?;
    *newinfo = cx.always.infos.lock().insert(copy)?;
    Ok(())
}

/// `MPI_Info_free`.
pub fn info_free(cx: &mut AlwaysCx, info: &mut InfoHandle) -> Result<()> {
    if info.raw() == ENVIRONMENT {
        mpi_core::fail!(INFO, "info", "is MPI_INFO_ENV, which cannot be freed");
    }
    cx.always.infos.lock().remove(*info)?;
    *info = InfoHandle::NULL;
    Ok(())
}

/// `MPI_Info_set`.
pub fn info_set(cx: &mut AlwaysCx, info: InfoHandle, key: &[u8], value: &[u8]) -> Result<()> {
    let limits = &cx.face.limits;
    let most = (limits.info_key - 1, limits.info_value - 1);
    change(cx.always, info, |info| info.set_within(key, value, most))
}

/// `MPI_Info_delete`.
pub fn info_delete(cx: &mut AlwaysCx, info: InfoHandle, key: &[u8]) -> Result<()> {
    change(cx.always, info, |info| info.delete(key))
}

/// `MPI_Info_get_string`.
pub fn info_get_string(
    cx: &mut AlwaysCx,
    info: InfoHandle,
    key: &[u8],
    value: &mut Text,
    flag: &mut bool,
) -> Result<()> {
    let answer = look(cx.always, info, |info| info.get_string(key, usize::MAX))?;
    let answer = answer.and_then(|answer| answer.text);
    *flag = answer.is_some();
    *value = answer.unwrap_or_default();
    Ok(())
}

/// `MPI_Info_get_valuelen`, which MPI-4.0 deprecated: the length without a NUL.
pub fn info_get_valuelen(
    cx: &mut AlwaysCx,
    info: InfoHandle,
    key: &[u8],
    valuelen: &mut i32,
    flag: &mut bool,
) -> Result<()> {
    let answer = look(cx.always, info, |info| info.get_string(key, 0))?;
    *flag = answer.is_some();
    if let Some(answer) = answer {
        *valuelen = answer.needed as i32 - 1;
    }
    Ok(())
}

/// `MPI_Info_get_nkeys`.
pub fn info_get_nkeys(cx: &mut AlwaysCx, info: InfoHandle, nkeys: &mut i32) -> Result<()> {
    *nkeys = look(cx.always, info, |info| Ok(info.nkeys() as i32))?;
    Ok(())
}

/// `MPI_Info_get_nthkey`.
pub fn info_get_nthkey(cx: &mut AlwaysCx, info: InfoHandle, n: i32, key: &mut Text) -> Result<()> {
    *key = look(cx.always, info, |info| info.nthkey(n).cloned())?;
    Ok(())
}
