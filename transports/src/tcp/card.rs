//! The business card that tells where a process listens: addresses of its host.
//!
//! `tcp1:PORT:ADDRESS:ADDRESS…` in hexadecimal digits, 8 for an address of version 4, 32 for one of
//! version 6; as many as a card has room for, the best first. With a `+` before it the first is
//! the launcher's own route to the host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use machine::interfaces::Interface;

use crate::cards::CARD_MAX;

const CARD_KIND: &str = "tcp1";

/// Where a process listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// The port, the same on all addresses.
    pub port: u16,
    /// The host's addresses, loopback aside.
    pub addresses: Vec<IpAddr>,
    /// Whether the first of them is the one by which the launcher has reached the host.
    pub first_is_proven: bool,
}

impl Card {
    /// What a process tells others of its addresses, and at which of them it listens, by the wanted
    /// interfaces, which the setting `name` gives.
    ///
    /// # Errors
    /// The kernel's, or none of the wanted interfaces is up.
    pub(crate) fn places(
        own: &[Interface],
        wanted: &str,
        route: Option<IpAddr>,
        one_host: bool,
        name: &str,
    ) -> io::Result<(Vec<IpAddr>, Vec<IpAddr>)> {
        let addresses = advertised(own, wanted);
        if !wanted.is_empty() && addresses.is_empty() {
            return Err(io::Error::other(no_such(own, wanted, name)));
        }
        // What there is no room for on a card need not be listened at.
        let told = Card::new(0, addresses, route).addresses;
        let places = listened_at(&told, own, wanted, one_host);
        Ok((told, places))
    }

    /// The card of a process that listens at these addresses, the best first, as many as there is
    /// room for; `route` is the one by which the launcher has reached the host, if that is known.
    pub(crate) fn new(port: u16, mut addresses: Vec<IpAddr>, route: Option<IpAddr>) -> Card {
        let place = addresses.iter().position(|address| Some(*address) == route);
        if let Some(place) = place {
            addresses[..=place].rotate_right(1);
        }
        let mut card = Card { port, addresses: Vec::new(), first_is_proven: place.is_some() };
        for address in addresses {
            card.addresses.push(address);
            if card.to_text().len() > CARD_MAX {
                card.addresses.pop();
            }
        }
        card
    }

    /// The card as text of at most [`CARD_MAX`] characters.
    pub fn to_text(&self) -> String {
        let mut text = format!("{CARD_KIND}:{:04x}", self.port);
        for (place, address) in self.addresses.iter().enumerate() {
            let mark = if self.first_is_proven && place == 0 { ":+" } else { ":" };
            let hex = match address {
                IpAddr::V4(v4) => format!("{mark}{:08x}", u32::from(*v4)),
                IpAddr::V6(v6) => format!("{mark}{:032x}", u128::from(*v6)),
            };
            text.push_str(&hex);
        }
        text
    }

    /// Reads a card that anybody may have written.
    pub fn from_text(text: &str) -> Option<Card> {
        let mut parts = text.split(':');
        if text.len() > CARD_MAX || parts.next()? != CARD_KIND {
            return None;
        }
        let port = u16::from_str_radix(parts.next()?, 16).ok()?;
        let address = |hex: &str| match hex.len() {
            8 => u32::from_str_radix(hex, 16).ok().map(|bits| IpAddr::V4(bits.into())),
            32 => u128::from_str_radix(hex, 16).ok().map(|bits| IpAddr::V6(bits.into())),
            _ => None,
        };
        let mut parts = parts.peekable();
        let mark = parts.peek().and_then(|first| first.strip_prefix('+'));
        let proven = mark.map(|first| address(first).ok_or(())).transpose().ok()?;
        let others = parts.skip(usize::from(proven.is_some()));
        let others = others.map(address).collect::<Option<Vec<IpAddr>>>()?;
        let addresses = proven.into_iter().chain(others).collect();
        (port != 0).then_some(Card { port, addresses, first_is_proven: proven.is_some() })
    }

