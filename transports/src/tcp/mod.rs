//! TCP: the transport between processes of different hosts.
//!
//! To each peer there is a stream for small messages and, by a setting, further ones for large
//! messages (the end points of paper 000). A stream is a sequence of bytes that outlives its
//! connections: what a peer has not acknowledged is kept, and a new connection goes on where the
//! peer says (`output`, `input`). Small frames are written at once, or together with others while
//! the kernel has no room; fragments of large messages are written from and read into their memory.
//!
//! Connections are made when something is first sent, or for all peers at the start (`in_ring`, `server`).
//! Nothing waits and no thread runs: streams that were busy lately are read at every poll, the
//! others when the epoll set names them. How often that is while shared memory delivers is for who
//! polls to say (`node/pace`).
//!
//! In: [`Transport`]'s calls and what peers send. Out: [`mpi_core::port::Sink`]'s calls.

mod card;
mod connect;
mod coverage;
mod crowd;
mod guest;
mod hello;
mod in_ring;
mod input;
mod listen_sockets;
mod looks;
mod net;
mod output;
mod peer;
mod peers;
mod receive;
mod record;
mod seal;
mod seek;
mod send;
mod server;
mod settings;
mod stream;
mod transfer;

pub use card::Card;
pub use hello::Secret;
pub use server::Server;
pub use settings::{STREAMS_MAX, TcpSettings};

use std::cell::Cell;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Full, PeerId, ProcessName, Sink, Token, Transport, Why,
};

use crate::restraint::Restraint;
use guest::Guests;
use listen_sockets::ListenSockets;
use looks::Looks;
use machine::interfaces::{self, Interface};
use net::Epoll;
use peer::Peer;
use peers::Peers;
use send::Announcing;

/// Bytes read at once into memory of our own: of a large message that much is copied at most
/// once more than needed for each fragment.
const READ_BYTES: usize = 32 << 10;

/// The kind of a frame that carries a datagram of UDP, none of the core's. UDP itself sees to it that what is in it
/// gets there: nobody waits for its delivery.
pub(crate) const DATAGRAM: u8 = 0xd6;
/// The longest such frame, whatever is set for others.
pub(crate) const DATAGRAM_BYTES_MAX: usize = 8 << 10;

/// From one look whether goodbyes have arrived to the next.
const GOODBYE_LOOK: Duration = Duration::from_millis(1);

/// The epoll set's number of all listening sockets.
const KEY_LISTENER: u64 = u64::MAX;
/// The epoll set's number of the thread that accepts, where there is one.
const KEY_SERVER: u64 = u64::MAX - 1;
/// The bit of numbers that mean a guest; the others are its serial number.
const KEY_GUEST: u64 = 1 << 63;
/// The bit of numbers that mean the search for a stream; the others are as for a stream.
const KEY_SEEK: u64 = 1 << 62;

/// A stream, by its peer's place in the core's table and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct StreamId {
    peer: PeerId,
    stream: u32,
}

impl StreamId {
    fn key(self) -> u64 {
        u64::from(self.peer.0) << 8 | u64::from(self.stream)
    }

    fn from_key(key: u64) -> StreamId {
        StreamId { peer: PeerId((key >> 8) as u32), stream: key as u32 & 0xff }
    }
}

/// Who this process is, as far as TCP needs to know.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// The face of the library, as a number.
    pub face: u32,
    /// The interfaces to advertise: names or beginnings of names, separated by commas; all but
    /// loopback when empty.
    pub interfaces: String,
    /// The address by which the launcher has reached this host, if that is known.
    pub route: Option<IpAddr>,
    /// Whether all ranks of the job are known to be on one host.
    pub one_host: bool,
    /// The settings.
    pub tcp: TcpSettings,
}

/// What happened, for reports and tests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TcpCounters {
    /// Connections that carried a stream.
    pub connections: u64,
    /// Those that were made again after one broke.
    pub repairs: u64,
    /// Connections that ended because what came on them had been changed on its way.
    pub altered: u64,
    /// Connections of strangers that were refused.
    pub strangers: u64,
    /// Bytes of large messages read straight into their memory.
    pub bytes_in_place: u64,
    /// Bytes received by way of our own buffer.
    pub bytes_buffered: u64,
    /// Calls of the kernel that sent something.
    pub writes: u64,
}

/// What the next poll has to tell the sink.
enum Event {
    Sent(Token),
    Down(PeerId, Why),
}

/// The TCP transport of one process.
pub struct Tcp {
    pid: u32,
    peers: Peers,
    looks: Looks,
    /// Streams that wait for room in the kernel.
    blocked: u32,
    /// Streams with a connection.
    open: u32,
    /// Streams whose peers are to be told how far this end is.
    owing: Vec<StreamId>,
    /// Whether records are kept back for a moment, and the streams that have such.
    holds: bool,
    held: Vec<StreamId>,
    announcing: Announcing,
    guests: Guests,
    events: Vec<Event>,
    /// Goodbye was said.
    leaves: bool,
    /// Whether somebody waits until all is delivered.
    flush_asked: Cell<bool>,
    scratch: Vec<u8>,
    own: Vec<Interface>,
    job: [u8; 32],
    restraint: Restraint,
    counters: TcpCounters,
    config: TcpConfig,
    epoll: Epoll,
    listen_sockets: ListenSockets,
    card: Card,
}

