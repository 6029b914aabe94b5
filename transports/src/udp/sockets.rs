//! The sockets of a process: one at which it hears everybody, and several by which it sends in turn (the
//! four send queues of paper 001). The first of those is the one at which it hears.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

use super::UdpSettings;
use super::net::{Epoll, Socket};
use super::train::Train;
use crate::sys::epoll::Interest;

/// Bytes asked for on the way out: a window of a fast network.
const SEND_BYTES: usize = 4 << 20;

/// What became of a part of a train.
pub(super) enum Fate {
    /// The kernel has taken so many datagrams.
    Sent(usize),
    /// It has no room now.
    NoRoom,
    /// One is too long for the way.
    TooLong,
    /// There is no way by this address now.
    NoWay(io::Error),
}

/// The sockets.
pub(super) struct Sockets {
    all: Vec<Socket>,
    /// Which is next.
    turn: usize,
    /// Whether several datagrams go in one call: until the kernel refuses it.
    joins: bool,
    /// It has refused some just now.
    is_refused: bool,
    port: u16,
}

impl Sockets {
    /// Opens them at an address, at the first port that is free out of a range, or one of the kernel's
    /// choice.
    ///
    /// # Errors
    /// The kernel's, or no port is free.
    pub(super) fn open(at: IpAddr, settings: &UdpSettings) -> io::Result<Sockets> {
        let first = match settings.ports.0 {
            None => Socket::on(SocketAddr::new(at, 0))?,
            Some((first, last)) => {
                let mut tries = (first..=last).map(|port| Socket::on(SocketAddr::new(at, port)));
                tries.find_map(Result::ok).ok_or_else(|| {
                    io::Error::other(format!(
                        "none of the UDP ports {first} to {last} is free on this host: each process needs \
                         one (FERRITE_UDP_PORTS)"
                    ))
                })?
            }
        };
        let port = first.port()?;
        first.set_receive_bytes(settings.receive_bytes as usize)?;
        first.gather();
        let mut all = vec![first];
        while all.len() < settings.sockets as usize {
            all.push(Socket::on(SocketAddr::new(at, 0))?);
        }
        all.iter().try_for_each(|socket| socket.set_send_bytes(SEND_BYTES))?;
        Ok(Sockets { all, turn: 0, joins: true, is_refused: false, port })
    }

    /// The port at which this process hears.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Lets a set tell when something has come.
    pub(super) fn watch(&self, epoll: &Epoll) -> io::Result<()> {
        epoll.add(self.all[0].as_fd(), 0, Interest::Read)
    }

    /// Whether the set is also to tell when there is room again.
    pub(super) fn watch_room(&self, epoll: &Epoll, wanted: bool) -> io::Result<()> {
        epoll.change(
            self.all[0].as_fd(),
            0,
            if wanted { Interest::ReadWrite } else { Interest::Read },
        )
    }

    /// Takes datagrams that have come.
    #[inline]
    pub(super) fn receive(&self, to: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        self.all[0].receive(to)
    }

    /// Sends the next datagrams of a train by the next socket.
    ///
    /// # Safety
    /// What the train holds is readable.
    #[inline]
    pub(super) unsafe fn send(&mut self, to: SocketAddr, train: &Train) -> Fate {
        let Some(part) = train.next(self.joins && !self.is_refused) else { return Fate::Sent(0) };
        let socket = &self.all[self.turn];
        // SAFETY: by the caller's promise.
        let sent = unsafe { socket.send(to, train.runs(part.runs), part.each) };
        self.turn = (self.turn + 1) % self.all.len();
        match sent {
            Ok(true) => {
                if std::mem::take(&mut self.is_refused) {
                    self.joins = false;
                }
                Fate::Sent(part.count)
            }
            Ok(false) => Fate::NoRoom,
            Err(error) => match error.raw_os_error() {
                Some(libc::EMSGSIZE) => {
                    self.is_refused = false;
                    Fate::TooLong
                }
                // Each is too long for the way, or this kernel or its card cannot cut them: one alone
                // will tell.
                Some(libc::EIO | libc::EINVAL | libc::EOPNOTSUPP) if part.each > 0 => {
                    self.is_refused = true;
                    Fate::Sent(0)
                }
                Some(libc::ENOBUFS | libc::ENOMEM) => Fate::NoRoom,
                // A rule of this host's firewall, or a refusal that an earlier datagram met: it counts as
                // lost on its way.
                Some(libc::EPERM | libc::ECONNREFUSED) => Fate::Sent(part.count),
                _ => Fate::NoWay(error),
            },
        }
    }
}

/// The address to open sockets at for a process that is to be reached at `places`: that one if there is
/// but one, else all of the host's, since one socket hears everybody.
pub(super) fn place(places: &[IpAddr]) -> IpAddr {
    match places {
        [only] => *only,
        _ if places.iter().any(IpAddr::is_ipv6) => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    }
}
