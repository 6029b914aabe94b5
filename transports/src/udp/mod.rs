//! UDP: connectionless MPI (paper 001). One socket hears everybody; nothing is kept for a peer before the
//! first message, and nobody shakes hands.
//!
//! What makes datagrams reliable is [`crate::reliability`]: one link for each peer that was talked to. This
//! is what is around it: sockets (`sockets`), trains of datagrams for one call of the kernel (`train`), a
//! tag on each (`tag`), the ways to a peer (`ways`), and whose time has come (`watch`). Silence is not
//! judged here, since a rank that computes is silent too: where it lasts, datagrams go through a tunnel
//! (`tunnel`), and the network that carries them finds out whether anybody is there.
//!
//! In: [`Transport`]'s calls and what peers send. Out: [`mpi_core::port::Sink`]'s calls.

mod envelope;
mod leave;
mod net;
mod pace;
mod peer;
mod receive;
mod send;
mod settings;
mod sockets;
pub(crate) mod tag;
mod train;
mod tunnel;
mod watch;
mod ways;

pub use settings::{SOCKETS_MAX, UdpSettings};

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Full, PeerId, ProcessName, Sink, Token, Transport, Why,
};

use crate::reliability::Config;
use crate::sys::udp::TRAIN_BYTES_MAX;
use crate::tcp::{Card, Secret};
use envelope::Envelope;
use machine::interfaces::{self, Interface};
use net::Epoll;
use pace::Pace;
use peer::{Peer, Peers, State};
use sockets::Sockets;
use train::{AROUND_BYTES, Train};
use watch::Watch;
use ways::Ways;

/// Bytes that a datagram may have on every way, what UDP and IP put around it aside (RFC 8899, §5.1.2).
const BASE_BYTES: u16 = 1200;
/// Bytes of frames that a peer may send before it hears more.
const CREDIT_BYTES: u32 = 64 << 10;

/// Who this process is, as far as UDP needs to know.
#[derive(Clone, Debug)]
pub struct UdpConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// The interfaces to advertise: names or beginnings of names, separated by commas; all but
    /// loopback when empty.
    pub interfaces: String,
    /// The address by which the launcher has reached this host, if that is known.
    pub route: Option<IpAddr>,
    /// Whether all ranks of the job are known to be on one host.
    pub one_host: bool,
    /// The settings.
    pub udp: UdpSettings,
}

/// What happened, for reports and tests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct UdpCounters {
    /// Peers with which something was said.
    pub peers: u64,
    /// Datagrams that left.
    pub sent: u64,
    /// Of these, what carried again what was lost.
    pub again: u64,
    /// Datagrams that came.
    pub received: u64,
    /// Of these, those with no tag of this job: strangers' and changed ones.
    pub refused: u64,
    /// Of these, those that had come before.
    pub repeated: u64,
    /// Calls of the kernel that sent something.
    pub writes: u64,
    /// How often another way to a peer was taken.
    pub moves: u64,
}

/// What the next poll has to tell the sink.
enum Event {
    Down(PeerId, Why),
}

/// The UDP transport of one process.
pub struct Udp {
    config: UdpConfig,
    /// What is the same for all links.
    link: Config,
    peers: Peers,
    watch: Watch,
    /// Peers whose addresses are not known and that are to be sent something.
    sought: Vec<PeerId>,
    /// Whether datagrams are kept back for a moment, and the peers that have such.
    holds: bool,
    held: Vec<PeerId>,
    /// Peers for whose datagrams the kernel had no room.
    blocked: Vec<PeerId>,
    /// How often the socket is looked at.
    pace: Pace,
    /// Peers from which something came in this poll.
    heard: Vec<PeerId>,
    events: Vec<Event>,
    /// Datagrams that are to go through another network, and whether they may.
    letters: Vec<(PeerId, Vec<u8>)>,
    has_new_letters: bool,
    tunnels: bool,
    /// Peers whom another network gave up in error.
    spared: Vec<PeerId>,
    /// Ranks that share a processor.
    share: u32,
    train: Train,
    buffer: Box<[u8]>,
    own: Vec<Interface>,
    job: [u8; 32],
    envelope: Envelope,
    counters: UdpCounters,
    start: Instant,
    epoll: Epoll,
    sockets: Sockets,
    card: Card,
}

