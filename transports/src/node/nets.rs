//! The networks that this process has opened, each called by the same verbs, and which way leads to
//! each peer.
//!
//! In: the calls of [`LocalPort`](super::LocalPort). Out: those of the network that is meant, or of
//! all. What differs between kinds stands in `net`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use mpi_core::port::{Activity, Caps, Offer, PeerId, ProcessName, Sink, Transport};
use mpi_core::settings::Settings;

use super::net::{Net, each};
use super::network::Network;
use super::opening::NetworkConfig;
use super::pace::Look;
use super::tunnel::{self, Nobody};
use crate::bed::Beside;
use crate::shm::Secret;
use crate::sys::epoll::{Epoll, Interest};
use crate::sys::wait::until_readable;
use crate::tcp::Tcp;

/// The way to a peer, as far as it is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
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
    pub(super) routes: Vec<(Route, u32)>,
    /// Networks that do not lead to a peer although both ends have them, and how that showed.
    pub(super) closed: Vec<Closed>,
    /// The longest frame that any of them takes.
    frame_bytes_max: usize,
}

/// A network that does not lead to a peer.
pub(super) struct Closed {
    pub(super) peer: PeerId,
    pub(super) network: Network,
    pub(super) how: String,
}

impl Nets {
    /// Opens one more network.
    ///
    /// # Errors
    /// As [`Net::open`].
    pub(super) fn open(&mut self, config: NetworkConfig) -> Result<(), String> {
        let mut net = Net::open(config)?;
        net.keep_unreached();
        let place = net.kind() as usize;
        self.open[place] = Some(net);
        if self.get(Network::Tcp).is_some() {
            self.each_mut().for_each(Net::set_tunnel);
        }
        self.news = match self.each().map(Net::news).collect::<Vec<_>>()[..] {
            [Some(_)] => None,
            _ => Some(self.all_news().map_err(|why| why.to_string())?),
        };
        self.measure();
        Ok(())
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One of them is out of bounds, or cannot be had; in a sentence.
    pub(super) fn set_settings(&mut self, settings: &Settings) -> Result<(), String> {
        self.each_mut().try_for_each(|net| net.set_settings(settings))?;
        self.measure();
        Ok(())
    }

    /// Finds out what every network takes: a frame that one has found no room for may go by another.
    fn measure(&mut self) {
        let of = |net: &Net| each!(net, net => net.caps(PeerId(0))).frame_bytes_max;
        self.frame_bytes_max = self.each().map(of).min().unwrap_or(0);
    }

    /// A sentence about a network that does not lead to a peer, but for who says so.
    pub(super) fn tell_closed(&self, closed: &Closed) -> String {
        let rank = self.routes.get(closed.peer.0 as usize).map_or(u32::MAX, |(_, rank)| *rank);
        format!("cannot reach rank {rank} by {}: {}", closed.network.name(), closed.how)
    }

    /// Whether it has shown that a network does not lead to a peer.
    pub(super) fn is_closed(&self, peer: PeerId, network: Network) -> bool {
        self.closed.iter().any(|one| (one.peer, one.network) == (peer, network))
    }

    /// One set with the news of all that have any.
    fn all_news(&self) -> io::Result<Epoll> {
        let all = Epoll::new()?;
        for net in self.each() {
            if let Some(news) = net.news() {
                all.add(news, net.kind() as u64, Interest::Read)?;
            }
        }
        Ok(all)
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &Net> {
        self.open.iter().flatten()
    }

    pub(super) fn each_mut(&mut self) -> impl Iterator<Item = &mut Net> {
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
            _ => None,
        }
    }

    #[inline]
    pub(super) fn route(&self, peer: PeerId) -> Route {
        self.routes.get(peer.0 as usize).map_or(Route::Undecided, |(route, _)| *route)
    }

    /// The network that leads to `peer`, if it is decided that one does.
    #[inline]
    pub(super) fn to(&mut self, peer: PeerId) -> Option<&mut Net> {
        match self.route(peer) {
            Route::Network(network) => self.get_mut(network),
            Route::Undecided | Route::SharedMemory => None,
        }
    }

    pub(super) fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        let place = peer.0 as usize;
        if place >= self.routes.len() {
            self.routes.resize(place + 1, (Route::Undecided, u32::MAX));
        }
        self.routes[place].1 = name.rank;
        self.each_mut().for_each(|net| each!(net, net => net.add_peer(peer, name)));
    }

    pub(super) fn set_secret(&mut self, secret: Secret) {
        self.each_mut().for_each(|net| each!(net, net => net.set_secret(secret)));
    }

    /// What the way to `peer` can do; `near` tells of shared memory. As long as it is undecided, what
    /// every way can.
    pub(super) fn caps(&self, peer: PeerId, near: impl Fn() -> Caps) -> Caps {
        let of = |net: &Net| {
            let caps = each!(net, net => net.caps(peer));
            match net {
                // As long as they do not reach the peer, another may have to.
                Net::Rc(_) | Net::Ofi(_) => {
                    Caps { frame_bytes_max: caps.frame_bytes_max.min(self.frame_bytes_max), ..caps }
                }
                Net::Tcp(_) | Net::Udp(_) | Net::Uc(_) | Net::Ud(_) => caps,
            }
        };
        match self.route(peer) {
            Route::SharedMemory => near(),
            Route::Network(network) => self.get(network).map_or_else(near, of),
            Route::Undecided => {
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
        let [rc, ofi, tcp, datagrams @ ..] = &mut self.open;
        let mut busy = false;
        for net in [rc, ofi].into_iter().chain(&mut *datagrams).flatten() {
            busy |= each!(net, net => net.poll(sink)) == Activity::Busy;
        }
        if let Some(Net::Tcp(tcp)) = tcp {
            busy |= tunnel::poll(tcp, datagrams, sink);
        }
        busy
    }

    /// Takes leave of all, and waits until they know, but no longer than each network's goodbye may last.
    pub(super) fn leave(&mut self) {
        let start = Instant::now();
        self.each_mut().for_each(Net::leave);
        loop {
            self.poll(Look::AtOnce, &mut Nobody);
            let leaving = self.each().filter(|net| !net.has_left());
            let lasts = leaving.map(|net| net.goodbye_max().saturating_sub(start.elapsed())).max();
            let Some(left) = lasts.filter(|left| !left.is_zero()) else { return };
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
        let at_most = self.put_off();
        Some(Beside { at_most, news: self.news()? })
    }

    /// In how long something is to be done even without news.
    pub(super) fn put_off(&self) -> Option<Duration> {
        self.each().filter_map(|net| each!(net, net => net.put_off())).min()
    }

    /// What becomes readable when there is news of any.
    fn news(&self) -> Option<BorrowedFd<'_>> {
        match &self.news {
            Some(all) => Some(all.as_fd()),
            None => self.each().find_map(Net::news),
        }
    }
}
