//! Sockets and the set that watches one, as the transport uses them, each of the kernel or of the simulated
//! network (`sim_net`), whichever is there when it is made.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::sim_net::with;
use crate::sys;
use crate::sys::epoll::Interest;
use crate::sys::inet::Run;

/// A descriptor that is but a name.
fn name() -> io::Result<OwnedFd> {
    Ok(File::open("/dev/null")?.into())
}

fn gone() -> io::Error {
    io::Error::other("the simulated network is gone")
}

/// A socket of the kernel, or of the simulated network, with its port there.
#[derive(Debug)]
pub(crate) enum Socket {
    Kernel(sys::udp::Udp),
    Simulated(OwnedFd, u16),
}

impl Socket {
    pub(crate) fn on(at: SocketAddr) -> io::Result<Socket> {
        let made = with(|net| {
            let fd = name()?;
            let port = net.open(fd.as_raw_fd());
            Ok(Socket::Simulated(fd, port))
        });
        made.unwrap_or_else(|| sys::udp::Udp::on(at).map(Socket::Kernel))
    }

    pub(crate) fn port(&self) -> io::Result<u16> {
        match self {
            Socket::Kernel(socket) => socket.port(),
            Socket::Simulated(_, port) => Ok(*port),
        }
    }

    pub(crate) fn set_receive_bytes(&self, bytes: usize) -> io::Result<()> {
        match self {
            Socket::Kernel(socket) => socket.set_receive_bytes(bytes),
            Socket::Simulated(fd, _) => {
                with(|net| net.set_receive_bytes(fd.as_raw_fd(), bytes)).ok_or_else(gone)
            }
        }
    }

    pub(crate) fn set_send_bytes(&self, bytes: usize) -> io::Result<()> {
        match self {
            Socket::Kernel(socket) => socket.set_send_bytes(bytes),
            Socket::Simulated(..) => Ok(()),
        }
    }

    pub(crate) fn gather(&self) -> bool {
        match self {
            Socket::Kernel(socket) => socket.gather(),
            Socket::Simulated(fd, _) => with(|net| net.gather(fd.as_raw_fd())).is_some(),
        }
    }

    /// See [`sys::udp::Udp::send`].
    ///
    /// # Safety
    /// Every run is readable for the call.
    pub(crate) unsafe fn send(&self, to: SocketAddr, runs: &[Run], each: u16) -> io::Result<bool> {
        match self {
            // SAFETY: passed on.
            Socket::Kernel(socket) => unsafe { socket.send(to, runs, each) },
            Socket::Simulated(fd, _) => {
                // SAFETY: readable by the caller's promise.
                let bytes: Vec<u8> = runs.iter().flat_map(|run| unsafe { run.to_vec() }).collect();
                let sent = with(|net| net.send(fd.as_raw_fd(), to, &bytes, each.into()));
                sent.unwrap_or_else(|| Err(gone()))
            }
        }
    }

    pub(crate) fn receive(&self, to: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        match self {
            Socket::Kernel(socket) => socket.receive(to),
            Socket::Simulated(fd, _) => {
                with(|net| net.receive(fd.as_raw_fd(), to)).ok_or_else(gone)
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Socket::Simulated(fd, _) = self {
            with(|net| net.close(fd.as_raw_fd()));
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Kernel(socket) => socket.as_fd(),
            Socket::Simulated(fd, _) => fd.as_fd(),
        }
    }
}

/// A set of the kernel, or of the simulated network.
#[derive(Debug)]
pub(crate) enum Epoll {
    Kernel(sys::epoll::Epoll),
    Simulated(OwnedFd),
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        match with(|_| name()) {
            Some(name) => name.map(Epoll::Simulated),
            None => sys::epoll::Epoll::new().map(Epoll::Kernel),
        }
    }

    pub(crate) fn add(&self, fd: BorrowedFd<'_>, key: u64, interest: Interest) -> io::Result<()> {
        match self {
            Epoll::Kernel(set) => set.add(fd, key, interest),
            Epoll::Simulated(_) => with(|net| net.watch(fd.as_raw_fd(), interest)).ok_or_else(gone),
        }
    }

    pub(crate) fn change(
        &self,
        fd: BorrowedFd<'_>,
        key: u64,
        interest: Interest,
    ) -> io::Result<()> {
        match self {
            Epoll::Kernel(set) => set.change(fd, key, interest),
            Epoll::Simulated(_) => self.add(fd, key, interest),
        }
    }

    pub(crate) fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        match self {
            Epoll::Kernel(set) => set.remove(fd),
            Epoll::Simulated(_) => self.add(fd, 0, Interest::Read),
        }
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Epoll::Kernel(set) => set.as_fd(),
            Epoll::Simulated(fd) => fd.as_fd(),
        }
    }
}

/// See [`sys::udp::mtu_to`].
pub(crate) fn mtu_to(to: SocketAddr) -> io::Result<usize> {
    with(|net| net.mtu_to(to)).map_or_else(|| sys::udp::mtu_to(to), Ok)
}
