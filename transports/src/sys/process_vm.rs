//! The kernel's calls that copy between the memory of two processes, as they are (`process_vm_readv`).

use std::io;

use rustix::process::{PTracer, set_ptracer};

/// Copies up to `len` bytes at address `from` of process `pid` to `to`; returns how many were copied.
///
/// # Errors
/// The kernel forbids it (`EPERM`), the process is gone (`ESRCH`), or the address is not mapped there (`EFAULT`).
///
/// # Safety
/// `to` is writable for `len` bytes.
pub(super) unsafe fn read_plainly(
    pid: i32,
    from: u64,
    to: *mut u8,
    len: usize,
) -> io::Result<usize> {
    // SAFETY: by the caller's promise.
    unsafe { read_to(pid, from, &[run(to, len)]) }
}

/// Copies what lies at `from` of process `pid` to `runs`, one after the other; returns how many bytes were.
///
/// # Errors
/// As [`read_plainly`].
///
/// # Safety
/// All of them are writable.
pub(super) unsafe fn read_to(pid: i32, from: u64, runs: &[libc::iovec]) -> io::Result<usize> {
    let len = runs.iter().map(|run| run.iov_len).sum();
    let remote = run(from as usize as *mut u8, len);
    let count = runs.len() as libc::c_ulong;
    // SAFETY: the caller promised `runs`; `remote` is only read by the kernel, in the other process, and checked by it.
    let n = unsafe { libc::process_vm_readv(pid, runs.as_ptr(), count, &remote, 1, 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Copies `len` bytes at `from` to address `to` of process `pid`; returns how many were copied.
/// Nothing of this process is written, and what it does not have the kernel refuses to read.
///
/// # Errors
/// As [`read_plainly`]; `EFAULT` also where `from` is not readable here.
pub(super) fn write_plainly(pid: i32, from: u64, to: u64, len: usize) -> io::Result<usize> {
    let [local, remote] = [from, to].map(|at| run(at as usize as *mut u8, len));
    // SAFETY: the kernel reads the local range and checks it, and writes to the other process only.
    let n = unsafe { libc::process_vm_writev(pid, &local, 1, &remote, 1, 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Whether process `pid` has no memory any more: it has ended, or its first thread has.
pub(super) fn is_gone(pid: i32) -> bool {
    let mut byte = 0;
    // SAFETY: one byte, which is ours.
    let read = unsafe { read_plainly(pid, 0, &raw mut byte, 1) };
    read.is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH))
}

/// A run of memory, as the kernel wants it told.
pub(super) fn run(at: *mut u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: at.cast(), iov_len: len }
}

/// Lets processes of this user read this one's memory where the Yama security module would
/// allow it to ancestors only (`/proc/sys/kernel/yama/ptrace_scope` is 1).
pub fn allow_readers() {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    if scope.is_ok_and(|scope| scope.trim() == "1") {
        // Its failure leaves cross-memory copies refused, which the probe of each peer finds out.
        let _ = set_ptracer(PTracer::Any);
    }
}
