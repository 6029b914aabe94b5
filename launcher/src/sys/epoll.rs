//! One set of descriptors to wait for, each under a token of the caller's.

use super::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
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
    fn bits(self) -> u32 {
        let bits = match self {
            Interest::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Interest::Write => libc::EPOLLOUT,
            Interest::Nothing => 0,
        };
        bits.cast_unsigned()
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
        // SAFETY: no memory is touched; the descriptor is new and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Epoll { fd })
    }

    /// Adds `fd`; a descriptor that is closed leaves the set by itself.
    pub(crate) fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Changes what to be told about `fd`.
    pub(crate) fn change(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Takes `fd` out of the set.
    pub(crate) fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::Nothing)
    }

    fn control(&self, what: libc::c_int, fd: RawFd, token: u64, i: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: i.bits(), u64: token };
        // SAFETY: `event` is valid for the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd, &mut event) }).map(drop)
    }

    /// Waits for news, at most as long as `limit`; the tokens of what is ready, or hung up.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<Vec<u64>> {
        const ROOM: usize = 128;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; ROOM];
        let milliseconds = limit.map_or(-1, |limit| {
            libc::c_int::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
        });
        let (fd, room) = (self.fd.as_raw_fd(), ROOM as libc::c_int);
        // SAFETY: `events` has room for as many events as the call may write.
        match check(unsafe { libc::epoll_wait(fd, events.as_mut_ptr(), room, milliseconds) }) {
            Ok(n) => Ok(events[..n.unsigned_abs() as usize].iter().map(|e| e.u64).collect()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}
