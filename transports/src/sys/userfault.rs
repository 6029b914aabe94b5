//! What the kernel tells of memory that goes away: userfaultfd(2), used for its events alone.
//!
//! A range is watched in write-protect mode, and nothing is ever write-protected. So no access of the program, of
//! whatever page (there, absent, swapped out, huge) and from wherever (the program, the kernel in a system call),
//! waits for anybody: it is the only mode of which that is true. What does wait is who unmaps, moves or discards
//! watched memory, until the event has been read.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::null_mut;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, UserfaultfdFlags, mmap_anonymous, munmap, userfaultfd};

use super::mappings::page_bytes;

/// Catches no faults of the kernel's (Linux 5.11).
const USER_MODE_ONLY: UserfaultfdFlags = UserfaultfdFlags::from_bits_retain(1);

const API: u64 = 0xAA;
const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1 << 0;
const FEATURE_EVENT_REMAP: u64 = 1 << 2;
const FEATURE_EVENT_REMOVE: u64 = 1 << 3;
const FEATURE_EVENT_UNMAP: u64 = 1 << 6;

const MODE_WP: u64 = 1 << 1;

const EVENT_REMAP: u8 = 0x14;
const EVENT_REMOVE: u8 = 0x15;
const EVENT_UNMAP: u8 = 0x16;

#[repr(C)]
struct Handshake {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Place {
    start: u64,
    len: u64,
}

#[repr(C)]
struct Register {
    place: Place,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Protect {
    place: Place,
    mode: u64,
}

/// One piece of news, as the kernel writes it.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Message {
    event: u8,
    reserved: [u8; 7],
    words: [u64; 3],
}

const _: () = assert!(size_of::<Message>() == 32 && size_of::<Register>() == 32);

const IOCTL_API: libc::Ioctl = libc::_IOWR::<Handshake>(0xAA, 0x3F);
const IOCTL_REGISTER: libc::Ioctl = libc::_IOWR::<Register>(0xAA, 0x00);
const IOCTL_UNREGISTER: libc::Ioctl = libc::_IOR::<Place>(0xAA, 0x01);
const IOCTL_WRITEPROTECT: libc::Ioctl = libc::_IOWR::<Protect>(0xAA, 0x06);

impl Message {
    /// The addresses whose pages are not what they were; `None` for other news.
    pub fn gone(&self) -> Option<Range<u64>> {
        let [first, second, third] = self.words;
        match self.event {
            EVENT_REMAP => Some(first..first.saturating_add(third)),
            EVENT_REMOVE | EVENT_UNMAP => Some(first..second),
            _ => None,
        }
    }
}

/// A descriptor that tells of the ranges that it watches.
#[derive(Debug)]
pub struct Userfault(OwnedFd);

impl Userfault {
    /// One that watches nothing yet. Reading it never waits.
    ///
    /// # Errors
    /// The kernel's; `Unsupported` where it cannot watch without catching page faults.
    pub fn open() -> io::Result<Userfault> {
        let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
        // Faults are not asked for, so this costs nothing and is what ordinary users may have.
        let file = match create(flags | USER_MODE_ONLY) {
            // Linux before 5.11 does not know the flag.
            Err(Errno::INVAL) => create(flags)?,
            other => other?,
        };
        let events = FEATURE_EVENT_REMAP | FEATURE_EVENT_REMOVE | FEATURE_EVENT_UNMAP;
        let features = FEATURE_PAGEFAULT_FLAG_WP | events;
        let mut handshake = Handshake { api: API, features, ioctls: 0 };
        let file = Userfault(file);
        file.control(IOCTL_API, (&raw mut handshake).cast()).map_err(unsupported)?;
        file.try_out().map_err(unsupported)?;
        Ok(file)
    }

    /// Watches a page of its own for a moment: processors differ in what the mode needs.
    fn try_out(&self) -> io::Result<()> {
        let page = page_bytes();
        // SAFETY: new memory.
        let at = unsafe { mmap_anonymous(null_mut(), page, ProtFlags::READ, MapFlags::PRIVATE) }?;
        let range = at.addr()..at.addr() + page;
        let watched = self.watch(range.clone());
        // Before it is unmapped, of which nobody could read.
        let unwatched = self.unwatch(range);
        // SAFETY: the page that was mapped above; nobody has it.
        let _ = unsafe { munmap(at, page) };
        watched.and(unwatched)
    }

    /// Watches a range of whole pages.
    ///
    /// # Errors
    /// The kernel's: `EINVAL` for most mappings of files, `EBUSY` for what the program watches itself, `ENOMEM`
    /// when there would be too many mappings.
    pub fn watch(&self, range: Range<usize>) -> io::Result<()> {
        let mut register = Register { place: Place::of(&range), mode: MODE_WP, ioctls: 0 };
        self.control(IOCTL_REGISTER, (&raw mut register).cast())
    }

    /// Watches it no more.
    ///
    /// # Errors
    /// The kernel's: `EINVAL` where the range reaches into a mapping that cannot be watched.
    pub fn unwatch(&self, range: Range<usize>) -> io::Result<()> {
        let mut place = Place::of(&range);
        self.control(IOCTL_UNREGISTER, (&raw mut place).cast())
    }

    /// Whether somebody has begun to change mappings that are watched, and of that the event was not read yet.
    ///
    /// The kernel counts those, under the lock of all mappings, and answers `EAGAIN` to each request that changes
    /// pages while there are any, before it looks at the request. (Linux before 5.17 keeps a mark and no count: of
    /// two that change at the same time it forgets the second when the first is through.)
    ///
    /// # Errors
    /// The descriptor is no userfaultfd any more: somebody has closed it.
    pub fn is_changing(&self) -> io::Result<bool> {
        let Err(error) = self.control(IOCTL_WRITEPROTECT, null_mut()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match error.raw_os_error() {
            Some(libc::EAGAIN) => Ok(true),
            Some(libc::EFAULT) => Ok(false),
            _ => Err(error),
        }
    }

    /// Reads what has happened, without waiting.
    ///
    /// # Errors
    /// The kernel's; `WouldBlock` when it was nothing.
    pub fn read<'a>(&self, into: &'a mut [Message]) -> io::Result<&'a [Message]> {
        let bytes = size_of_val(into);
        // SAFETY: the kernel writes at most so many bytes, any of which make messages.
        let n = unsafe { libc::read(self.0.as_raw_fd(), into.as_mut_ptr().cast(), bytes) };
        let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
        Ok(&into[..n / size_of::<Message>()])
    }

    fn control(&self, what: libc::Ioctl, argument: *mut libc::c_void) -> io::Result<()> {
        // SAFETY: the argument is null, of which the kernel reads nothing, or the structure that belongs to this
        // request, alive for the call. None of the requests changes what the program sees in its memory.
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), what, argument) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for Userfault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Place {
    fn of(range: &Range<usize>) -> Place {
        Place { start: range.start as u64, len: range.len() as u64 }
    }
}

fn create(flags: UserfaultfdFlags) -> rustix::io::Result<OwnedFd> {
    // SAFETY: it is used for its events alone, so no access of the program waits for it.
    unsafe { userfaultfd(flags) }
}

fn unsupported(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL) => io::ErrorKind::Unsupported.into(),
        _ => error,
    }
}