    /// The addresses that it tells, as they are.
    pub(crate) fn told(&self) -> Vec<SocketAddr> {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port)).collect()
    }

    /// Where to try to reach this process from a host with these interfaces, the most promising
    /// first. What the own host has too (a bridge of its containers, say) is left out: behind it
    /// is not the peer. On one host, `is_here`, the loopback is the first way, by whichever version it has an address
    /// of; a peer that was told its interfaces listens at these alone.
    pub fn routes(&self, own: &[Interface], is_here: bool) -> Vec<SocketAddr> {
        if is_here {
            let here = loopback(own).unwrap_or(Ipv4Addr::LOCALHOST.into());
            let told = self.addresses.iter().copied().filter(|address| *address != here);
            let routes = [here].into_iter().chain(told);
            return routes.map(|address| SocketAddr::new(address, self.port)).collect();
        }
        let mut routes: Vec<IpAddr> = self.addresses.clone();
        routes.retain(|address| own.iter().all(|interface| interface.address != *address));
        // The sort is stable: the peer's order stays within each class.
        let proven = self.addresses.first().filter(|_| self.first_is_proven);
        routes.sort_by_key(|address| {
            let is_near = own.iter().any(|interface| interface.reaches(*address));
            (proven != Some(address), !is_near)
        });
        routes.into_iter().map(|address| SocketAddr::new(address, self.port)).collect()
    }
}

/// The loopback's address by which processes of one host reach each other.
fn loopback(own: &[Interface]) -> Option<IpAddr> {
    let loopbacks = own.iter().map(|interface| interface.address);
    loopbacks.filter(IpAddr::is_loopback).min_by_key(IpAddr::is_ipv6)
}

/// The addresses to put on a card: those of the wanted interfaces (their names, or beginnings of
/// names, separated by commas; all but loopback where nothing is wanted).
fn advertised(own: &[Interface], wanted: &str) -> Vec<IpAddr> {
    let wanted: Vec<&str> = wanted.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
    let is_wanted = |interface: &&Interface| match wanted.is_empty() {
        true => !interface.address.is_loopback(),
        false => wanted.iter().any(|name| interface.name.starts_with(name)),
    };
    own.iter().filter(is_wanted).map(|interface| interface.address).collect()
}

/// The addresses at which a process listens that tells these: where no interfaces are wanted, the
/// loopback's too, and that alone where all ranks are known to be on one host. A host that has
/// no address listens for one that it may get.
fn listened_at(told: &[IpAddr], own: &[Interface], wanted: &str, one_host: bool) -> Vec<IpAddr> {
    let here = loopback(own).filter(|_| wanted.is_empty());
    let told = told.iter().copied().filter(|_| !one_host || here.is_none());
    let mut all: Vec<IpAddr> = here.into_iter().chain(told).collect();
    if all.is_empty() {
        all.push(Ipv4Addr::UNSPECIFIED.into());
    }
    all
}

