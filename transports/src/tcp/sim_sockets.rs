//! Sockets, listening sockets and the set that watches them, as the transport uses them, each of the
//! kernel or of the simulated network (`sim_net`), whichever is there when it is made.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::sim_net::{gone, name, with};
use crate::sys;
use crate::sys::epoll::{Interest, News};
use crate::sys::tcp::Run;

/// A socket of the kernel, or of the simulated network.
#[derive(Debug)]
pub(super) enum Socket {
    Kernel(sys::tcp::Socket),
    Simulated(OwnedFd),
}

impl Socket {
    pub(super) fn begin_connect(to: SocketAddr) -> io::Result<Socket> {
        match with(|net| net.connect(to)) {
            Some(fd) => fd.map(Socket::Simulated),
            None => sys::tcp::Socket::begin_connect(to).map(Socket::Kernel),
        }
    }

    pub(super) fn failure(&self) -> Option<io::Error> {
        match self {
            Socket::Kernel(socket) => socket.failure(),
            Socket::Simulated(_) => None,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        match self {
            Socket::Kernel(socket) => socket.is_connected(),
            Socket::Simulated(fd) => with(|net| net.is_connected(fd.as_raw_fd())).unwrap_or(false),
        }
    }

    pub(super) fn prepare(&self, buffer: usize, silence: Duration) -> io::Result<()> {
        match self {
            Socket::Kernel(socket) => socket.prepare(buffer, silence),
            Socket::Simulated(_) => Ok(()),
        }
    }

    pub(super) fn hurry_within_host(&self) -> bool {
        match self {
            Socket::Kernel(socket) => socket.hurry_within_host(),
            Socket::Simulated(_) => false,
        }
    }

    /// See [`sys::tcp::Socket::send`].
    ///
    /// # Safety
    /// Every run is readable for the call.
    pub(super) unsafe fn send(&self, runs: &[Run]) -> io::Result<usize> {
        match self {
            // SAFETY: passed on.
            Socket::Kernel(socket) => unsafe { socket.send(runs) },
            Socket::Simulated(fd) => {
                // SAFETY: readable by the caller's promise.
                let bytes: Vec<u8> = runs.iter().flat_map(|run| unsafe { run.to_vec() }).collect();
                with(|net| net.send(fd.as_raw_fd(), &bytes)).unwrap_or_else(|| Err(gone()))
            }
        }
    }

    /// See [`sys::tcp::Socket::receive`].
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub(super) unsafe fn receive(&self, to: *mut u8, len: usize) -> io::Result<Option<usize>> {
        match self {
            // SAFETY: passed on.
            Socket::Kernel(socket) => unsafe { socket.receive(to, len) },
            // SAFETY: passed on.
            Socket::Simulated(_) => unsafe { self.receive_two(to, len, &mut []) },
        }
    }

    /// See [`sys::tcp::Socket::receive_two`].
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub(super) unsafe fn receive_two(
        &self,
        to: *mut u8,
        len: usize,
        then: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let fd = match self {
            // SAFETY: passed on.
            Socket::Kernel(socket) => return unsafe { socket.receive_two(to, len, then) },
            Socket::Simulated(fd) => fd.as_raw_fd(),
        };
        let came = with(|net| net.receive(fd, len + then.len())).unwrap_or_else(|| Err(gone()))?;
        Ok(came.map(|bytes| {
            let (first, rest) = bytes.split_at(bytes.len().min(len));
            // SAFETY: at most `len` bytes, writable by the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(first.as_ptr(), to, first.len()) };
            then[..rest.len()].copy_from_slice(rest);
            bytes.len()
        }))
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        match self {
            Socket::Kernel(socket) => socket.is_acknowledged(),
            Socket::Simulated(fd) => {
                with(|net| net.is_acknowledged(fd.as_raw_fd())).unwrap_or(true)
            }
        }
    }

    pub(super) fn end(&self) {
        match self {
            Socket::Kernel(socket) => socket.end(),
            Socket::Simulated(fd) => drop(with(|net| net.end_one_way(fd.as_raw_fd()))),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Socket::Simulated(fd) = self {
            with(|net| net.close(fd.as_raw_fd()));
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Kernel(socket) => socket.as_fd(),
            Socket::Simulated(fd) => fd.as_fd(),
        }
    }
}

/// A listening socket of the kernel, or of the simulated network.
#[derive(Debug)]
pub(super) enum Listener {
    Kernel(sys::tcp::Listener),
    Simulated(OwnedFd, SocketAddr),
}

impl Listener {
    pub(super) fn on(at: SocketAddr) -> io::Result<Listener> {
        let made = with(|net| {
            let (fd, at) = net.listen(at)?;
            Ok(Listener::Simulated(fd, at))
        });
        made.unwrap_or_else(|| sys::tcp::Listener::on(at).map(Listener::Kernel))
    }

    pub(super) fn share(&self) -> io::Result<Listener> {
        match self {
            Listener::Kernel(listener) => listener.share().map(Listener::Kernel),
            Listener::Simulated(..) => Err(ErrorKind::Unsupported.into()),
        }
    }

    pub(super) fn port(&self) -> io::Result<u16> {
        match self {
            Listener::Kernel(listener) => listener.port(),
            Listener::Simulated(_, at) => Ok(at.port()),
        }
    }

    pub(super) fn accept(&self) -> io::Result<Option<(Socket, SocketAddr)>> {
        match self {
            Listener::Kernel(listener) => {
                Ok(listener.accept()?.map(|(socket, from)| (Socket::Kernel(socket), from)))
            }
            Listener::Simulated(_, at) => {
                let come = with(|net| net.accept(*at)).unwrap_or_else(|| Err(gone()))?;
                Ok(come.map(|(fd, from)| (Socket::Simulated(fd), from)))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Simulated(fd, _) = self {
            with(|net| net.close(fd.as_raw_fd()));
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Kernel(listener) => listener.as_fd(),
            Listener::Simulated(fd, _) => fd.as_fd(),
        }
    }
}

/// A set of the kernel, or of the simulated network.
#[derive(Debug)]
pub(super) enum Epoll {
    Kernel(sys::epoll::Epoll),
    Simulated(OwnedFd, usize),
}

impl Epoll {
    pub(super) fn new() -> io::Result<Epoll> {
        let made = with(|net| {
            let watch = net.new_watch();
            Ok(Epoll::Simulated(name()?, watch))
        });
        made.unwrap_or_else(|| sys::epoll::Epoll::new().map(Epoll::Kernel))
    }

    pub(super) fn add(&self, fd: BorrowedFd<'_>, key: u64, interest: Interest) -> io::Result<()> {
        match self {
            Epoll::Kernel(set) => set.add(fd, key, interest),
            Epoll::Simulated(_, watch) => {
                with(|net| net.watch(*watch, fd.as_raw_fd(), key, interest)).unwrap_or(Ok(()))
            }
        }
    }

    pub(super) fn change(
        &self,
        fd: BorrowedFd<'_>,
        key: u64,
        interest: Interest,
    ) -> io::Result<()> {
        match self {
            Epoll::Kernel(set) => set.change(fd, key, interest),
            Epoll::Simulated(..) => self.add(fd, key, interest),
        }
    }

    pub(super) fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        match self {
            Epoll::Kernel(set) => set.remove(fd),
            Epoll::Simulated(_, watch) => {
                with(|net| net.unwatch(*watch, fd.as_raw_fd()));
                Ok(())
            }
        }
    }

    pub(super) fn look(&self, each: impl FnMut(News)) -> io::Result<()> {
        match self {
            Epoll::Kernel(set) => set.look(each),
            Epoll::Simulated(_, watch) => {
                with(|net| net.look(*watch)).into_iter().flatten().for_each(each);
                Ok(())
            }
        }
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Epoll::Kernel(set) => set.as_fd(),
            Epoll::Simulated(fd, _) => fd.as_fd(),
        }
    }
}
