//! The sockets of a process: one at which it hears everybody, and several by which it sends in turn (the
//! four send queues of paper 001). The first of those is the one at which it hears.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use machine::interfaces::{self, Interface};

use super::net::{self, Epoll, Socket, mtu_to};
use super::{UdpConfig, UdpSettings};
use crate::datagrams::{Address, BASE_BYTES, Batch, Carrier, Fate, Path};
use crate::sys::epoll::Interest;
use crate::sys::udp::BATCH_BYTES_MAX;
use crate::tcp::Card;

/// Bytes asked for on the way out: a window of a fast network.
const SEND_BYTES: usize = 4 << 20;
/// Bytes of headers of UDP and IP.
const HEADERS_V4: usize = 28;
const HEADERS_V6: usize = 48;

/// The sockets.
pub struct Sockets {
    all: Vec<Socket>,
    /// Which is next.
    turn: usize,
    /// Whether several datagrams go in one call: until the kernel refuses it.
    joins: bool,
    /// It has refused some just now.
    is_refused: bool,
    /// Those that had no room, and those of which the set is to tell when they have: a bit for each.
    full: u64,
    watched: u64,
    /// Where the next datagrams are put, unless it is lent.
    buffer: Box<[u8]>,
    epoll: Epoll,
    own: Vec<Interface>,
    card: Card,
    /// Whether the user has named the interfaces at which to hear.
    is_told: bool,
}

/// Datagrams that the kernel has joined, in the buffer of the sockets.
pub struct Lent {
    buffer: Box<[u8]>,
    len: usize,
}

impl Deref for Lent {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// By the address alone: several sockets send for one that hears.
impl Address for SocketAddr {
    type Source = IpAddr;

    #[inline]
    fn is_of(&self, source: IpAddr) -> bool {
        self.ip() == source
    }

    fn name(&self) -> String {
        self.ip().to_string()
    }
}

impl Sockets {
    /// Opens them.
    ///
    /// # Errors
    /// The kernel's, no port is free, or none of the wanted interfaces is up.
    pub(super) fn open(config: &UdpConfig) -> io::Result<Sockets> {
        let own = interfaces::all()?;
        let UdpConfig { interfaces, route, one_host, .. } = config;
        let (mut told, places) =
            Card::places(&own, interfaces, *route, *one_host, "FERRITE_UDP_INTERFACES")?;
        if let [only] = places[..] {
            told.retain(|address| *address == only);
        }
        let all = open_at(place(&places), &config.udp)?;
        let epoll = Epoll::new()?;
        epoll.add(all[0].as_fd(), 0, Interest::Read)?;
        Ok(Sockets {
            turn: 0,
            joins: true,
            is_refused: false,
            full: 0,
            watched: 0,
            buffer: vec![0; BATCH_BYTES_MAX].into_boxed_slice(),
            epoll,
            own,
            card: Card::new(all[0].port()?, told, *route),
            is_told: !interfaces.is_empty(),
            all,
        })
    }

    /// A socket has no room now.
    #[cold]
    fn refuse(&mut self, number: usize) -> Fate {
        self.full |= 1 << number;
        Fate::NoRoom
    }

    /// Whether the set is also to tell when a socket has room.
    fn watch(&self, number: usize, wanted: bool) -> io::Result<()> {
        let (fd, key) = (self.all[number].as_fd(), number as u64);
        match (number, wanted) {
            (0, true) => self.epoll.change(fd, key, Interest::ReadWrite),
            (0, false) => self.epoll.change(fd, key, Interest::Read),
            (_, true) => self.epoll.add(fd, key, Interest::Write),
            (_, false) => self.epoll.remove(fd),
        }
    }
}

impl Carrier for Sockets {
    const NAME: &'static str = "UDP";
    const PURPOSE: &'static str = "Ferrite MPI, tags of datagrams over UDP, version 1";
    const LOOKS_ARE_CHEAP: bool = false;

    type Address = SocketAddr;
    type Lent = Lent;

    fn card(&self) -> String {
        self.card.to_text()
    }

    fn routes(
        &mut self,
        _: Option<u32>,
        card: &str,
        is_here: bool,
    ) -> Result<Vec<SocketAddr>, String> {
        let unread = || format!("its UDP card cannot be read: {card:.100}");
        let card = Card::from_text(card).ok_or_else(unread)?;
        // Ranks that were told interfaces hear there alone, also those of one host.
        Ok(match is_here && self.is_told {
            true => card.told(),
            false => card.routes(&self.own, is_here),
        })
    }