/// What is said when none of the wanted interfaces is up.
fn no_such(own: &[Interface], wanted: &str, name: &str) -> String {
    let mut names: Vec<&str> = own.iter().map(|interface| interface.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    format!("no interface called {wanted} is up ({name}); up: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interface(name: &str, address: &str, prefix: u32) -> Interface {
        Interface { name: name.into(), address: address.parse().unwrap(), prefix }
    }

    #[test]
    fn ways_in_a_common_network_come_first_and_own_addresses_never() {
        let own = [interface("eth0", "10.1.0.7", 16), interface("docker0", "172.17.0.1", 16)];
        let addresses = ["172.17.0.1", "192.168.3.1", "10.1.200.9"].map(|a| a.parse().unwrap());
        let routes = |route: Option<&str>| {
            let route = route.map(|route| route.parse().unwrap());
            let text = Card::new(80, addresses.into(), route).to_text();
            let routes = Card::from_text(&text).unwrap().routes(&own, false);
            routes.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(routes(None), ["10.1.200.9:80", "192.168.3.1:80"]);
        assert_eq!(routes(Some("192.168.3.1")), ["192.168.3.1:80", "10.1.200.9:80"]);
        assert_eq!(routes(Some("9.9.9.9")), routes(None), "it is not the host's own");
        assert_eq!(routes(Some("172.17.0.1")), routes(None), "this host has it too");
        let card = Card::new(80, addresses.into(), None);
        let here = card.routes(&own, true).iter().map(ToString::to_string).collect::<Vec<_>>();
        let told = ["127.0.0.1:80", "172.17.0.1:80", "192.168.3.1:80", "10.1.200.9:80"];
        assert_eq!(here, told, "it may have been told to listen at these alone");
    }

    #[test]
    fn the_way_on_one_host_is_an_address_that_its_loopback_has() {
        let card = Card::new(80, Vec::new(), None);
        let way = |own: &[Interface]| card.routes(own, true)[0].to_string();
        let (v4, v6) = (interface("lo", "127.0.0.1", 8), interface("lo", "::1", 128));
        let eth = interface("eth0", "2001:db8::7", 64);
        assert_eq!(way(&[eth.clone(), v6.clone(), v4]), "127.0.0.1:80");
        assert_eq!(way(&[eth, v6]), "[::1]:80");
        assert_eq!(way(&[]), "127.0.0.1:80", "nothing is known");
    }

    #[test]
    fn only_wanted_interfaces_are_advertised() {
        let own = [
            interface("lo", "127.0.0.1", 8),
            interface("eth0", "10.1.0.7", 16),
            interface("ib0", "10.2.0.7", 16),
        ];
        let text = |wanted| {
            let found = advertised(&own, wanted);
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(text(""), "10.1.0.7 10.2.0.7");
        assert_eq!(text("ib"), "10.2.0.7");
        assert_eq!(text("lo, eth"), "127.0.0.1 10.1.0.7");
    }

    #[test]
    fn who_is_alone_on_its_host_listens_at_the_loopback_and_others_at_what_they_tell() {
        let own = [
            interface("lo", "127.0.0.1", 8),
            interface("eth0", "10.1.0.7", 16),
            interface("ib0", "10.2.0.7", 16),
        ];
        let listened_at = |own: &[Interface], wanted, one_host| {
            let card = Card::new(80, advertised(own, wanted), None);
            let found = listened_at(&card.addresses, own, wanted, one_host);
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(listened_at(&own, "", false), "127.0.0.1 10.1.0.7 10.2.0.7");
        assert_eq!(listened_at(&own, "", true), "127.0.0.1");
        for one_host in [false, true] {
            assert_eq!(listened_at(&own, "ib", one_host), "10.2.0.7", "as it is told");
            assert_eq!(listened_at(&own, "lo", one_host), "127.0.0.1");
        }
        assert_eq!(listened_at(&own[1..], "", true), "10.1.0.7 10.2.0.7", "no loopback is up");
        assert_eq!(listened_at(&[], "", false), "0.0.0.0");
        let many: Vec<Interface> =
            (1..40).map(|n| interface("eth", &format!("10.0.{n}.1"), 24)).collect();
        let told = Card::new(80, advertised(&many, ""), None);
        let read = Card::from_text(&told.to_text()).unwrap();
        assert_eq!(read, told, "what has no room on a card is not listened at");
    }

    proptest! {
        #[test]
        fn cards_are_short_and_come_back(port in 1u16.., v4 in prop::collection::vec(any::<u32>(), 0..9),
                v6 in prop::collection::vec(any::<u128>(), 0..3), route: bool) {
            let v4 = v4.into_iter().map(|bits| IpAddr::V4(bits.into()));
            let addresses: Vec<IpAddr> =
                v4.chain(v6.into_iter().map(|bits| IpAddr::V6(bits.into()))).collect();
            let route = addresses.last().copied().filter(|_| route);
            let text = Card::new(port, addresses.clone(), route).to_text();
            prop_assert!(text.len() <= CARD_MAX);
            let read = Card::from_text(&text).unwrap();
            prop_assert_eq!(read.port, port);
            prop_assert!(read.addresses.iter().all(|address| addresses.contains(address)));
            prop_assert!(addresses.len() > 1 || read.addresses == addresses);
            prop_assert_eq!(read.first_is_proven, route.is_some());
            prop_assert!(route.is_none() || read.addresses.first() == route.as_ref());
        }

        #[test]
        fn noise_is_no_card(text: String, tail in "[0-9a-f:+]{0,80}") {
            prop_assert!(Card::from_text(&text).is_none());
            let _ = Card::from_text(&format!("tcp1:{tail}"));
        }
    }
}
