//! Info objects (MPI-5.0 chapter 10), and `MPI_INFO_ENV` (§11.2.1).

use std::borrow::Cow;
use std::os::unix::ffi::OsStringExt;

use launch_wire::{Start, judge};
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::InfoHandle;
use mpi_core::info::Info;
use mpi_core::text::Text;

use crate::entry::Cx;
use crate::memory_kinds;

/// `MPI_INFO_ENV`.
const ENVIRONMENT: u32 = 0x131;

/// What `MPI_INFO_ENV` says: how this process was started, as far as it can know.
pub(crate) fn environment(cx: &Cx<'_>) -> Info {
    let mut arguments = std::env::args_os().map(OsStringExt::into_vec);
    let mut known: Vec<(_, Text)> = Vec::new();
    known.extend(arguments.next().map(|command| ("command", command.into())));
    known.push(("argv", arguments.collect::<Vec<_>>().join(&b' ').into()));
    let ranks = if cx.identity.size > 0 { Some(cx.identity.size) } else { announced() };
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

/// The info object that a handle names, to be read.
pub(crate) fn look<'a>(cx: &'a Cx<'_>, info: InfoHandle) -> Result<Cow<'a, Info>> {
    if info.raw() == ENVIRONMENT {
        return Ok(Cow::Owned(environment(cx)));
    }
    cx.infos.get(info).map(Cow::Borrowed)
}

/// The info object that a handle names, to be changed.
fn change<'a>(cx: &'a mut Cx<'_>, info: InfoHandle) -> Result<&'a mut Info> {
    if info.raw() == ENVIRONMENT {
        return Err(Error::param(ErrorClass::INFO, "info", "is MPI_INFO_ENV, which is read only")
            .hint("Change a copy made by MPI_Info_dup."));
    }
    cx.infos.get_mut(info)
}

/// Tells the program something in the info object that it gave, for calls that answer there too.
/// The null handle and `MPI_INFO_ENV` take nothing.
pub(crate) fn tell(cx: &mut Cx<'_>, info: InfoHandle, key: &str, value: &str) -> Result<()> {
    if info.is_null() || info.raw() == ENVIRONMENT {
        return Ok(());
    }
    cx.infos.get_mut(info)?.set(key, value)
}

/// `MPI_Info_create`.
pub fn info_create(cx: &mut Cx<'_>, info: &mut InfoHandle) -> Result<()> {
    *info = cx.infos.insert(Info::new())?;
    Ok(())
}

/// `MPI_Info_dup`.
pub fn info_dup(cx: &mut Cx<'_>, info: InfoHandle, newinfo: &mut InfoHandle) -> Result<()> {
    let copy = look(cx, info)?.into_owned();
    *newinfo = cx.infos.insert(copy)?;
    Ok(())
}

/// `MPI_Info_free`.
pub fn info_free(cx: &mut Cx<'_>, info: &mut InfoHandle) -> Result<()> {
    if info.raw() == ENVIRONMENT {
        mpi_core::fail!(INFO, "info", "is MPI_INFO_ENV, which cannot be freed");
    }
    cx.infos.remove(*info)?;
    *info = InfoHandle::NULL;
    Ok(())
}

/// `MPI_Info_set`.
pub fn info_set(cx: &mut Cx<'_>, info: InfoHandle, key: &[u8], value: &[u8]) -> Result<()> {
    change(cx, info)?.set(key, value)
}

/// `MPI_Info_delete`.
pub fn info_delete(cx: &mut Cx<'_>, info: InfoHandle, key: &[u8]) -> Result<()> {
    change(cx, info)?.delete(key)
}

/// `MPI_Info_get`, which MPI-4.0 deprecated: the glue cuts the value to the caller's length.
pub fn info_get(
    cx: &mut Cx<'_>,
    info: InfoHandle,
    key: &[u8],
    value: &mut Text,
    flag: &mut bool,
) -> Result<()> {
    info_get_string(cx, info, key, value, flag)
}

/// `MPI_Info_get_string`.
pub fn info_get_string(
    cx: &mut Cx<'_>,
    info: InfoHandle,
    key: &[u8],
    value: &mut Text,
    flag: &mut bool,
) -> Result<()> {
    let info = look(cx, info)?;
    let answer = info.get_string(key, usize::MAX)?.and_then(|answer| answer.text);
    *flag = answer.is_some();
    *value = answer.unwrap_or_default();
    Ok(())
}

/// `MPI_Info_get_valuelen`, which MPI-4.0 deprecated: the length without a NUL.
pub fn info_get_valuelen(
    cx: &mut Cx<'_>,
    info: InfoHandle,
    key: &[u8],
    valuelen: &mut i32,
    flag: &mut bool,
) -> Result<()> {
    let answer = look(cx, info)?.get_string(key, 0)?;
    *flag = answer.is_some();
    if let Some(answer) = answer {
        *valuelen = answer.needed as i32 - 1;
    }
    Ok(())
}

/// `MPI_Info_get_nkeys`.
pub fn info_get_nkeys(cx: &mut Cx<'_>, info: InfoHandle, nkeys: &mut i32) -> Result<()> {
    *nkeys = look(cx, info)?.nkeys() as i32;
    Ok(())
}

/// `MPI_Info_get_nthkey`.
pub fn info_get_nthkey(cx: &mut Cx<'_>, info: InfoHandle, n: i32, key: &mut Text) -> Result<()> {
    key.clone_from(look(cx, info)?.nthkey(n)?);
    Ok(())
}
