//! Timers (MPI-5.0 §9.6), address arithmetic (§5.1.5) and `MPI_Pcontrol` (§15.2.4).

use std::ffi::c_int;

use crate::face::Face;

/// Seconds since some time in the past. The clock is the machine's, so that it is the same on
/// all ranks of a node, and never goes back.
///
/// # Safety
/// None needed; all bodies of this kind are unsafe alike.
#[inline]
pub unsafe fn wtime<F: Face>() -> f64 {
    let now = clock(libc::CLOCK_MONOTONIC, libc::clock_gettime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// The resolution of [`wtime`] in seconds.
///
/// # Safety
/// None needed.
pub unsafe fn wtick<F: Face>() -> f64 {
    let tick = clock(libc::CLOCK_MONOTONIC, libc::clock_getres);
    tick.tv_sec as f64 + tick.tv_nsec as f64 * 1e-9
}

fn clock(
    id: libc::clockid_t,
    read: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int,
) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable; the monotonic clock exists on every Linux.
    unsafe { read(id, &raw mut time) };
    time
}

/// `base + disp`.
///
/// # Safety
/// None needed.
pub unsafe fn aint_add<F: Face>(base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

/// `addr1 - addr2`.
///
/// # Safety
/// None needed.
pub unsafe fn aint_diff<F: Face>(addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}

/// For profiling libraries, which override it; here it does nothing, as §15.2.4 says.
///
/// # Safety
/// None needed.
pub unsafe fn pcontrol<F: Face>(_level: c_int) -> c_int {
    0
}
