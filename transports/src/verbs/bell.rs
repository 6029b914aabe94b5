//! One descriptor that tells of the news of several. Those of a removed device are readable for ever, and so leave it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::sys::epoll::{Epoll, Interest};

/// The descriptor.
#[derive(Debug)]
pub(super) struct Bell {
    set: Epoll,
}

impl Bell {
    /// One that tells of these, some of which may be the same.
    pub(super) fn new<'a>(fds: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<Bell> {
        let set = Epoll::new()?;
        for fd in fds {
            match set.add(fd, 0, Interest::Read) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                added => added?,
            }
        }
        Ok(Bell { set })
    }

    /// Tells of this one no more.
    pub(super) fn forget(&self, fd: BorrowedFd<'_>) {
        if let Err(error) = self.set.remove(fd) {
            tracing::debug!(%error, "a descriptor of a device had left already");
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}
