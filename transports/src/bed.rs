//! Where a thread of this process sleeps: until another one wakes it, or on descriptors that have something to read
//! when there is news.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use mpi_core::rest;
use mpi_core::tuning::SLEEP_BLIND;
use rustix::event::{EventfdFlags, eventfd};

use crate::sys::wait;

/// What else may bring news to one who sleeps.
pub(crate) struct Beside<'a> {
    /// Becomes readable then.
    pub(crate) news: BorrowedFd<'a>,
    /// The longest sleep, if something is to be done even without news.
    pub(crate) at_most: Option<Duration>,
}

/// A bell by which the threads of a process wake each other: a descriptor of an event counter.
type Bell = Arc<OwnedFd>;

/// The threads of a process that sleep.
#[derive(Default)]
pub(crate) struct Sleepers {
    /// When the first of them looks again.
    until: Option<Instant>,
    /// Their bells, and those of sleepers before.
    bells: Vec<Bell>,
}

impl Sleepers {
    /// One lies down, for so long at most.
    pub(crate) fn lie_down(&mut self, at_most: Duration) {
        let until = Instant::now() + at_most;
        self.until = Some(self.until.map_or(until, |before| before.min(until)));
    }

    /// One gets up, and looks for all.
    pub(crate) fn get_up(&mut self) {
        self.until = None;
    }

    /// Whether all of them sleep for longer than this, by more than a short sleep.
    pub(crate) fn oversleep(&self, at_most: Option<Duration>) -> bool {
        at_most.is_some_and(|at_most| {
            let at = Instant::now() + at_most;
            self.until.is_none_or(|until| at + SLEEP_BLIND < until)
        })
    }

    /// A bell that nobody sleeps by; none where the kernel has no descriptor left.
    pub(crate) fn bell(&mut self) -> Option<Bell> {
        if let Some(free) = self.bells.iter().find(|bell| Arc::strong_count(bell) == 1) {
            return Some(Arc::clone(free));
        }
        let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let made = made.inspect_err(|error| tracing::warn!(%error, "no bell for a thread"));
        let bell = Arc::new(made.ok()?);
        self.bells.push(Arc::clone(&bell));
        Some(bell)
    }
}

/// See the module's text.
#[derive(Clone)]
pub enum Bed {
    /// Where only another thread of the process wakes this one.
    Own(Thread),
    /// Where news does too.
    Listens { news: [Option<RawFd>; 2], bell: Option<Bell>, at_most: Duration },
}

impl Bed {
    /// One in which another thread wakes this one.
    pub(crate) fn own() -> Bed {
        Bed::Own(thread::current())
    }

    /// One in which these descriptors wake, and the bell, and the clock.
    pub(crate) fn new(
        news: [Option<BorrowedFd<'_>>; 2],
        bell: Option<Bell>,
        at_most: Duration,
    ) -> Bed {
        Bed::Listens { news: news.map(|fd| fd.map(|fd| fd.as_raw_fd())), bell, at_most }
    }
}

impl rest::Bed for Bed {
    fn sleep(&self) {
        let Bed::Listens { news, bell, at_most } = self else { return thread::park() };
        // SAFETY: the port that made this bed has the descriptors open, and is closed when nobody sleeps any more.
        let [first, second] = news.map(|fd| fd.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) }));
        let rings = bell.as_ref().map(|bell| bell.as_fd());
        if let Err(error) = wait::until_readable([first, second, rings], *at_most) {
            tracing::warn!(%error, "sleeping on the shared-memory socket failed");
        }
        if let Some(bell) = bell {
            // Empty, unless it has rung.
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
    }

    fn wake(&self) {
        match self {
            Bed::Own(thread) => thread.unpark(),
            Bed::Listens { bell: Some(bell), .. } => {
                // A counter that is full rings as well.
                let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
            }
            Bed::Listens { bell: None, .. } => {}
        }
    }
}
