//! The networks that this process has opened, each called by the same verbs, and which way leads to
//! each peer.
//!
//! In: the calls of [`LocalPort`](super::LocalPort). Out: those of the network that is meant, or of
//! all. What differs between kinds stands in `Net` alone, in a match for each verb.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use mpi_core::port::{Activity, Caps, Offer, PeerId, ProcessName, Sink, Transport};

use super::network::Network;
use super::pace::Look;
use super::tunnel::{self, Nobody};
use crate::shm::{Beside, Secret};
use crate::sys::epoll::{Epoll, Interest};
use crate::sys::wait::until_readable;
use crate::tcp::{self, Tcp, TcpConfig};
use crate::udp::{Udp, UdpConfig};

/// The longest farewell.
const FAREWELL_MAX: Duration = Duration::from_millis(250);

/// How a network is to be opened.
#[derive(Clone, Debug)]
pub enum NetworkConfig {
    /// TCP.
    Tcp(TcpConfig),
    /// UDP.
    Udp(UdpConfig),
}

/// A network that is open.
pub(super) enum Net {
    Tcp(Tcp),
    Udp(Udp),
}

/// The same call of whichever network this is.
macro_rules! each {
    ($net:expr, $of:ident => $call:expr) => {
        match $net {
            Net::Tcp($of) => $call,
            Net::Udp($of) => $call,
        }
    };
}
pub(super) use each;

impl Net {
    /// Opens a network.
    ///
    /// # Errors
    /// The kernel gives no socket, or none of the wanted interfaces is up.
    fn open(config: NetworkConfig) -> io::Result<Net> {
        match config {
            NetworkConfig::Tcp(config) => Tcp::new(config).map(Net::Tcp),
            NetworkConfig::Udp(config) => Udp::new(config).map(Net::Udp),
        }
    }

    fn kind(&self) -> Network {
        match self {
            Net::Tcp(_) => Network::Tcp,
            Net::Udp(_) => Network::Udp,
        }
    }

    /// The text by which peers find this process in this network.
    fn card(&self) -> String {
        match self {
            Net::Tcp(tcp) => tcp.card().to_text(),
            Net::Udp(udp) => udp.card(),
        }
    }

    /// Says where a peer is, by its card; `is_here` when it runs on this very host.
    ///
    /// # Errors
    /// The text, which anybody may have written, is no card.
    fn meet(&mut self, peer: PeerId, text: &str, is_here: bool) -> Result<(), String> {
        match self {
            Net::Tcp(tcp) => tcp::Card::from_text(text)
                .map(|card| tcp.meet(peer, &card, is_here))
                .ok_or_else(|| format!("its TCP card cannot be read: {text:.100}")),
            Net::Udp(udp) => udp.meet(peer, text, is_here),
        }
    }

    /// A peer that this network has to reach without having met it.
    fn sought_blindly(&self) -> Option<PeerId> {
        each!(self, net => net.sought_blindly())
    }

    /// How thoroughly the next poll looks.
    fn look(&mut self, look: Look) {
        each!(self, net => match look {
            Look::Around => net.look_around(),
            Look::AtOnce => net.look_at_once(),
            Look::Yes | Look::IfRestless | Look::No => {}
        });
    }
}

/// The way to a peer, as far as it is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Undecided,
    SharedMemory,
    Network(Network),
}

/// All networks that are open, and who is reached through which.
#[derive(Default)]
pub(super) struct Nets {
    /// By kind.
    open: [Option<Net>; Network::ALL.len()],
    /// One set with all their news, where there are several.
    news: Option<Epoll>,
    /// The way to each peer, and its rank.
    pub(super) ways: Vec<(Way, u32)>,
}

impl Nets {
    /// Opens one more network.
    ///
    /// # Errors
    /// As [`Net::open`].
    pub(super) fn open(&mut self, config: NetworkConfig) -> io::Result<()> {
        let net = Net::open(config)?;
        let place = net.kind() as usize;
        self.open[place] = Some(net);
        if self.get(Network::Tcp).is_some()
            && let Some(udp) = self.udp()
        {
            udp.set_tunnel();
        }
        if self.each().count() > 1 {
            let news = Epoll::new()?;
            for net in self.each() {
                news.add(each!(net, net => net.news()), net.kind() as u64, Interest::Read)?;
            }
            self.news = Some(news);
        }
        Ok(())
    }

    fn each(&self) -> impl Iterator<Item = &Net> {
        self.open.iter().flatten()
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut Net> {
        self.open.iter_mut().flatten()
    }

    /// The kinds that are open.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Network> {
        self.each().map(Net::kind)
    }

    /// The network of a kind, if it is open.
    #[inline]
    pub(super) fn get(&self, network: Network) -> Option<&Net> {
        self.open[network as usize].as_ref()
    }

    /// As [`Nets::get`].
    #[inline]
    pub(super) fn get_mut(&mut self, network: Network) -> Option<&mut Net> {
        self.open[network as usize].as_mut()
    }

    /// TCP, if it is open.
    pub(super) fn tcp(&mut self) -> Option<&mut Tcp> {
        match self.get_mut(Network::Tcp)? {
            Net::Tcp(tcp) => Some(tcp),
            Net::Udp(_) => None,
        }
    }

    /// UDP, if it is open.
    pub(super) fn udp(&mut self) -> Option<&mut Udp> {
        match self.get_mut(Network::Udp)? {
            Net::Udp(udp) => Some(udp),
            Net::Tcp(_) => None,
        }
    }