    fn path(&self, to: SocketAddr) -> Path {
        let headers = if to.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
        // Where the kernel cannot say, what every way carries.
        let mtu = mtu_to(to).unwrap_or(usize::from(BASE_BYTES) + headers);
        let bytes = mtu.saturating_sub(headers);
        // Where there is no network, the kernel knows what gets there.
        Path { bytes, sure: if to.ip().is_loopback() { bytes } else { BASE_BYTES.into() } }
    }

    #[inline]
    unsafe fn send(&mut self, to: SocketAddr, batch: &Batch) -> Fate {
        let Some(part) = batch.next(self.joins && !self.is_refused) else { return Fate::Sent(0) };
        let turn = self.turn;
        let socket = &self.all[turn];
        // SAFETY: by the caller's promise.
        let sent = unsafe { socket.send(to, batch.runs(part.runs), part.each) };
        self.turn = (turn + 1) % self.all.len();
        match sent {
            Ok(true) => {
                if std::mem::take(&mut self.is_refused) {
                    self.joins = false;
                }
                Fate::Sent(part.count)
            }
            Ok(false) => self.refuse(turn),
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
                Some(libc::ENOBUFS | libc::ENOMEM) => self.refuse(turn),
                // A rule of this host's firewall, or a refusal that an earlier datagram met: it counts as
                // lost on its way.
                Some(libc::EPERM | libc::ECONNREFUSED) => Fate::Sent(part.count),
                _ => Fate::Unreachable(error),
            },
        }
    }

    #[inline]
    fn receive(&mut self) -> Option<(Lent, IpAddr)> {
        // A refusal that a datagram met on its way: it was lost, as others are.
        let (len, from) = self.all[0].receive(&mut self.buffer).ok()??;
        Some((Lent { buffer: std::mem::take(&mut self.buffer), len }, from.ip()))
    }

    #[inline]
    fn give_back(&mut self, lent: Lent) {
        self.buffer = lent.buffer;
    }

    fn watch_room(&mut self, wanted: bool) {
        let now = if wanted { self.full } else { 0 };
        for number in (0..self.all.len()).filter(|number| (now ^ self.watched) >> number & 1 == 1) {
            // Of a socket that cannot be watched the next look finds out.
            let _ = self.watch(number, now >> number & 1 == 1);
        }
        (self.full, self.watched) = (now, now);
    }

    fn news(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    #[inline]
    fn now() -> Instant {
        net::now()
    }

    #[inline]
    fn ticks() -> Option<u64> {
        net::ticks()
    }
}

/// Opens sockets at an address, the first at the first port that is free out of a range, or one of the kernel's
/// choice.
///
/// # Errors
/// The kernel's, or no port is free.
fn open_at(at: IpAddr, settings: &UdpSettings) -> io::Result<Vec<Socket>> {
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
    first.set_receive_bytes(settings.receive_bytes as usize)?;
    first.gather();
    let mut all = vec![first];
    while all.len() < settings.sockets as usize {
        all.push(Socket::on(SocketAddr::new(at, 0))?);
    }
    all.iter().try_for_each(|socket| socket.set_send_bytes(SEND_BYTES))?;
    Ok(all)
}

/// The address to open sockets at for a process that is to be reached at `places`: that one if there is
/// but one, else all of the host's, since one socket hears everybody.
fn place(places: &[IpAddr]) -> IpAddr {
    match places {
        [only] => *only,
        _ if places.iter().any(IpAddr::is_ipv6) => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mpi_core::buffer::RawBytes;
    use mpi_core::header::Header;
    use mpi_core::port::{Body, PeerId, ProcessName, Transport};

    use crate::datagrams::tests::{config, port};
    use crate::udp::sim_net::{FAIR, Sim, Weather, address};
    use crate::udp::{Udp, UdpSettings};

    /// The last of the sockets is full, the others are not.
    #[test]
    fn who_waits_for_room_is_woken_by_the_socket_that_had_none() {
        let sim = Sim::begin(1, vec![[FAIR; 2]]);
        let mut end =
            Udp::new(config(0, UdpSettings { sockets: 2, ..UdpSettings::default() })).unwrap();
        end.add_peer(PeerId(1), &ProcessName { job: "test".into(), rank: 1 });
        end.set_routes(PeerId(1), vec![(address(1, 0), 7).into()]);
        let mut send =
            || end.send(PeerId(1), &Header::default(), Body::Bytes(RawBytes::EMPTY)).unwrap();
        send();
        sim.set_weather(vec![[Weather { full: 1.0, ..FAIR }; 2]]);
        send();
        assert!(end.is_restless(), "nothing was refused");
        assert!(sim.news_at(port(&end)).is_some_and(|at| at > Duration::ZERO), "woken for nothing");
    }
}