impl Udp {
    /// The transport of a process, which talks to nobody yet.
    ///
    /// # Errors
    /// The kernel gives no socket, or none of the wanted interfaces is up.
    pub fn new(config: UdpConfig) -> io::Result<Udp> {
        let config = UdpConfig { udp: config.udp.bounded(), ..config };
        let (own, job) = (interfaces::all()?, crate::fields::job_hash(&config.job));
        let (mut told, places) = Card::places(
            &own,
            &config.interfaces,
            config.route,
            config.one_host,
            "FERRITE_UDP_INTERFACES",
        )?;
        if let [only] = places[..] {
            told.retain(|address| *address == only);
        }
        let sockets = Sockets::open(sockets::place(&places), &config.udp)?;
        let card = Card::new(sockets.port(), told, config.route);
        let epoll = Epoll::new()?;
        sockets.watch(&epoll)?;
        Ok(Udp {
            link: link_config(&config.udp),
            peers: Peers::default(),
            watch: Watch::default(),
            sought: Vec::new(),
            holds: false,
            held: Vec::new(),
            blocked: Vec::new(),
            pace: Pace::default(),
            heard: Vec::new(),
            events: Vec::new(),
            letters: Vec::new(),
            has_new_letters: false,
            tunnels: false,
            spared: Vec::new(),
            share: 1,
            train: Train::new(),
            buffer: vec![0; TRAIN_BYTES_MAX].into_boxed_slice(),
            own,
            envelope: Envelope::new(&job, config.rank),
            job,
            counters: UdpCounters::default(),
            start: net::now(),
            epoll,
            sockets,
            card,
            config,
        })
    }

    /// Where this process hears.
    pub fn card(&self) -> Card {
        self.card.clone()
    }

