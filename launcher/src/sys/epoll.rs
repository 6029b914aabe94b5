//! One set of descriptors to wait for, each under a token of the caller's.

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// What to be told about a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Bytes or an end to be read.
    Read,
    /// Room to write.
    Write,
    /// Nothing for now.
    Nothing,
}

impl Interest {
    fn events(self) -> EventFlags {
        match self {
            Interest::Read => EventFlags::IN | EventFlags::RDHUP,
            Interest::Write => EventFlags::OUT,
            Interest::Nothing => EventFlags::empty(),
        }
    }
}

/// A level-triggered epoll set.
#[derive(Debug)]
pub(crate) struct Epoll {
    fd: OwnedFd,
}

impl Epoll {
    /// An empty set.
    pub(crate) fn new() -> io::Result<Epoll> {
        Ok(Epoll { fd: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Adds `fd`; a descriptor that is closed leaves the set by itself.
    pub(crate) fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), interest.events())?)
    }

    /// Changes what to be told about `fd`.
    pub(crate) fn change(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.fd, fd, EventData::new_u64(token), interest.events())?)
    }

    /// Takes `fd` out of the set.
    pub(crate) fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.fd, fd)?)
    }

    /// Waits for news, at most as long as `limit`; the tokens of what is ready, or hung up.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<Vec<u64>> {
        let limit = limit.map(up_to);
        let mut room = [MaybeUninit::<Event>::uninit(); 128];
        match epoll::wait(&self.fd, &mut room, limit.as_ref()) {
            Ok((events, _)) => Ok(events.iter().map(|event| event.data.u64()).collect()),
            Err(Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A time to wait, cut to what the kernel takes: milliseconds in 31 bits.
pub(super) fn up_to(limit: Duration) -> Timespec {
    const MOST: Duration = Duration::from_millis(i32::MAX as u64);
    let limit = limit.min(MOST);
    Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() }
}
