//! A set of descriptors that tells which of them have news (epoll(7)): as long as they have, or once.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Pieces of news taken in one look.
const NEWS_MAX: usize = 64;

/// What a descriptor can be waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// There is something to read.
    Read,
    /// Something to read has come since the set was last looked at.
    Fresh,
    /// There is room to write.
    Write,
    /// There is something to read, or room to write.
    ReadWrite,
}

impl Interest {
    fn events(self) -> u32 {
        let events = match self {
            Interest::Read => libc::EPOLLIN,
            Interest::Fresh => libc::EPOLLIN | libc::EPOLLET,
            Interest::Write => libc::EPOLLOUT,
            Interest::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
        };
        events as u32
    }
}

/// News of one descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct News {
    /// The number under which it was added.
    pub key: u64,
    /// There may be something to read, or it has failed.
    pub readable: bool,
    /// There may be room to write, or it has failed.
    pub writable: bool,
}

/// The set. A descriptor leaves it by being closed.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: integers only.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that the kernel just made and nobody else owns.
        Ok(Epoll { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Adds a descriptor under a number.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add(&self, fd: BorrowedFd<'_>, key: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, key, interest)
    }

    /// Changes what a descriptor is waited for, and its number.
    ///
    /// # Errors
    /// The kernel's.
    pub fn change(&self, fd: BorrowedFd<'_>, key: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, key, interest)
    }

    /// Takes a descriptor out of the set.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::Read)
    }

    fn control(&self, what: i32, fd: BorrowedFd<'_>, key: u64, to: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: to.events(), u64: key };
        // SAFETY: one event, ours for the call.
        let answer =
            unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd.as_raw_fd(), &raw mut event) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Takes the news that there are now, without waiting.
    ///
    /// # Errors
    /// The kernel's.
    pub fn look(&self, mut each: impl FnMut(News)) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; NEWS_MAX];
        let fd = self.fd.as_raw_fd();
        // SAFETY: the kernel writes at most `NEWS_MAX` events into memory of ours.
        let n = unsafe { libc::epoll_wait(fd, events.as_mut_ptr(), NEWS_MAX as i32, 0) };
        let Ok(n) = usize::try_from(n) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        };
        let failed = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
        for event in &events[..n] {
            let (events, key) = (event.events, event.u64);
            let has = |what: i32| events & (what as u32 | failed) != 0;
            each(News { key, readable: has(libc::EPOLLIN), writable: has(libc::EPOLLOUT) });
        }
        Ok(())
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_in_a_set_has_news_as_long_as_it_has() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let (inner, outer) = (Epoll::new().unwrap(), Epoll::new().unwrap());
        inner.add(far.as_fd(), 7, Interest::Read).unwrap();
        outer.add(inner.as_fd(), 1, Interest::Read).unwrap();
        let has_news = || {
            let mut count = 0;
            outer.look(|_| count += 1).unwrap();
            count == 1
        };
        assert!(!has_news());
        std::io::Write::write_all(&mut &near, b"x").unwrap();
        assert!(has_news() && has_news());
        std::io::Read::read_exact(&mut &far, &mut [0]).unwrap();
        assert!(!has_news());
    }

    #[test]
    fn what_is_awaited_fresh_is_told_once_though_a_set_in_it_has_something_old() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let (inner, outer) = (Epoll::new().unwrap(), Epoll::new().unwrap());
        inner.add(far.as_fd(), 7, Interest::Read).unwrap();
        outer.add(inner.as_fd(), 1, Interest::Fresh).unwrap();
        for _ in 0..3 {
            std::io::Write::write_all(&mut &near, b"x").unwrap();
            let has_news = || {
                let mut count = 0;
                outer.look(|_| count += 1).unwrap();
                count == 1
            };
            assert!(has_news() && !has_news());
        }
    }

    #[test]
    fn tells_what_can_be_read_and_what_written() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(far.as_fd(), 7, Interest::Read).unwrap();
        let look = || {
            let mut news = Vec::new();
            epoll.look(|one| news.push(one)).unwrap();
            news
        };
        assert_eq!(look(), []);
        std::io::Write::write_all(&mut &near, b"x").unwrap();
        assert_eq!(look(), [News { key: 7, readable: true, writable: false }]);
        epoll.change(far.as_fd(), 8, Interest::ReadWrite).unwrap();
        assert_eq!(look(), [News { key: 8, readable: true, writable: true }]);
        drop(far);
        assert_eq!(look(), []);
    }
}
