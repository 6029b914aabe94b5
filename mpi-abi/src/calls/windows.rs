//! Windows whose memory the processes of a node share: making them, what they are, and epochs
//! (MPI-5.0 §12.2, §12.5).

use mpi_core::buffer::UserBuffer;
use mpi_core::constants::PROC_NULL;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, GroupHandle, InfoHandle, WinHandle};
use mpi_core::info::Info;
use mpi_core::text::Text;

use super::attribute_objects::Object;
use super::attributes::delete_all;
use super::info::copied;
use crate::cx::Cx;

/// Hints that are kept and told, and what they are unless given (§12.2.1, §12.2.3).
const HINTS: [(&str, &str); 6] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    (LAYOUT, "false"),
];
/// The one among them that is of use when the window is made, and only then.
const LAYOUT: &str = "alloc_shared_noncontig";

/// What the program says.
fn said(cx: &Cx<'_>, info: InfoHandle) -> Result<Info> {
    if info.is_null() { Ok(Info::new()) } else { copied(&cx.always, info) }
}

/// What is understood of what the program says, added to `hints`.
fn add_hints(hints: &mut Info, said: &Info) -> Result<()> {
    for (key, default) in HINTS {
        let told = said.get(key).filter(|_| default != "false").map(|told| &**told);
        let value = match said.hint_bool(key) {
            Some(given) if default == "false" => Some(if given { &b"true"[..] } else { b"false" }),
            _ => told,
        };
        if let Some(value) = value {
            hints.set(key, value)?;
        }
    }
    Ok(())
}

/// `MPI_Win_allocate_shared`.
#[allow(clippy::too_many_arguments)]
pub fn win_allocate_shared(
    cx: &mut Cx<'_>,
    size: i64,
    disp_unit: i64,
    info: InfoHandle,
    comm: CommHandle,
    baseptr: &mut UserBuffer,
    win: &mut WinHandle,
) -> Result<()> {
    let said = said(cx, info)?;
    let mut hints = Info::new();
    HINTS.iter().try_for_each(|(key, default)| hints.set(key, default))?;
    add_hints(&mut hints, &said)?;
    if let Some(align) = said.hint_alignment() {
        hints.set("mpi_minimum_memory_alignment", align.to_string())?;
    }
    *win = cx.windows().allocate_shared(comm, size, disp_unit, hints)?;
    *baseptr = cx.window(*win)?.own().base;
    Ok(())
}

/// `MPI_Win_shared_query`; of `MPI_PROC_NULL` the first part that has any bytes.
pub fn win_shared_query(
    cx: &mut Cx<'_>,
    win: WinHandle,
    rank: i32,
    size: &mut i64,
    disp_unit: &mut i64,
    baseptr: &mut UserBuffer,
) -> Result<()> {
    let window = cx.window(win)?;
    let asked = match rank {
        PROC_NULL => None,
        rank => Some(window.target(rank, "rank")?),
    };
    let part = window.part(asked);
    (*size, *disp_unit, *baseptr) = (part.size, part.disp_unit, part.base);
    Ok(())
}

/// `MPI_Win_free`: attributes go first.
pub fn win_free(cx: &mut Cx<'_>, win: &mut WinHandle) -> Result<()> {
    cx.window(*win)?.check_free()?;
    delete_all(cx, Object::Win(*win))?;
    cx.windows().free(*win)?;
    *win = WinHandle::NULL;
    Ok(())
}

/// `MPI_Win_get_group`.
pub fn win_get_group(cx: &mut Cx<'_>, win: WinHandle, group: &mut GroupHandle) -> Result<()> {
    let comm = cx.window(win)?.comm;
    *group = cx.comm_group(comm)?;
    Ok(())
}

/// `MPI_Win_get_name`; `MPI_WIN_NULL` has one too (§7.8).
pub fn win_get_name(cx: &mut Cx<'_>, win: WinHandle, win_name: &mut Text) -> Result<()> {
    if win.is_null() {
        *win_name = "MPI_WIN_NULL".into();
        return Ok(());
    }
    win_name.clone_from(&cx.window(win)?.name);
    Ok(())
}

/// `MPI_Win_set_name`.
pub fn win_set_name(cx: &mut Cx<'_>, win: WinHandle, win_name: &[u8]) -> Result<()> {
    let name = Text::within(win_name, cx.face.limits.object_name - 1);
    cx.window_mut(win)?.name = name;
    Ok(())
}

/// `MPI_Win_set_info`.
pub fn win_set_info(cx: &mut Cx<'_>, win: WinHandle, info: InfoHandle) -> Result<()> {
    let mut hints = cx.window(win)?.hints.clone();
    let laid_out = hints.get(LAYOUT).cloned();
    add_hints(&mut hints, &said(cx, info)?)?;
    // Where its parts lie does not change any more.
    if let Some(laid_out) = laid_out {
        hints.set(LAYOUT, laid_out)?;
    }
    cx.window_mut(win)?.hints = hints;
    Ok(())
}

/// `MPI_Win_get_info`: the hints in use, in an info object of the program's own.
pub fn win_get_info(cx: &mut Cx<'_>, win: WinHandle, info_used: &mut InfoHandle) -> Result<()> {
    let window = cx.window(win)?;
    let (comm, hints) = (window.comm, window.hints.clone());
    *info_used = super::hints::used_on(cx, comm, hints)?;
    Ok(())
}
