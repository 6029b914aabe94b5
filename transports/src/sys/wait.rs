//! Giving up the processor: for a moment, or until a descriptor has something to read.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Lets another runnable thread have this processor.
pub fn give_way() {
    rustix::thread::sched_yield();
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
    let timeout = Timespec {
        tv_sec: at_most.as_secs().min(i32::MAX as u64) as i64,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    let outcome = match fds.into_iter().flatten().next() {
        // One that is asked for twice says nothing else.
        Some(some) => {
            let entry = |fd: Option<_>| PollFd::from_borrowed_fd(fd.unwrap_or(some), PollFlags::IN);
            let mut entries = fds.map(entry);
            poll(&mut entries, Some(&timeout))
        }
        None => poll(&mut [], Some(&timeout)),
    };
    match outcome {
        Ok(n) => Ok(n > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
