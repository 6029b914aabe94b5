//! TCP sockets that never wait: listening, connecting, and moving bytes from and to raw memory
//! (tcp(7), ip(7)). User memory is read and written by the kernel in place, without a slice.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::{Errno, Result as Answer};
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind, connect, getpeername,
    getsockname, listen, shutdown, socket_with, sockopt,
};

pub use super::inet::Run;
use super::inet::{end_of, now, option};
use super::limits::raise_descriptors;
use super::wait;

/// Connections that the kernel completes before this process accepts them. The kernel cuts it to
/// its own limit.
const BACKLOG: i32 = 4096;
/// The time between two questions of the kernel whether the other end is there.
const QUESTION_GAP: Duration = Duration::from_secs(1);
/// The longest pause between two tries to send the same again, where the kernel (6.15 and later) lets it be chosen:
/// else the pauses double, and a cable that was cut for a minute is found mended only after up to another.
const RESEND_GAP_MAX_MILLIS: libc::c_int = 1000;
/// The option for it, which the C library does not name yet.
const TCP_RTO_MAX_MS: libc::c_int = 44;
/// The congestion control that every kernel has and every user may choose, and that never paces.
const UNPACED: &str = "reno";

/// A socket that is connected or about to be.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
}

/// A socket that takes connections.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
}

fn socket_to(at: SocketAddr) -> io::Result<OwnedFd> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(with_room(|| socket_with(family, SocketType::STREAM, flags, None))?)
}

/// Makes a descriptor. One for each peer may be more than the soft limit, which is low for the sake of
/// programs that use `select`: it is raised only where the job could else not go on.
fn with_room<T>(mut make: impl FnMut() -> Answer<T>) -> Answer<T> {
    match make() {
        Err(Errno::MFILE) if raise_descriptors() => make(),
        other => other,
    }
}

impl Listener {
    /// A socket that listens on one address.
    ///
    /// # Errors
    /// The kernel's.
    pub fn on(at: SocketAddr) -> io::Result<Listener> {
        let fd = socket_to(at)?;
        bind(&fd, &at)?;
        listen(&fd, BACKLOG)?;
        Ok(Listener { fd })
    }

    /// The same socket once more, for another thread.
    ///
    /// # Errors
    /// The kernel's.
    pub fn share(&self) -> io::Result<Listener> {
        Ok(Listener { fd: self.fd.try_clone()? })
    }

