//! A set of descriptors that tells which of them have news (epoll(7)): as long as they have, or once.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

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
    fn events(self) -> EventFlags {
        match self {
            Interest::Read => EventFlags::IN,
            Interest::Fresh => EventFlags::IN | EventFlags::ET,
            Interest::Write => EventFlags::OUT,
            Interest::ReadWrite => EventFlags::IN | EventFlags::OUT,
        }
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
        Ok(Epoll { fd: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Adds a descriptor under a number.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add(&self, fd: BorrowedFd<'_>, key: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(key), interest.events())?)
    }

    /// Changes what a descriptor is waited for, and its number.
    ///
    /// # Errors
    /// The kernel's.
    pub fn change(&self, fd: BorrowedFd<'_>, key: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.fd, fd, EventData::new_u64(key), interest.events())?)
    }

    /// Takes a descriptor out of the set.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.fd, fd)?)
    }

    /// Takes the news that there are now, without waiting.
    ///
    /// # Errors
    /// The kernel's.
    pub fn look(&self, mut each: impl FnMut(News)) -> io::Result<()> {
        const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [MaybeUninit::<Event>::uninit(); NEWS_MAX];
        let events = match epoll::wait(&self.fd, &mut room, Some(&AT_ONCE)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let failed = EventFlags::ERR | EventFlags::HUP;
        for event in events {
            let (events, key) = (event.flags, event.data.u64());
            let has = |what: EventFlags| events.intersects(what | failed);
            each(News { key, readable: has(EventFlags::IN), writable: has(EventFlags::OUT) });
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
