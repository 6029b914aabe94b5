//! Where a thread of this process sleeps: on descriptors that have something to read when there is news.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use mpi_core::rest;
use rustix::event::{EventfdFlags, eventfd};

use crate::sys::wait;

/// A bell by which the threads of a process wake each other: a descriptor of an event counter.
pub(crate) type Bell = Arc<OwnedFd>;

/// A new bell; none where the kernel has no descriptor left.
pub(crate) fn bell() -> Option<Bell> {
    let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
    made.inspect_err(|error| tracing::warn!(%error, "threads cannot wake each other"))
        .ok()
        .map(Arc::new)
}

/// See the module's text.
#[derive(Clone)]
pub struct Bed {
    news: [Option<RawFd>; 2],
    bell: Option<Bell>,
    at_most: Duration,
}

impl Bed {
    /// A bed in which these descriptors wake, and the bell, and the clock.
    pub(crate) fn new(
        news: [Option<BorrowedFd<'_>>; 2],
        bell: Option<Bell>,
        at_most: Duration,
    ) -> Bed {
        Bed { news: news.map(|fd| fd.map(|fd| fd.as_raw_fd())), bell, at_most }
    }
}

impl rest::Bed for Bed {
    fn sleep(&self) {
        // SAFETY: the port that made this bed has the descriptors open, and is closed when nobody sleeps any more.
        let [first, second] =
            self.news.map(|fd| fd.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) }));
        let bell = self.bell.as_ref().map(|bell| bell.as_fd());
        if let Err(error) = wait::until_readable([first, second, bell], self.at_most) {
            tracing::warn!(%error, "sleeping on the shared-memory socket failed");
        }
        if let Some(bell) = &self.bell {
            // Empty, unless it has rung.
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
    }

    fn wake(&self) {
        if let Some(bell) = &self.bell {
            // A counter that is full rings as well.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }
}
