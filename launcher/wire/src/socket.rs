//! One inherited or connected socket: whole writes, interrupted calls taken up again, no SIGPIPE.
//!
//! In: the number of a descriptor that a launcher left open, or an address to connect to. Out:
//! plain reads and writes. This is the only file of the crate with unsafe code in it besides `datagram.rs`.

#![allow(unsafe_code)]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::{self, Error, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// Longer than anybody waits.
const LONG: Timespec = Timespec { tv_sec: 1 << 40, tv_nsec: 0 };

/// A connected stream or packet socket that belongs to this value and is closed with it.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
}

impl From<OwnedFd> for Socket {
    fn from(fd: OwnedFd) -> Socket {
        Socket { fd }
    }
}

impl Socket {
    /// Takes over the descriptor `number` that the launcher named in the environment, which leads
    /// to the socket `which` (see [`number_of`]) where the launcher said so.
    ///
    /// Refuses a number that is not that open socket (the variable may have outlived the
    /// descriptor, and the number may since belong to a file of the program), and marks it
    /// close-on-exec so that programs started by this one do not speak for it.
    pub fn inherited(number: RawFd, which: Option<u64>) -> io::Result<Socket> {
        if number <= 2 {
            return Err(Error::new(ErrorKind::InvalidInput, "is a standard stream"));
        }
        let found = number_of(number)?;
        if which.is_some_and(|which| which != found) {
            return Err(Error::new(ErrorKind::InvalidInput, "is another socket"));
        }
        // SAFETY: the descriptor is open, and the launcher left it for whoever reads its number.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
        Ok(Socket { fd })
    }

    /// Connects to `address` (`host:port`) over TCP.
    pub fn connect(address: &str) -> io::Result<Socket> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Socket { fd: OwnedFd::from(stream) })
    }

    /// The descriptor's number, for polling.
    pub fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Writes all of `bytes`, as one packet on a packet socket.
    pub fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match send(&self.fd, bytes, SendFlags::NOSIGNAL) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => bytes = &bytes[n.min(bytes.len())..],
                Err(error) => self.wait_after(error, PollFlags::OUT)?,
            }
        }
        Ok(())
    }

    /// Reads what is there, waiting for at least one byte; 0 means that the other end is closed.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(&self.fd, &mut *into, RecvFlags::empty()) {
                Ok((n, _)) => return Ok(n),
                Err(error) => self.wait_after(error, PollFlags::IN)?,
            }
        }
    }

    /// Whether there is something to read, be it the end, within this time; without one it is waited for.
    pub fn has_news(&self, within: Option<Duration>) -> io::Result<bool> {
        let begin = Instant::now();
        loop {
            let left = within.map(|within| within.saturating_sub(begin.elapsed()));
            let wait = left.map(|left| Timespec::try_from(left).unwrap_or(LONG));
            match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], wait.as_ref()) {
                Ok(0) if left.is_none_or(|left| left.is_zero()) => return Ok(false),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads what is there without waiting.
    pub(crate) fn receive_now(&self, into: &mut [u8]) -> io::Result<usize> {
        let (n, _) = recv(&self.fd, into, RecvFlags::DONTWAIT)?;
        Ok(n)
    }

    /// An interrupted call is simply repeated; on a descriptor that somebody made non-blocking
    /// the call is repeated once the descriptor is ready. Anything else is the caller's.
    fn wait_after(&self, error: Errno, events: PollFlags) -> io::Result<()> {
        match error {
            Errno::INTR => Ok(()),
            Errno::AGAIN => {
                // An error only makes the caller try again.
                let _ = poll(&mut [PollFd::new(&self.fd, events)], None);
                Ok(())
            }
            _ => Err(error.into()),
        }
    }
}

/// The number by which the kernel knows the socket behind a descriptor, and no other one at this time.
pub fn number_of(fd: RawFd) -> io::Result<u64> {
    // SAFETY: only for the call, which fails on what is no open descriptor.
    let stat = fstat(unsafe { BorrowedFd::borrow_raw(fd) })?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Socket => Ok(stat.st_ino),
        _ => Err(Error::new(ErrorKind::InvalidInput, "is not a socket")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn only_open_sockets_are_taken_over() {
        assert!(Socket::inherited(1, None).is_err());
        assert!(Socket::inherited(1_000_000, None).is_err());
        let file = File::open("/dev/null").unwrap();
        assert!(Socket::inherited(file.as_raw_fd(), None).is_err());
        let (a, b) = UnixStream::pair().unwrap();
        let (a, b) = (OwnedFd::from(a), OwnedFd::from(b));
        let which = Some(number_of(a.as_raw_fd()).unwrap());
        assert!(Socket::inherited(b.as_raw_fd(), which).is_err());
        assert!(Socket::inherited(a.into_raw_fd(), which).is_ok());
    }

    #[test]
    fn a_long_message_arrives_whole() {
        let (a, b) = UnixStream::pair().unwrap();
        let (a, b) = (Socket::from(OwnedFd::from(a)), Socket::from(OwnedFd::from(b)));
        let sent: Vec<u8> = (0..1_000_000u32).map(|i| i as u8).collect();
        let expected = sent.clone();
        let writer = std::thread::spawn(move || a.send_all(&sent).unwrap());
        let (mut got, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            match b.receive(&mut chunk).unwrap() {
                0 => break,
                n => got.extend_from_slice(&chunk[..n]),
            }
        }
        writer.join().unwrap();
        assert_eq!(got, expected);
    }

    #[test]
    fn a_closed_peer_is_an_error_and_no_signal() {
        let (a, b) = UnixStream::pair().unwrap();
        drop(b);
        let a = Socket::from(OwnedFd::from(a));
        assert_eq!(a.send_all(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
