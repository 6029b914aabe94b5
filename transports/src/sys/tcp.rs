//! TCP sockets that never wait: listening, connecting, and moving bytes from and to raw memory
//! (tcp(7), ip(7)). User memory is read and written by the kernel in place, without a slice.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

pub use super::inet::Run;
use super::inet::{address, end_of, from_kernel, now, option};
use super::limits::raise_descriptors;
use super::wait;

/// Connections that the kernel completes before this process accepts them. The kernel cuts it to
/// its own limit.
const BACKLOG: libc::c_int = 4096;
/// Seconds between two questions of the kernel whether the other end is there.
const QUESTION_GAP: libc::c_int = 1;
/// The longest pause between two tries to send the same again, where the kernel (6.15 and later) lets it be chosen:
/// else the pauses double, and a cable that was cut for a minute is found mended only after up to another.
const RESEND_GAP_MAX_MILLIS: libc::c_int = 1000;
/// The option for it, which the C library does not name yet.
const TCP_RTO_MAX_MS: libc::c_int = 44;
/// The congestion control that every kernel has and every user may choose, and that never paces.
const UNPACED: &[u8] = b"reno";

/// A socket that is connected or about to be.
#[derive(Debug)]
pub struct Tcp {
    fd: OwnedFd,
}

/// A socket that takes connections.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
}

fn socket(family: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: integers only.
    let fd = with_room(|| unsafe { libc::socket(family, kind, 0) });
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that the kernel just made and nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a descriptor. One for each peer may be more than the soft limit, which is low for the sake of
/// programs that use `select`: it is raised only where the job could else not go on.
fn with_room(mut make: impl FnMut() -> libc::c_int) -> libc::c_int {
    let fd = make();
    let is_full = fd < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EMFILE);
    if is_full && raise_descriptors() { make() } else { fd }
}

impl Listener {
    /// A socket that listens on one address.
    ///
    /// # Errors
    /// The kernel's.
    pub fn on(at: SocketAddr) -> io::Result<Listener> {
        let fd = socket(if at.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 })?;
        let (address, len) = address(at);
        // SAFETY: `address` is ours for the call and `len` bytes of it are filled.
        if unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: integers only.
        if unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) } != 0 {
            return Err(io::Error::last_os_error());
        }
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
        let at = end_of(self.fd.as_fd(), libc::getsockname)?;
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
    pub fn accept(&self) -> io::Result<Option<(Tcp, SocketAddr)>> {
        // SAFETY: plain data, for which zeros are a value.
        let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let mut len = mem::size_of_val(&storage) as libc::socklen_t;
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the kernel writes at most `len` bytes into storage of ours.
        let fd = with_room(|| unsafe {
            libc::accept4(self.fd.as_raw_fd(), (&raw mut storage).cast(), &raw mut len, flags)
        });
        if fd < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR | libc::ECONNABORTED) => Ok(None),
                // The kernel looks for a descriptor before it looks for a connection.
                Some(libc::EMFILE | libc::ENFILE) if !self.is_called()? => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: a descriptor that the kernel just made and nobody else owns.
        let socket = Tcp { fd: unsafe { OwnedFd::from_raw_fd(fd) } };
        let from = from_kernel(&storage).unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)));
        Ok(Some((socket, from)))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Tcp {
    /// Begins to connect to `to`; the socket becomes writable when that has ended, and
    /// [`Tcp::failure`] then says how.
    ///
    /// # Errors
    /// The kernel's, where it knows at once that there is no way.
    pub fn begin_connect(to: SocketAddr) -> io::Result<Tcp> {
        let fd = socket(if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 })?;
        let (address, len) = address(to);
        // SAFETY: `address` is ours for the call and `len` bytes of it are filled.
        if unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
        }
        Ok(Tcp { fd })
    }

    /// What has gone wrong on the socket since this was last asked.
    pub fn failure(&self) -> Option<io::Error> {
        let mut code: libc::c_int = 0;
        let mut len = mem::size_of_val(&code) as libc::socklen_t;
        // SAFETY: one int, ours for the call.
        let answer = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast(),
                &raw mut len,
            )
        };
        match (answer, code) {
            (0, 0) => None,
            (0, code) => Some(io::Error::from_raw_os_error(code)),
            _ => Some(io::Error::last_os_error()),
        }
    }

    /// Whether the other end's host has taken the connection.
    pub fn is_connected(&self) -> bool {
        end_of(self.fd.as_fd(), libc::getpeername).is_ok()
    }

    /// If both ends are on this host, chooses a congestion control that does not pace: there is no
    /// network to be spared, and BBR holds a message back by a rate that it has measured while the
    /// other end computed. Whether that was done.
    pub fn hurry_within_host(&self) -> bool {
        let end = |which| end_of(self.fd.as_fd(), which).ok().flatten().map(|at| at.ip());
        let is_here = end(libc::getpeername).is_some_and(|ip| end(libc::getsockname) == Some(ip));
        // SAFETY: the name is a constant, and the kernel reads as many bytes as it is told.
        is_here
            && unsafe {
                libc::setsockopt(
                    self.fd.as_raw_fd(),
                    libc::IPPROTO_TCP,
                    libc::TCP_CONGESTION,
                    UNPACED.as_ptr().cast(),
                    UNPACED.len() as libc::socklen_t,
                ) == 0
            }
    }

    /// Makes the socket one for frames: nothing is held back, an other end that does not take
    /// what is sent for as long as `silence` ends the connection, one that answers no question
    /// soon after, and the kernel's buffers have `buffer` bytes where that is not 0.
    ///
    /// # Errors
    /// The kernel's.
    pub fn prepare(&self, buffer: usize, silence: Duration) -> io::Result<()> {
        let fd = self.fd.as_fd();
        let millis = libc::c_int::try_from(silence.as_millis()).unwrap_or(libc::c_int::MAX);
        option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        option(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, millis)?;
        option(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        // An older kernel refuses it, and goes on as it does.
        let _ = option(fd, libc::IPPROTO_TCP, TCP_RTO_MAX_MS, RESEND_GAP_MAX_MILLIS);
        let idle = (millis / 1000).clamp(1, 32_000);
        option(fd, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, idle)?;
        option(fd, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, QUESTION_GAP)?;
        let buffer = libc::c_int::try_from(buffer).unwrap_or(libc::c_int::MAX);
        if buffer > 0 {
            option(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, buffer)?;
            option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, buffer)?;
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
        // SAFETY: integers only. It fails only where the connection has ended already.
        unsafe { libc::shutdown(self.fd.as_raw_fd(), libc::SHUT_WR) };
    }
}

impl AsFd for Tcp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Tcp, Tcp) {
        let listener = Listener::on("127.0.0.1:0".parse().unwrap()).unwrap();
        let to = SocketAddr::from(([127, 0, 0, 1], listener.port().unwrap()));
        let near = Tcp::begin_connect(to).unwrap();
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