impl Tcp {
    /// The transport of a process, not yet connected to anybody, but listening.
    ///
    /// # Errors
    /// A setting is out of its bounds, the kernel gives no socket, or none of the wanted interfaces is up.
    pub fn new(config: TcpConfig) -> io::Result<Tcp> {
        let tcp = config.tcp.checked().map_err(io::Error::other)?;
        let config = TcpConfig { tcp, ..config };
        let (own, setting) = (interfaces::all()?, "FERRITE_TCP_INTERFACES");
        let (mut told, places) =
            Card::places(&own, &config.interfaces, config.route, config.one_host, setting)?;
        let listen_sockets = ListenSockets::open(&places, config.tcp.ports.0)?;
        told.retain(|address| listen_sockets.addresses().contains(address));
        let card = Card::new(listen_sockets.port(), told, config.route);
        let epoll = Epoll::new()?;
        listen_sockets.watch(&epoll)?;
        Ok(Tcp {
            pid: std::process::id(),
            peers: Peers::default(),
            looks: Looks::new(),
            blocked: 0,
            open: 0,
            owing: Vec::new(),
            holds: false,
            held: Vec::new(),
            announcing: Announcing::default(),
            guests: Guests::new(&epoll)?,
            events: Vec::new(),
            leaves: false,
            flush_asked: Cell::new(false),
            scratch: Vec::new(),
            own,
            job: crate::fields::job_hash(&config.job),
            restraint: Restraint::default(),
            counters: TcpCounters::default(),
            config,
            epoll,
            listen_sockets,
            card,
        })
    }

    /// Where this process listens.
    pub fn card(&self) -> Card {
        self.card.clone()
    }

    /// Says what all processes of the job know and nobody else: before the first poll.
    pub fn set_secret(&mut self, secret: Secret) {
        self.config.secret = secret;
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One is out of its bounds, in a sentence.
    pub fn set_settings(&mut self, settings: TcpSettings) -> Result<(), String> {
        self.config.tcp = settings.checked()?;
        Ok(())
    }

    /// Says where a peer listens, by its card; `is_here` when it runs on this very host.
    pub fn meet(&mut self, peer: PeerId, card: &Card, is_here: bool) {
        self.peers.set_routes(peer, card.routes(&self.own, is_here));
    }

    /// The peers.
    pub(crate) fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The same, to be told more about them.
    pub(crate) fn peers_mut(&mut self) -> &mut Peers {
        &mut self.peers
    }

    /// A peer that has been looked for in vain for a while, and what its addresses answer.
    pub fn sought_in_vain(&self) -> Option<String> {
        self.peers.sought_in_vain()
    }

    /// A peer that is looked for although nobody has said where it listens.
    pub fn sought_blindly(&self) -> Option<PeerId> {
        self.peers.sought_blindly()
    }

    /// What happened so far.
    pub fn counters(&self) -> TcpCounters {
        self.counters
    }

    /// What becomes readable when there is news.
    pub fn news(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Whether a poll has something to do even if no news comes; else how long it can be put off.
    pub fn put_off(&self) -> Option<Duration> {
        let has_words = !self.owing.is_empty() || !self.announcing.is_empty();
        if !self.events.is_empty() || has_words || self.flush_asked.get() {
            return Some(Duration::ZERO);
        }
        let due = self.peers.due().into_iter().chain(self.guests.due()).min();
        let due = due.map(|due| due.saturating_duration_since(net::now()));
        // The kernel does not say when a peer's has the goodbye.
        let look = self.leaves && !self.has_left();
        due.into_iter().chain(look.then_some(GOODBYE_LOOK)).min()
    }

    /// Whether the next poll has something to do beyond looking for news.
    #[inline]
    pub fn is_restless(&self) -> bool {
        let waiting = self.owing.len() | self.peers.seeking.len() | self.events.len();
        waiting != 0 || !self.announcing.is_empty() || self.blocked != 0 || self.flush_asked.get()
    }

    /// The next poll looks at every socket, and no stream counts as busy any more.
    pub fn look_around(&mut self) {
        self.looks.around();
    }

    /// The next poll looks at every socket; how many come before the one after that stays.
    pub fn look_at_once(&mut self) {
        self.looks.at_once();
    }

    /// The next polls look at every socket, at first all of them.
    pub fn look_soon(&mut self) {
        self.looks.soon();
    }
}

impl Transport for Tcp {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        self.peers.add(peer, name.rank, name.job == self.config.job);
    }

    #[inline]
    fn caps(&self, _: PeerId) -> Caps {
        Caps { frame_bytes_max: self.config.tcp.eager_bytes as usize, name: "TCP" }
    }

    #[inline]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        self.send_frame(peer, header, body)
    }

    fn has_room(&mut self, peer: PeerId, len: u64, _: bool) -> bool {
        let window = self.config.tcp.window_bytes;
        self.peers.get(peer).is_some_and(|to| to.has_room(len, window))
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
        let flushed = self.peers.all().all(Peer::is_flushed);
        if !flushed {
            self.flush_asked.set(true);
        }
        flushed
    }

    fn is_sent(&self) -> bool {
        self.peers.all().all(Peer::is_sent)
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        // A forked child shares the connections and must not end them.
        if std::process::id() == self.pid {
            self.leave();
            self.peers.end_connections();
        }
    }
}

#[cfg(test)]
mod overlap_tests;
#[cfg(test)]
mod proxy_tests;
#[cfg(test)]
mod sim_net;
#[cfg(test)]
mod sim_sockets;
#[cfg(test)]
mod sim_tests;
#[cfg(test)]
mod stranger_tests;
#[cfg(test)]
mod tests;
