//! A network that is open, of whichever kind: what differs between kinds, in a match for each verb.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use mpi_core::port::{PeerId, Sink, Why};
use mpi_core::settings::Settings;
use mpi_core::tuning::{GOODBYE_MAX, TCP_GOODBYE_MAX};

use super::network::Network;
use super::opening::NetworkConfig;
use super::pace::Look;
use crate::datagrams::Datagrams;
use crate::ofi::Ofi;
use crate::rdma::{Rdma, Unreached};
use crate::ring_order::Ring;
use crate::tcp::{self, Tcp};
use crate::udp::Udp;
use crate::verbs::{Rc, Uc, Ud};

/// A network that is open.
pub(super) enum Net {
    Rc(Box<Rdma<Rc>>),
    Ofi(Box<Rdma<Ofi>>),
    Tcp(Tcp),
    Udp(Udp),
    Uc(Box<Datagrams<Uc>>),
    Ud(Box<Datagrams<Ud>>),
}

/// The same call of whichever network this is.
macro_rules! each {
    ($net:expr, $of:ident => $call:expr) => {
        match $net {
            Net::Rc($of) => $call,
            Net::Ofi($of) => $call,
            Net::Tcp($of) => $call,
            Net::Udp($of) => $call,
            Net::Uc($of) => $call,
            Net::Ud($of) => $call,
        }
    };
}
pub(super) use each;

/// The same call of whichever network by a fabric this is; something else where it is none.
macro_rules! of_fabrics {
    ($net:expr, $of:ident => $call:expr, else $else:expr) => {
        match $net {
            Net::Rc($of) => $call,
            Net::Ofi($of) => $call,
            Net::Tcp(_) | Net::Udp(_) | Net::Uc(_) | Net::Ud(_) => $else,
        }
    };
}
pub(super) use of_fabrics;

/// The same call of whichever network of datagrams this is; something else where it is none.
macro_rules! of_datagrams {
    ($net:expr, $of:ident => $call:expr, else $else:expr) => {
        match $net {
            Net::Udp($of) => $call,
            Net::Uc($of) => $call,
            Net::Ud($of) => $call,
            Net::Rc(_) | Net::Ofi(_) | Net::Tcp(_) => $else,
        }
    };
}

impl Net {
    /// Opens a network.
    ///
    /// # Errors
    /// There is no such device, socket or interface; in a sentence.
    pub(super) fn open(config: NetworkConfig) -> Result<Net, String> {
        let of_kernel = |why: std::io::Error| why.to_string();
        match config {
            NetworkConfig::Rc(rdma, verbs) => {
                Ok(Net::Rc(Box::new(Rdma::new(rdma, Rc::open(verbs)?)?)))
            }
            NetworkConfig::Ofi(rdma, ofi) => {
                Ok(Net::Ofi(Box::new(Rdma::new(rdma, Ofi::open(ofi)?)?)))
            }
            NetworkConfig::Tcp(config) => Tcp::new(config).map(Net::Tcp).map_err(of_kernel),
            NetworkConfig::Udp(config) => Udp::new(config).map(Net::Udp).map_err(of_kernel),
            NetworkConfig::Uc(config) => Datagrams::<Uc>::open(config).map(Box::new).map(Net::Uc),
            NetworkConfig::Ud(config) => Datagrams::<Ud>::open(config).map(Box::new).map(Net::Ud),
        }
    }

    pub(super) fn kind(&self) -> Network {
        match self {
            Net::Rc(_) => Network::Rc,
            Net::Ofi(_) => Network::Ofi,
            Net::Tcp(_) => Network::Tcp,
            Net::Udp(_) => Network::Udp,
            Net::Uc(_) => Network::Uc,
            Net::Ud(_) => Network::Ud,
        }
    }

    /// The text by which peers find this process in this network.
    pub(super) fn card(&self) -> String {
        match self {
            Net::Rc(rc) => rc.card(),
            Net::Ofi(ofi) => ofi.card(),
            Net::Tcp(tcp) => tcp.card().to_text(),
            Net::Udp(udp) => udp.card(),
            Net::Uc(uc) => uc.card(),
            Net::Ud(ud) => ud.card(),
        }
    }

    /// Says where a peer is, by its card; `is_here` when it runs on this very host.
    ///
    /// # Errors
    /// The text, which anybody may have written, is no card, or no way leads there.
    pub(super) fn meet(&mut self, peer: PeerId, text: &str, is_here: bool) -> Result<(), String> {
        match self {
            Net::Rc(rc) => rc.meet(peer, text, is_here),
            Net::Ofi(ofi) => ofi.meet(peer, text, is_here),
            Net::Tcp(tcp) => tcp::Card::from_text(text)
                .map(|card| tcp.meet(peer, &card, is_here))
                .ok_or_else(|| format!("its TCP card cannot be read: {text:.100}")),
            Net::Udp(udp) => udp.meet(peer, text, is_here),
            Net::Uc(uc) => uc.meet(peer, text, is_here),
            Net::Ud(ud) => ud.meet(peer, text, is_here),
        }
    }

