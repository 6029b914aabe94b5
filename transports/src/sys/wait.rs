//! Giving up the processor: for a moment, or until a descriptor has something to read.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Lets another runnable thread have this processor.
pub fn give_way() {
    // SAFETY: no arguments, no memory.
    unsafe { libc::sched_yield() };
}

/// Sleeps until `fd` is readable or `at_most` has passed; whether it is readable. A signal also
/// ends the sleep.
///
/// # Errors
/// The kernel's, except for an interruption.
pub fn until_readable(fd: BorrowedFd<'_>, at_most: Duration) -> io::Result<bool> {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // SAFETY: one entry and one timespec, both ours for the call; no signal mask.
    let n = unsafe { libc::ppoll(&mut entry, 1, &timeout, std::ptr::null()) };
    if n >= 0 {
        return Ok(n > 0);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}
