//! Giving up the processor: for a moment, or until a descriptor has something to read.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Lets another runnable thread have this processor.
pub fn give_way() {
    // SAFETY: no arguments, no memory.
    unsafe { libc::sched_yield() };
}

/// Sleeps until one of `fds` is readable or `at_most` has passed; whether one is readable. A
/// signal also ends the sleep.
///
/// # Errors
/// The kernel's, except for an interruption.
pub fn until_readable<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    at_most: Duration,
) -> io::Result<bool> {
    // The kernel passes over entries with a negative descriptor.
    let mut entries = fds.map(|fd| libc::pollfd {
        fd: fd.map_or(-1, |fd| fd.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // SAFETY: `N` entries and one timespec, all ours for the call; no signal mask.
    let n =
        unsafe { libc::ppoll(entries.as_mut_ptr(), N as libc::nfds_t, &timeout, std::ptr::null()) };
    if n >= 0 {
        return Ok(n > 0);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}