    /// Says what all processes of the job know and nobody else: before the first poll.
    pub fn set_secret(&mut self, secret: Secret) {
        self.config.secret = secret;
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    pub fn set_settings(&mut self, settings: UdpSettings) {
        self.config.udp = settings.bounded();
        self.link = link_config(&self.config.udp);
    }

    /// Says where a peer hears, by its card; `is_here` when it runs on this very host.
    pub fn meet(&mut self, peer: PeerId, card: &Card, is_here: bool) {
        // Ranks that were told interfaces hear there alone, also those of one host.
        let ways = match is_here && !self.config.interfaces.is_empty() {
            true => card.told(),
            false => card.ways(&self.own, is_here),
        };
        self.set_ways(peer, ways);
    }

    /// Says where a peer hears.
    pub fn set_ways(&mut self, peer: PeerId, ways: Vec<SocketAddr>) {
        self.sought.retain(|one| *one != peer);
        if let Some(known) = self.peer(peer) {
            known.ways = Ways::new(ways);
            self.measure_path(peer);
            self.pump(peer);
        }
    }

    /// A peer whose addresses this process must know to go on, if there is one.
    pub fn sought_blindly(&self) -> Option<PeerId> {
        self.sought.first().copied()
    }

    /// What happened so far.
    pub fn counters(&self) -> UdpCounters {
        let mut counters = self.counters;
        for peer in self.peers.met() {
            let link = peer.link.counters();
            counters.peers += 1;
            counters.sent += link.sent;
            counters.again += link.lost;
            counters.repeated += link.repeated;
        }
        counters
    }

    /// Which ways are in use that are not the best ones, and why, for a report.
    pub fn ways_taken(&self) -> String {
        let moves = self.counters.moves;
        if moves == 0 {
            return "no other way than the best was needed".to_owned();
        }
        let others: Vec<String> =
            self.peers.met().filter_map(|peer| peer.ways.tell(peer.rank)).collect();
        let now =
            if others.is_empty() { "all by the best again".to_owned() } else { others.join(", ") };
        format!(
            "{moves} times another way was taken, since the one before did not answer or the better one did again; \
                 at the end {now}"
        )
    }

    /// What becomes readable when there is news.
    pub fn news(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// How long the next poll can be put off if no news comes; `None` when for ever.
    pub fn put_off(&self) -> Option<Duration> {
        if !self.events.is_empty() || !self.held.is_empty() || self.has_new_letters {
            return Some(Duration::ZERO);
        }
        self.watch.next_at().map(|at| at.saturating_sub(self.now()))
    }

    /// Whether the next poll has something to do beyond looking for news.
    #[inline]
    pub fn is_restless(&self) -> bool {
        let waiting = self.events.len() | self.blocked.len() | self.letters.len();
        waiting != 0 || self.watch.next_at().is_some() && self.watch.is_due(self.now())
    }

    /// The next poll looks at the socket, which does not count as busy any more.
    pub fn look_around(&mut self) {
        self.pace = Pace::default();
    }

    /// The next poll looks at the socket.
    pub fn look_at_once(&mut self) {
        self.pace.look_soon();
    }

    /// The next polls look at the socket.
    pub fn look_soon(&mut self) {
        self.pace.look_soon();
    }

    /// Tells all peers how far this end is; whether all of that has left.
    pub fn tell_all(&mut self) -> bool {
        for peer in self.peers.places() {
            if let Some(to) = self.peers.get(peer) {
                to.link.tell_now();
                self.pump(peer);
            }
        }
        self.blocked.is_empty()
    }

    /// Time since this transport began.
    #[inline]
    fn now(&self) -> Duration {
        net::now().saturating_duration_since(self.start)
    }

    /// What there is with a peer, from now on if there was nothing; `None` for one that is not known.
    fn peer(&mut self, peer: PeerId) -> Option<&mut Peer> {
        let known = self.peers.known(peer)?;
        if known.peer.is_none() {
            let new = Peer::new(&self.config, &self.job, &self.link, known.rank);
            known.peer = Some(Box::new(new));
        }
        known.peer.as_deref_mut()
    }

    /// A peer is lost.
    fn lose(&mut self, peer: PeerId, how: &str) {
        let Some(known) = self.peers.known(peer) else { return };
        let rank = known.rank;
        let Some(to) = known.peer.as_deref_mut() else { return };
        if to.state != State::Up {
            return;
        }
        let how = format!("rank {} cannot reach rank {rank} by UDP: {how}", self.config.rank);
        let is_undelivered = !to.link.is_flushed();
        self.forget(peer);
        let why =
            if is_undelivered { Why::Undelivered { how, hint: None } } else { Why::Lost(how) };
        self.events.push(Event::Down(peer, why));
    }

    /// A peer cannot be found, as others have said: nothing comes from or goes to it any more.
    pub(crate) fn give_up(&mut self, peer: PeerId) {
        self.forget(peer);
    }

    /// Nothing comes from or goes to a peer any more.
    fn forget(&mut self, peer: PeerId) {
        let link = self.link;
        if let Some(to) = self.peers.get(peer) {
            to.state = State::Down;
            // What it holds belongs to the program again.
            to.link = crate::reliability::Link::new(&link);
        }
        self.sought.retain(|one| *one != peer);
        self.letters.retain(|(one, _)| *one != peer);
    }
}

/// What is the same for all links.
fn link_config(udp: &UdpSettings) -> Config {
    Config {
        datagram_bytes: BASE_BYTES - AROUND_BYTES as u16,
        frame_bytes_max: udp.eager_bytes,
        kept_bytes_max: udp.window_bytes,
        credit: CREDIT_BYTES.max(udp.eager_bytes),
    }
}

impl Transport for Udp {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        self.peers.add(peer, name.rank, name.job == self.config.job);
    }

    #[inline]
    fn caps(&self, _: PeerId) -> Caps {
        Caps { frame_bytes_max: self.config.udp.eager_bytes as usize, name: "UDP" }
    }

    #[inline]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        self.send_frame(peer, header, body)
    }

    fn has_room(&mut self, peer: PeerId, len: u64, _: bool) -> bool {
        let to = self.peers.get(peer);
        to.is_none_or(|to| to.state != State::Up || to.link.has_room(len as usize))
    }

    fn hold(&mut self) {
        self.holds = true;
    }

    fn release(&mut self) {
        self.let_go();
    }

    fn send_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        _: Option<Advert>,
    ) {
        self.start_bulk(peer, header, source, token);
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        self.poll_sockets(sink)
    }

    fn is_flushed(&self) -> bool {
        self.peers.met().all(Peer::is_flushed)
    }
}

#[cfg(test)]
mod sim_fuzz;
#[cfg(test)]
mod sim_leave;
#[cfg(test)]
mod sim_net;
#[cfg(test)]
mod sim_sockets;
#[cfg(test)]
mod sim_storm;
#[cfg(test)]
mod sim_ways;
#[cfg(test)]
mod sim_world;
#[cfg(test)]
mod tests;
