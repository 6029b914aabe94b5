//! The numbers 0, 1 and 2, which a program may have been started without.
//!
//! What this library opens must not come under them: a program that prints to a standard output that
//! it does not have would write into the memory that ranks share, or to another rank.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{IntoRawFd, RawFd};

/// Opens those that are closed, so that they lead nowhere, as shells and the C library of a
/// privileged program do.
///
/// # Errors
/// There is nowhere for them to lead.
pub(crate) fn open_all() -> io::Result<()> {
    while (0..=2).any(is_closed) {
        // The kernel gives the lowest number that is free.
        let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        let _: RawFd = nowhere.into_raw_fd();
    }
    Ok(())
}

fn is_closed(fd: RawFd) -> bool {
    // SAFETY: a plain question about a number, open or not.
    unsafe { libc::fcntl(fd, libc::F_GETFD) < 0 }
}
