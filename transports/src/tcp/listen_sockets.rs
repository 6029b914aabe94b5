//! The sockets at which a process listens: one for each address that it tells others, all at one
//! port, so that nobody can knock where nobody has been invited.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use super::KEY_LISTENER;
use super::net::{Epoll, Listener, Socket};
use crate::sys::epoll::Interest;

/// How often a port of the kernel's choice is tried: it is free on the first address, and
/// somebody may have it on another one.
const TRIES: u32 = 64;

/// The listening sockets.
#[derive(Debug)]
pub(super) struct ListenSockets {
    listeners: Vec<Listener>,
    /// Their addresses.
    addresses: Vec<IpAddr>,
    port: u16,
}

impl ListenSockets {
    /// Listens at these addresses, as far as the host has them, at the first port of a range that
    /// is free on all, or one of the kernel's choice.
    ///
    /// # Errors
    /// The kernel's, where it lets none of the addresses be listened at; or no port is free.
    pub(super) fn open(
        addresses: &[IpAddr],
        ports: Option<(u16, u16)>,
    ) -> io::Result<ListenSockets> {
        let is_taken = |made: &io::Result<ListenSockets>| {
            made.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::AddrInUse)
        };
        let Some((first, last)) = ports else {
            let mut tries = (0..TRIES).map(|_| ListenSockets::at_port(addresses, 0));
            return tries.find(|made| !is_taken(made)).unwrap_or_else(|| {
                Err(io::Error::other("no port is free on all addresses of this host"))
            });
        };
        let mut tries = (first..=last).map(|port| ListenSockets::at_port(addresses, port));
        tries.find(|made| !is_taken(made)).unwrap_or_else(|| {
            Err(io::Error::other(format!(
                "none of the ports {first} to {last} is free on this host: each process needs one \
                 (FERRITE_TCP_PORTS)"
            )))
        })
    }

    fn at_port(addresses: &[IpAddr], mut port: u16) -> io::Result<ListenSockets> {
        let (mut listeners, mut open) = (Vec::new(), Vec::new());
        let mut failure = io::Error::other("this host has no address to listen at");
        for address in addresses {
            match Listener::on(SocketAddr::new(*address, port)) {
                Ok(listener) => {
                    port = listener.port()?;
                    listeners.push(listener);
                    open.push(*address);
                }
                Err(why) if why.kind() == io::ErrorKind::AddrInUse => return Err(why),
                // It has gone since it was listed, or is not there yet.
                Err(why) => failure = why,
            }
        }
        if listeners.is_empty() {
            return Err(failure);
        }
        Ok(ListenSockets { listeners, addresses: open, port })
    }

    /// The same once more, for another thread.
    pub(super) fn share(&self) -> io::Result<ListenSockets> {
        let listeners = self.listeners.iter().map(Listener::share).collect::<io::Result<_>>()?;
        Ok(ListenSockets { listeners, addresses: self.addresses.clone(), port: self.port })
    }

    /// Lets a set tell when somebody is at one of them. They share a number: who is told asks all.
    pub(super) fn watch(&self, epoll: &Epoll) -> io::Result<()> {
        let mut all = self.listeners.iter();
        all.try_for_each(|one| epoll.add(one.as_fd(), KEY_LISTENER, Interest::Read))
    }

    /// The set tells so no more.
    pub(super) fn unwatch(&self, epoll: &Epoll) -> io::Result<()> {
        self.listeners.iter().try_for_each(|one| epoll.remove(one.as_fd()))
    }

    /// The next connection and where it comes from, or `None` when there is none now.
    pub(super) fn accept(&self) -> io::Result<Option<(Socket, SocketAddr)>> {
        for listener in &self.listeners {
            if let Some(come) = listener.accept()? {
                return Ok(Some(come));
            }
        }
        Ok(None)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn all_listen_sockets_have_one_port_and_no_other_address_is_open() {
        let addresses = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        let listen_sockets = ListenSockets::open(&addresses, None).unwrap();
        assert_eq!(listen_sockets.addresses(), addresses);
        let knock = |at: [u8; 4]| TcpStream::connect((IpAddr::from(at), listen_sockets.port()));
        for address in addresses {
            let _stream = TcpStream::connect((address, listen_sockets.port())).unwrap();
            let come = (0..1000).find_map(|_| listen_sockets.accept().unwrap());
            assert!(come.is_some(), "nobody came to {address}");
        }
        knock([127, 0, 0, 3]).expect_err("nobody listens there");
    }

    #[test]
    fn an_address_that_the_host_has_no_more_is_no_door() {
        let addresses = [[192, 0, 2, 1], [127, 0, 0, 1]].map(IpAddr::from);
        let listen_sockets = ListenSockets::open(&addresses, None).unwrap();
        assert_eq!(listen_sockets.addresses(), &addresses[1..]);
        ListenSockets::open(&addresses[..1], None).expect_err("nobody could come");
    }

    #[test]
    fn ports_are_taken_from_a_range_in_turn_and_must_be_free_on_all_addresses() {
        let addresses = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        // A port that is free when looked for may be taken a moment later: another start is tried then.
        for _ in 0..64 {
            let start = ListenSockets::open(&addresses, None).unwrap().port();
            let Some(range) = start.checked_add(2).map(|last| (start, last)) else { continue };
            // Taken on the second address alone, the first port of the range is no choice.
            let Ok(_one) = Listener::on(SocketAddr::new(addresses[1], start)) else { continue };
            let [Ok(a), Ok(b)] = [(); 2].map(|()| ListenSockets::open(&addresses, Some(range)))
            else {
                continue;
            };
            if (a.port(), b.port()) != (start + 1, start + 2) {
                continue;
            }
            let why = ListenSockets::open(&addresses, Some(range)).unwrap_err().to_string();
            assert!(why.contains("is free on this host") && why.contains("FERRITE_TCP_PORTS"));
            return;
        }
        panic!("no three ports in a row were free");
    }
}
