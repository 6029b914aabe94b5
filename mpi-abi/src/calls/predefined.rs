//! The attributes that communicators and windows have from the start (MPI-5.0 §9.1.2, §12.2.6): what
//! they are, in the numbers of the face, and that nobody changes them.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use mpi_core::attributes::Holder;
use mpi_core::constants::{ANY_SOURCE, PROC_NULL, TAG_UB};
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::error_codes::LASTCODE;
use mpi_core::handle::WinHandle;

use super::attribute_values::Found;
use crate::cx::Cx;
use crate::face::ConstantGroup;
use crate::library::library;

/// Their keys, from `MPI_TAG_UB` on, as the standard ABI numbers them.
const FIRST: i32 = 501;
const NAMES: [&str; 7] = [
    "MPI_TAG_UB",
    "MPI_IO",
    "MPI_HOST",
    "MPI_WTIME_IS_GLOBAL",
    "MPI_APPNUM",
    "MPI_LASTUSEDCODE",
    "MPI_UNIVERSE_SIZE",
];

/// Keys of windows' attributes, as the standard ABI numbers them.
const WIN_BASE: i32 = 601;
const WIN_DISP_UNIT: i32 = 602;
const WIN_SIZE: i32 = 603;
const WIN_CREATE_FLAVOR: i32 = 604;
const WIN_MODEL: i32 = 605;

/// `MPI_WIN_FLAVOR_SHARED`.
const FLAVOR_SHARED: i32 = 314;
/// `MPI_WIN_UNIFIED`: all processes see one and the same memory.
const UNIFIED: i32 = 321;

/// Where the program finds the values: it is given addresses that stay.
static VALUES: [AtomicI32; NAMES.len()] = [const { AtomicI32::new(0) }; NAMES.len()];

/// Whether this is the key of a predefined attribute of communicators.
pub(crate) fn is_key(keyval: i32) -> bool {
    (FIRST..FIRST + NAMES.len() as i32).contains(&keyval)
}

/// Whether this is the key of a predefined attribute of windows.
pub(crate) fn is_window_key(keyval: i32) -> bool {
    (WIN_BASE..=WIN_MODEL).contains(&keyval)
}

/// The value of a predefined attribute of a window.
pub(crate) fn window_value(cx: &Cx<'_>, win: WinHandle, keyval: i32) -> Result<Found> {
    let window = cx.window(win)?;
    let own = window.own();
    let (place, value) = match keyval {
        WIN_BASE => return Ok(Found::Address(own.base.0.cast())),
        WIN_SIZE => (0, own.size),
        WIN_DISP_UNIT => (1, own.disp_unit),
        WIN_CREATE_FLAVOR => {
            (2, (cx.face.constant_out)(ConstantGroup::WinFlavor, FLAVOR_SHARED).into())
        }
        _ => (3, (cx.face.constant_out)(ConstantGroup::WinModel, UNIFIED).into()),
    };
    // Of the value as 64 bits, the first four bytes are the value as an int.
    let shown = &window.shown[place];
    shown.store(value, Ordering::Relaxed);
    Ok(match keyval {
        WIN_SIZE => Found::PredefinedWide(shown.as_ptr()),
        _ => Found::Predefined(shown.as_ptr().cast()),
    })
}

/// Refuses a predefined key where the program's own is needed.
pub(crate) fn refuse(holder: Holder, keyval: i32) -> Result<()> {
    let name = match keyval {
        key if is_key(key) => NAMES[(key - FIRST) as usize],
        key if is_window_key(key) => "an attribute of windows",
        _ => return Ok(()),
    };
    let what = format!("is {name}, which is predefined");
    Err(Error::param(ErrorClass::KEYVAL, holder.parameter(), what)
        .hint("Predefined attributes can be read only."))
}

/// The address of the value of a predefined attribute; `None` if it has none here.
pub(crate) fn value(cx: &Cx<'_>, keyval: i32) -> Option<*mut c_void> {
    let index = usize::try_from(keyval - FIRST).ok()?;
    let value = match *NAMES.get(index)? {
        "MPI_TAG_UB" => TAG_UB,
        "MPI_IO" => (cx.face.rank_out)(ANY_SOURCE),
        "MPI_HOST" => (cx.face.rank_out)(PROC_NULL),
        // Ranks may run on several machines, whose clocks are not compared.
        "MPI_WTIME_IS_GLOBAL" => 0,
        "MPI_APPNUM" => appnum()?,
        "MPI_LASTUSEDCODE" => last_used_code(cx),
        _ => universe_size(cx),
    };
    VALUES[index].store(value, Ordering::Relaxed);
    Some(VALUES[index].as_ptr().cast())
}

/// Which program of the command line this is, if the launcher says.
fn appnum() -> Option<c_int> {
    let number = library().bootstrap.as_mut()?.appnum().ok()??;
    c_int::try_from(number).ok()
}

/// How many processes the launcher could run, at least those that it does run.
fn universe_size(cx: &Cx<'_>) -> c_int {
    let told = library().bootstrap.as_mut().and_then(|bootstrap| bootstrap.universe_size().ok()?);
    let own = cx.identity.size as usize;
    c_int::try_from(told.unwrap_or(own).max(own)).unwrap_or(c_int::MAX)
}

fn last_used_code(cx: &Cx<'_>) -> c_int {
    match cx.always.error_codes.lock().last_used() {
        LASTCODE => cx.face.err_lastcode,
        code => (cx.face.error_out)(ErrorClass(code)),
    }
}