    /// The port.
    ///
    /// # Errors
    /// The kernel's.
    pub fn port(&self) -> io::Result<u16> {
        let at = end_of(getsockname(&self.fd)?);
        at.map(|at| at.port()).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Whether a connection is there to be taken.
    fn is_called(&self) -> io::Result<bool> {
        wait::until_readable([Some(self.fd.as_fd())], Duration::ZERO)
    }

    /// The next connection and where it comes from, or `None` when there is none now.
    ///
    /// # Errors
    /// The kernel's: descriptors are out, for instance.
    pub fn accept(&self) -> io::Result<Option<(Socket, SocketAddr)>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match with_room(|| acceptfrom_with(&self.fd, flags)) {
            Ok((fd, from)) => {
                let nobody = SocketAddr::from(([0, 0, 0, 0], 0));
                Ok(Some((Socket { fd }, from.and_then(end_of).unwrap_or(nobody))))
            }
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            // The kernel looks for a descriptor before it looks for a connection.
            Err(Errno::MFILE | Errno::NFILE) if !self.is_called()? => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// Begins to connect to `to`; the socket becomes writable when that has ended, and
    /// [`Socket::failure`] then says how.
    ///
    /// # Errors
    /// The kernel's, where it knows at once that there is no way.
    pub fn begin_connect(to: SocketAddr) -> io::Result<Socket> {
        let fd = socket_to(to)?;
        match connect(&fd, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Socket { fd }),
            Err(error) => Err(error.into()),
        }
    }

    /// What has gone wrong on the socket since this was last asked.
    pub fn failure(&self) -> Option<io::Error> {
        let outcome = sockopt::socket_error(&self.fd).and_then(|outcome| outcome);
        outcome.err().map(io::Error::from)
    }

    /// Whether the other end's host has taken the connection.
    pub fn is_connected(&self) -> bool {
        getpeername(&self.fd).is_ok()
    }

    /// If both ends are on this host, chooses a congestion control that does not pace: there is no
    /// network to be spared, and BBR holds a message back by a rate that it has measured while the
    /// other end computed. Whether that was done.
    pub fn hurry_within_host(&self) -> bool {
        let far = getpeername(&self.fd).ok().flatten().and_then(end_of);
        let near = getsockname(&self.fd).ok().and_then(end_of);
        let is_here = far.is_some() && far.map(|at| at.ip()) == near.map(|at| at.ip());
        is_here && sockopt::set_tcp_congestion(&self.fd, UNPACED).is_ok()
    }

    /// Makes the socket one for frames: nothing is held back, an other end that does not take
    /// what is sent for as long as `silence` ends the connection, one that answers no question
    /// soon after, and the kernel's buffers have `buffer` bytes where that is not 0.
    ///
    /// # Errors
    /// The kernel's.
    pub fn prepare(&self, buffer: usize, silence: Duration) -> io::Result<()> {
        let fd = &self.fd;
        let millis = libc::c_int::try_from(silence.as_millis()).unwrap_or(libc::c_int::MAX);
        sockopt::set_tcp_nodelay(fd, true)?;
        sockopt::set_tcp_user_timeout(fd, millis.unsigned_abs())?;
        sockopt::set_socket_keepalive(fd, true)?;
        // An older kernel refuses it, and goes on as it does.
        let _ = option(fd.as_fd(), libc::IPPROTO_TCP, TCP_RTO_MAX_MS, RESEND_GAP_MAX_MILLIS);
        sockopt::set_tcp_keepidle(fd, Duration::from_secs(silence.as_secs().clamp(1, 32_000)))?;
        sockopt::set_tcp_keepintvl(fd, QUESTION_GAP)?;
        if buffer > 0 {
            let buffer = buffer.min(libc::c_int::MAX as usize);
            sockopt::set_socket_send_buffer_size(fd, buffer)?;
            sockopt::set_socket_recv_buffer_size(fd, buffer)?;
        }
        Ok(())
    }

    /// Hands as many bytes of `runs`, in their order, to the kernel as it takes now; 0 when it
    /// takes none.
    ///
    /// # Errors
    /// The connection is broken.
    ///
    /// # Safety
    /// Every run is readable for the call.
    #[inline]
    pub unsafe fn send(&self, runs: &[Run]) -> io::Result<usize> {
        let fd = self.fd.as_raw_fd();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        let n = if let [one] = runs {
            let one = one.raw();
            // SAFETY: readable by the caller's promise.
            unsafe { libc::send(fd, one.iov_base, one.iov_len, flags) }
        } else {
            // SAFETY: `msghdr` is plain data, for which zeros are a value.
            let mut message: libc::msghdr = unsafe { mem::zeroed() };
            message.msg_iov = runs.as_ptr().cast_mut().cast();
            message.msg_iovlen = runs.len() as _;
            // SAFETY: a run has the form of an `iovec`; readable by the caller's promise.
            unsafe { libc::sendmsg(fd, &message, flags) }
        };
        now(n).map(|n| n.unwrap_or(0))
    }

    /// Takes at most `len` bytes that have come to `to`; `None` when there are none now, 0 when
    /// the other end has closed.
    ///
    /// # Errors
    /// The connection is broken.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    #[inline]
    pub unsafe fn receive(&self, to: *mut u8, len: usize) -> io::Result<Option<usize>> {
        // SAFETY: writable by the caller's promise.
        now(unsafe { libc::recv(self.fd.as_raw_fd(), to.cast(), len, libc::MSG_DONTWAIT) })
    }

    /// The same into two places: `then` takes what comes behind the first `len` bytes.
    ///
    /// # Errors
    /// The connection is broken.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    #[inline]
    pub unsafe fn receive_two(
        &self,
        to: *mut u8,
        len: usize,
        then: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let mut places = [
            libc::iovec { iov_base: to.cast(), iov_len: len },
            libc::iovec { iov_base: then.as_mut_ptr().cast(), iov_len: then.len() },
        ];
        // SAFETY: `msghdr` is plain data, for which zeros are a value.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = places.as_mut_ptr();
        message.msg_iovlen = places.len() as _;
        // SAFETY: writable by the caller's promise, and a slice of ours.
        now(unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) })
    }

    /// Whether the other end's kernel has all that was sent. True as well of a connection that has ended.
    pub fn is_acknowledged(&self) -> bool {
        let mut left: libc::c_int = 0;
        // SAFETY: the kernel writes one integer (SIOCOUTQ, tcp(7)).
        let answered = unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut left) };
        answered != 0 || left == 0
    }

    /// Says that nothing more will be sent.
    pub fn end(&self) {
        // It fails only where the connection has ended already.
        let _ = shutdown(&self.fd, Shutdown::Write);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Socket, Socket) {
        let listener = Listener::on("127.0.0.1:0".parse().unwrap()).unwrap();
        let to = SocketAddr::from(([127, 0, 0, 1], listener.port().unwrap()));
        let near = Socket::begin_connect(to).unwrap();
        loop {
            if let Some((far, from)) = listener.accept().unwrap() {
                assert!(from.ip().is_loopback() && near.failure().is_none());
                return (near, far);
            }
        }
    }

    #[test]
    fn the_same_is_sent_again_soon_where_the_kernel_can() {
        let (near, _far) = pair();
        let now = || {
            let (mut value, mut size) = (0, mem::size_of::<libc::c_int>() as libc::socklen_t);
            let (fd, at) = (near.fd.as_raw_fd(), (&raw mut value).cast());
            // SAFETY: the kernel writes one int, ours for the call.
            let answer = unsafe {
                libc::getsockopt(fd, libc::IPPROTO_TCP, TCP_RTO_MAX_MS, at, &raw mut size)
            };
            (answer == 0).then_some(value)
        };
        let before = now();
        near.prepare(0, Duration::from_secs(1)).unwrap();
        assert_eq!(now(), before.map(|_| RESEND_GAP_MAX_MILLIS));
        assert!(before.is_none_or(|pause| pause > RESEND_GAP_MAX_MILLIS), "it needs no choice");
    }

    #[test]
    fn bytes_arrive_and_an_end_is_told() {
        let (near, far) = pair();
        near.prepare(0, Duration::from_secs(1)).unwrap();
        assert!(near.hurry_within_host() && far.hurry_within_host());
        let mut got = [0u8; 16];
        // SAFETY: all memory is this function's.
        unsafe {
            assert_eq!(far.receive(got.as_mut_ptr(), 16).unwrap(), None);
            let runs = [Run::new(b"ab".as_ptr(), 2), Run::new(b"cde".as_ptr(), 3)];
            assert_eq!(near.send(&runs).unwrap(), 5);
            assert_eq!(far.receive(got.as_mut_ptr(), 16).unwrap(), Some(5));
            assert_eq!(&got[..5], b"abcde");
            assert_eq!(near.send(&runs).unwrap(), 5);
            let mut rest = [0u8; 4];
            assert_eq!(far.receive_two(got.as_mut_ptr(), 3, &mut rest).unwrap(), Some(5));
            assert_eq!((&got[..3], &rest[..2]), (&b"abc"[..], &b"de"[..]));
            near.end();
            assert_eq!(far.receive(got.as_mut_ptr(), 16).unwrap(), Some(0));
        }
    }
}