    #[inline]
    pub(super) fn way(&self, peer: PeerId) -> Way {
        self.ways.get(peer.0 as usize).map_or(Way::Undecided, |(way, _)| *way)
    }

    /// The network that leads to `peer`, if it is decided that one does.
    #[inline]
    pub(super) fn to(&mut self, peer: PeerId) -> Option<&mut Net> {
        match self.way(peer) {
            Way::Network(network) => self.get_mut(network),
            Way::Undecided | Way::SharedMemory => None,
        }
    }

    pub(super) fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        let place = peer.0 as usize;
        if place >= self.ways.len() {
            self.ways.resize(place + 1, (Way::Undecided, u32::MAX));
        }
        self.ways[place].1 = name.rank;
        self.each_mut().for_each(|net| each!(net, net => net.add_peer(peer, name)));
    }

    pub(super) fn set_secret(&mut self, secret: Secret) {
        self.each_mut().for_each(|net| each!(net, net => net.set_secret(secret)));
    }

    /// What the way to `peer` can do; `near` tells of shared memory. As long as it is undecided, what
    /// every way can.
    pub(super) fn caps(&self, peer: PeerId, near: impl Fn() -> Caps) -> Caps {
        let of = |net: &Net| each!(net, net => net.caps(peer));
        match self.way(peer) {
            Way::SharedMemory => near(),
            Way::Network(network) => self.get(network).map_or_else(near, of),
            Way::Undecided => {
                let all = [near()].into_iter().chain(self.each().map(of));
                all.min_by_key(|caps| caps.frame_bytes_max).unwrap_or_else(near)
            }
        }
    }

    /// The kinds of cards that peers find this process by, with their texts.
    pub(super) fn cards(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.each().map(|net| (net.kind().word(), net.card()))
    }

    /// Says where a peer is in a network that is open, by its card there (see [`Net::meet`]).
    pub(super) fn meet(
        &mut self,
        network: Network,
        (peer, text, is_here): (PeerId, &str, bool),
    ) -> Result<(), String> {
        self.get_mut(network).map_or(Ok(()), |net| net.meet(peer, text, is_here))
    }

    /// Takes in what has come; whether there was anything.
    pub(super) fn poll<S: Sink>(&mut self, look: Look, sink: &mut S) -> bool {
        self.each_mut().for_each(|net| net.look(look));
        if let [Some(Net::Tcp(tcp)), Some(Net::Udp(udp))] = &mut self.open {
            return tunnel::poll(tcp, udp, sink);
        }
        let mut busy = false;
        for net in self.each_mut() {
            busy |= each!(net, net => net.poll(sink)) == Activity::Busy;
        }
        busy
    }

    /// Takes leave of those who are reached by datagrams, and waits until they know: but not for long, since
    /// one that computes hears it later.
    pub(super) fn leave(&mut self) {
        let end = Instant::now() + FAREWELL_MAX;
        match self.udp() {
            Some(udp) => udp.leave(),
            None => return,
        }
        while self.udp().is_some_and(|udp| !udp.has_left()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.poll(Look::AtOnce, &mut Nobody);
            if let Some(Beside { at_most, news }) = self.before_sleep() {
                let _ = until_readable([Some(news)], at_most.map_or(left, |at| at.min(left)));
            }
        }
    }

    /// A peer that one of them has to reach without having met it.
    pub(super) fn sought_blindly(&self) -> Option<(Network, PeerId)> {
        self.each().find_map(|net| net.sought_blindly().map(|peer| (net.kind(), peer)))
    }

    #[inline]
    pub(super) fn is_restless(&self) -> bool {
        self.each().any(|net| each!(net, net => net.is_restless()))
    }

    pub(super) fn hold(&mut self) {
        self.each_mut().for_each(|net| each!(net, net => net.hold()));
    }

    pub(super) fn release(&mut self) {
        self.each_mut().for_each(|net| each!(net, net => net.release()));
    }

    /// Each is told, and passes over what is not of its kind.
    pub(super) fn end_offer(&mut self, peer: PeerId, offer: &Offer) {
        self.each_mut().for_each(|net| each!(net, net => net.end_offer(peer, offer)));
    }

    /// Each is asked, since each takes the question as a wish to get there.
    pub(super) fn is_flushed(&self) -> bool {
        self.each().filter(|net| !each!(net, net => net.is_flushed())).count() == 0
    }

    pub(super) fn is_sent(&self) -> bool {
        self.each().all(|net| each!(net, net => net.is_sent()))
    }

    pub(super) fn tell_all(&mut self) -> bool {
        self.each_mut().filter_map(|net| (!each!(net, net => net.tell_all())).then_some(())).count()
            == 0
    }

    /// The process is about to sleep: whatever ends that, the next polls look at everything.
    pub(super) fn before_sleep(&mut self) -> Option<Beside<'_>> {
        self.each_mut().for_each(|net| each!(net, net => net.look_soon()));
        let at_most = self.each().filter_map(|net| each!(net, net => net.put_off())).min();
        Some(Beside { at_most, news: self.news()? })
    }

    /// What becomes readable when there is news of any.
    fn news(&self) -> Option<BorrowedFd<'_>> {
        match &self.news {
            Some(all) => Some(all.as_fd()),
            None => self.each().next().map(|net| each!(net, net => net.news())),
        }
    }
}