    /// What becomes readable when there is news; `None` where a fabric has no such thing.
    pub(super) fn news(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Net::Rc(rc) => rc.news(),
            Net::Ofi(ofi) => ofi.news(),
            Net::Tcp(tcp) => Some(tcp.news()),
            Net::Udp(udp) => Some(udp.news()),
            Net::Uc(uc) => Some(uc.news()),
            Net::Ud(ud) => Some(ud.news()),
        }
    }

    /// Goes on connecting to all peers in a ring, but to those that `skips` names; whether that is done.
    pub(super) fn connect(&mut self, ring: &mut Ring, skips: impl Fn(PeerId) -> bool) -> bool {
        match self {
            Net::Rc(rc) => ring.go_on(&mut **rc, skips),
            Net::Ofi(ofi) => ring.go_on(&mut **ofi, skips),
            Net::Tcp(tcp) => ring.go_on(tcp, skips),
            // Datagrams need no connection, or make theirs when one is sent.
            Net::Udp(_) | Net::Uc(_) | Net::Ud(_) => true,
        }
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One of them is out of bounds, or cannot be had; in a sentence.
    pub(super) fn set_settings(&mut self, settings: &Settings) -> Result<(), String> {
        match self {
            Net::Rc(rc) => rc.set_settings(settings.into()),
            Net::Ofi(ofi) => ofi.set_settings(settings.into()),
            Net::Tcp(tcp) => tcp.set_settings(settings.into()),
            Net::Udp(udp) => udp.set_settings(&settings.into()),
            Net::Uc(uc) => uc.set_uc_settings(&settings.into()),
            Net::Ud(ud) => ud.set_ud_settings(&settings.into()),
        }
    }

    /// Says how many ranks share a processor.
    pub(super) fn set_share(&mut self, share: u32) {
        match self {
            Net::Rc(_) | Net::Ofi(_) | Net::Tcp(_) => {}
            Net::Udp(udp) => udp.set_share(share),
            Net::Uc(uc) => uc.set_share(share),
            Net::Ud(ud) => ud.set_share(share),
        }
    }

    /// A peer cannot be found.
    pub(super) fn give_up(&mut self, peer: PeerId) {
        match self {
            Net::Rc(rc) => rc.give_up(peer),
            Net::Ofi(ofi) => ofi.give_up(peer),
            // It gives up by itself.
            Net::Tcp(_) => {}
            Net::Udp(udp) => udp.give_up(peer),
            Net::Uc(uc) => uc.give_up(peer),
            Net::Ud(ud) => ud.give_up(peer),
        }
    }

    /// Takes leave of its peers.
    pub(super) fn leave(&mut self) {
        match self {
            Net::Rc(rc) => rc.leave(),
            Net::Ofi(ofi) => ofi.leave(),
            Net::Tcp(tcp) => tcp.leave(),
            Net::Udp(udp) => udp.leave(),
            Net::Uc(uc) => uc.leave(),
            Net::Ud(ud) => ud.leave(),
        }
    }

    /// How long that may last at most.
    pub(super) fn goodbye_max(&self) -> Duration {
        match self {
            Net::Tcp(_) => TCP_GOODBYE_MAX,
            Net::Rc(_) | Net::Ofi(_) | Net::Udp(_) | Net::Uc(_) | Net::Ud(_) => GOODBYE_MAX,
        }
    }

    /// Whether they know.
    pub(super) fn has_left(&self) -> bool {
        match self {
            Net::Rc(rc) => rc.has_left(),
            Net::Ofi(ofi) => ofi.has_left(),
            Net::Tcp(tcp) => tcp.has_left(),
            Net::Udp(udp) => udp.has_left(),
            Net::Uc(uc) => uc.has_left(),
            Net::Ud(ud) => ud.has_left(),
        }
    }

    /// Datagrams that do not get through may go through TCP.
    pub(super) fn set_tunnel(&mut self) {
        of_datagrams!(self, net => net.set_tunnel(), else ());
    }

    /// Gives each datagram that is to go through TCP to `take`, which says whether it is dealt with.
    pub(super) fn send_tunnelled(&mut self, take: impl FnMut(PeerId, &[u8]) -> bool) {
        of_datagrams!(self, net => net.send_tunnelled(take), else ());
    }

    /// A datagram of this network came through TCP.
    pub(super) fn take_tunnelled<S: Sink>(&mut self, peer: PeerId, bytes: &[u8], sink: &mut S) {
        of_datagrams!(self, net => net.take_tunnelled(peer, bytes, sink), else ());
    }

    /// TCP can no longer reach a peer: what is to be said of that, if anything.
    pub(super) fn part(&mut self, peer: PeerId, why: Why) -> Option<Why> {
        of_datagrams!(self, net => net.part(peer, why), else Some(why))
    }

    /// Peers whom TCP gave up and who are there: told once.
    pub(super) fn spared(&mut self) -> Vec<PeerId> {
        of_datagrams!(self, net => net.spared(), else Vec::new())
    }

    /// A peer that this network has to reach without having met it.
    pub(super) fn sought_blindly(&self) -> Option<PeerId> {
        each!(self, net => net.sought_blindly())
    }

    /// Where peers can fall to another network when this one does not reach them: they are told by
    /// [`Net::unreached`] then.
    pub(super) fn keep_unreached(&mut self) {
        of_fabrics!(self, net => net.keep_unreached(), else ());
    }

    /// A peer that this network does not reach, and with which nothing was exchanged.
    pub(super) fn unreached(&mut self) -> Option<Unreached> {
        of_fabrics!(self, net => net.unreached(), else None)
    }

    /// A peer that has not answered for so long that another network would be better.
    pub(super) fn late(&mut self) -> Option<PeerId> {
        of_fabrics!(self, net => net.late(), else None)
    }

    /// Gives up a peer that is late.
    pub(super) fn withdraw(&mut self, peer: PeerId) -> Option<Unreached> {
        of_fabrics!(self, net => net.withdraw(peer), else None)
    }

    /// No other network leads to a peer that was unreached.
    pub(super) fn lose(&mut self, peer: PeerId, how: &str) {
        of_fabrics!(self, net => net.lose(peer, how), else ());
    }

    /// How thoroughly the next poll looks.
    pub(super) fn look(&mut self, look: Look) {
        each!(self, net => match look {
            Look::Around => net.look_around(),
            Look::AtOnce => net.look_at_once(),
            Look::Yes | Look::IfRestless | Look::No => {}
        });
    }
}
