//! The world of a process: shared memory to those on its node, TCP to the others, a queue to
//! itself, a clock.
//!
//! Which way leads to a peer is decided when something is first sent there, from its business
//! card and from settings that all ranks have alike, so that both ends decide the same. Where the
//! whole job is known to be on one node no network is opened.

mod near;
mod pace;
mod passing;

use std::io;
use std::time::{Duration, Instant};

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Body, Caps, Expected, Front, Full, Offer, PeerId, Pieces, Port, ProcessName, Pulled,
    Sink, Token, Transport,
};

use crate::loopback::Loopback;
use crate::shm::{Beside, CARD_GAP, Directory, LocalConfig, Secret, Shm};
use crate::tcp::{self, Tcp, TcpConfig};
use pace::{Look, Pace};
use passing::Passing;

/// Which ways the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wish {
    /// Shared memory on one node, TCP otherwise.
    #[default]
    Auto,
    /// Shared memory only.
    SharedMemory,
    /// TCP, also on one node.
    Tcp,
}

/// By what the way to a peer is chosen: alike on all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Which ways the user wants.
    pub wish: Wish,
    /// Ranks that take themselves for one node; 0 when all on a host do.
    pub node_ranks: u32,
}

/// In which order all connections are made at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// As a ring, without threads.
    Ring,
    /// With a thread that accepts.
    Threads,
}

/// How far connecting to all has come.
pub enum Connecting {
    /// As a ring, to these peers.
    Ring(tcp::Ring, Vec<PeerId>),
    /// With a thread, to these peers.
    Served(Box<tcp::Server>, Vec<PeerId>),
}

/// The way to a peer, as far as it is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Undecided,
    SharedMemory,
    Tcp,
}

/// The network, and who is reached through it.
struct Net {
    tcp: Tcp,
    ways: Vec<(Way, u32)>,
}

impl Net {
    #[inline]
    fn way(&self, peer: PeerId) -> Way {
        self.ways.get(peer.0 as usize).map_or(Way::Undecided, |(way, _)| *way)
    }
}

/// Shared memory, network, loopback and a clock, as one [`Port`].
pub struct LocalPort {
    shm: Shm,
    loopback: Loopback,
    /// Which peer this process itself is; `NOBODY` until told.
    me: PeerId,
    net: Option<Box<Net>>,
    pace: Pace,
    passing: Passing,
    choice: Choice,
    me_name: ProcessName,
    start: Instant,
    /// Whether what comes from other processes is left where it is.
    deaf: bool,
}

const NOBODY: PeerId = PeerId(u32::MAX);

impl LocalPort {
    /// The port of the process that `config` describes; `directory` finds the cards of others.
    ///
    /// # Errors
    /// The kernel gives no memory or no socket.
    pub fn new(config: LocalConfig, directory: Box<dyn Directory + Send>) -> io::Result<LocalPort> {
        let me_name = ProcessName { job: config.job.clone(), rank: config.rank };
        let shm = Shm::new(config, directory)?;
        Ok(LocalPort {
            shm,
            loopback: Loopback::new(),
            me: NOBODY,
            net: None,
            pace: Pace::default(),
            passing: Passing::default(),
            choice: Choice::default(),
            me_name,
            start: Instant::now(),
            deaf: false,
        })
    }

    /// Opens the network: before the card is published.
    ///
    /// # Errors
    /// The kernel gives no socket, or none of the wanted interfaces is up.
    pub fn open_network(&mut self, config: TcpConfig) -> io::Result<()> {
        let tcp = Tcp::new(config)?;
        self.net = Some(Box::new(Net { tcp, ways: Vec::new() }));
        Ok(())
    }

    /// Says how the way to a peer is chosen: before the first peer is made known.
    ///
    /// # Errors
    /// The wish cannot be granted; the text says so and lists what can.
    pub fn set_choice(&mut self, choice: Choice) -> Result<(), String> {
        if choice.wish == Wish::Tcp && self.net.is_none() && self.size_is_above_one() {
            return Err(format!(
                "rank 0 wants TCP, but rank {} has opened no network; possible here: auto, shm",
                self.me_name.rank
            ));
        }
        let apart = choice.node_ranks != 0 && self.shm.config().size > choice.node_ranks;
        if choice.wish == Wish::SharedMemory && apart {
            return Err(format!(
                "shm leads nowhere from one group of {} ranks to the next, which take themselves \
                 for different nodes (FERRITE_NODE_RANKS); possible: auto, tcp",
                choice.node_ranks
            ));
        }
        self.choice = choice;
        Ok(())
    }

    fn size_is_above_one(&self) -> bool {
        self.shm.config().size > 1
    }

    /// Says what all processes of the job know and nobody else: before anything is sent.
    pub fn set_secret(&mut self, secret: Secret) {
        self.shm.set_secret(secret);
        if let Some(net) = &mut self.net {
            net.tcp.set_secret(secret);
        }
    }

    /// Whether what comes from other processes is left where it is, until this process can tell
    /// whether they are of its job.
    pub fn set_deaf(&mut self, deaf: bool) {
        self.deaf = deaf;
    }

    /// The text by which peers find this process, at most 128 bytes.
    pub fn card(&self) -> String {
        let mut card = self.shm.card();
        if let Some(net) = &self.net {
            card.push(CARD_GAP);
            card.push_str(&net.tcp.card().to_text());
        }
        card
    }

    /// The shared-memory transport: allocation, counters.
    pub fn shm(&mut self) -> &mut Shm {
        &mut self.shm
    }

    /// Meets all processes of a job that has no network open, as far as that needs no help of theirs;
    /// whether it is such a job.
    pub fn meet_all(&mut self) -> bool {
        let is_here = self.net.is_none();
        if is_here {
            self.shm.meet_all();
        }
        is_here
    }

    /// Whether all processes have met this one, or cannot. Who waits for that sleeps for short times
    /// only, since who does not come does not ring.
    pub fn has_met_all(&mut self) -> bool {
        self.shm.has_met_all()
    }

    /// Whether processes share processors.
    pub fn is_crowded(&self) -> bool {
        self.shm.is_crowded()
    }

    /// Leaves the other processes for good: what was handed to this port has been delivered. The
    /// memory that was shared with those of this host stays until the port is dropped, which may
    /// take longer than all the rest of an end.
    pub fn leave(&mut self) {
        self.shm.leave();
        self.net = None;
    }

    /// The TCP transport, if a network is open.
    pub fn tcp(&mut self) -> Option<&mut Tcp> {
        self.net.as_mut().map(|net| &mut net.tcp)
    }

    /// Whether the two ranks are to take themselves for one node, their hosts aside.
    fn is_one_node(&self, rank: u32) -> bool {
        match self.choice.node_ranks {
            0 => true,
            k => rank / k == self.me_name.rank / k,
        }
    }

    /// Decides the way to a peer; [`Way::Undecided`] when its card is not there yet or there is
    /// no way at all.
    #[cold]
    #[inline(never)]
    fn decide(&mut self, peer: PeerId) -> Way {
        let text = match self.shm.look_up(peer) {
            Ok(Some(text)) => text,
            Ok(None) => return Way::Undecided,
            Err(why) => {
                self.shm.lose(peer, &why);
                return Way::SharedMemory;
            }
        };
        let Some(net) = &self.net else { return Way::SharedMemory };
        let rank = net.ways.get(peer.0 as usize).map_or(u32::MAX, |(_, rank)| *rank);
        let is_here = self.shm.is_here(&text) == Some(true);
        let by_memory = is_here && self.is_one_node(rank);
        let way = match self.choice.wish {
            Wish::Tcp => Way::Tcp,
            Wish::SharedMemory => Way::SharedMemory,
            Wish::Auto if by_memory => Way::SharedMemory,
            Wish::Auto => Way::Tcp,
        };
        match way {
            Way::Tcp => self.take_network(peer, &text, is_here),
            _ if by_memory => self.shm.greet(peer, &text),
            _ => {
                let how = "it runs on another node, where FERRITE_TRANSPORT=shm does not reach; \
                           possible: auto, tcp";
                self.shm.lose(peer, how);
            }
        }
        if let Some(net) = &mut self.net
            && let Some(known) = net.ways.get_mut(peer.0 as usize)
        {
            known.0 = way;
        }
        way
    }

    /// Tells the network where a peer listens, by its card.
    fn take_network(&mut self, peer: PeerId, text: &str, is_here: bool) {
        let card = text.split(CARD_GAP).find_map(tcp::Card::from_text);
        match (card, &mut self.net) {
            (Some(card), Some(net)) => net.tcp.meet(peer, &card, is_here),
            _ => self.shm.lose(peer, "it has opened no network; possible: shm"),
        }
    }

    /// Begins to connect to all peers that are reached over the network. Cards that are missing
    /// are looked up; `None` when one is not there yet.
    ///
    /// # Errors
    /// The kernel gives no thread.
    pub fn start_connecting(&mut self, mode: Mode) -> io::Result<Option<Connecting>> {
        let count = self.net.as_ref().map_or(0, |net| net.ways.len());
        let mut peers = Vec::new();
        let me = self.me;
        for peer in (0..count).map(|place| PeerId(place as u32)).filter(|peer| *peer != me) {
            match self.is_far(peer) {
                Ok(true) => peers.push(peer),
                Ok(false) => {}
                Err(Full) => return Ok(None),
            }
        }
        let (rank, size) = (self.me_name.rank, self.shm.config().size);
        Ok(Some(match (mode, &mut self.net) {
            (Mode::Threads, Some(net)) => {
                let server = net.tcp.start_server(&peers)?;
                Connecting::Served(Box::new(server), peers)
            }
            _ => Connecting::Ring(tcp::Ring::new(rank, size), peers),
        }))
    }

    /// Goes on with it; whether all are connected.
    pub fn connect(&mut self, state: &mut Connecting) -> bool {
        let Some(net) = &mut self.net else { return true };
        match state {
            Connecting::Ring(ring, peers) => {
                net.tcp.connect_ring(ring, |peer| !peers.contains(&peer))
            }
            Connecting::Served(server, peers) => net.tcp.connect_served(server, peers),
        }
    }

    /// Whether frames to `peer` go over the network; decides it if need be.
    #[inline]
    fn is_far(&mut self, peer: PeerId) -> Result<bool, Full> {
        let Some(net) = &self.net else { return Ok(false) };
        let way = match net.way(peer) {
            Way::Undecided => self.decide(peer),
            way => way,
        };
        match way {
            Way::Tcp => Ok(true),
            Way::SharedMemory => Ok(false),
            Way::Undecided => Err(Full),
        }
    }
}

impl LocalPort {
    /// Takes in what has come over the network; whether there was anything.
    #[inline(never)]
    fn poll_network<S: Sink>(&mut self, look: Look, sink: &mut S) -> bool {
        let Some(net) = &mut self.net else { return false };
        match look {
            Look::Around => net.tcp.look_around(),
            Look::AtOnce => net.tcp.look_at_once(),
            _ => {}
        }
        let busy = net.tcp.poll(sink) == Activity::Busy;
        if busy {
            self.pace.note_news();
        }
        if let Some(peer) = net.tcp.sought_blindly() {
            self.decide(peer);
        }
        busy
    }

    /// Sends a frame that finds no open lane with room.
    #[inline(never)]
    fn send_elsewhere(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
    ) -> Result<(), Full> {
        if peer == self.me {
            return self.loopback.send(peer, header, body);
        }
        if self.is_far(peer)?
            && let Some(net) = &mut self.net
        {
            self.pace.note_news();
            return net.tcp.send(peer, header, body);
        }
        self.shm.send(peer, header, body)
    }
}

impl Transport for LocalPort {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        if *name == self.me_name {
            self.me = peer;
            self.loopback.add_peer(peer, name);
            return;
        }
        if let Some(net) = &mut self.net {
            let place = peer.0 as usize;
            if place >= net.ways.len() {
                net.ways.resize(place + 1, (Way::Undecided, u32::MAX));
            }
            net.ways[place].1 = name.rank;
            net.tcp.add_peer(peer, name);
        }
        self.shm.add_peer(peer, name);
    }

    #[inline]
    fn caps(&self, peer: PeerId) -> Caps {
        // An open lane leads to nobody who is reached in another way, so a network that is open
        // costs nothing here.
        if self.shm.has_cell(peer) {
            return self.shm.caps(peer);
        }
        if peer == self.me {
            return self.loopback.caps(peer);
        }
        match &self.net {
            None => self.shm.caps(peer),
            Some(net) => match net.way(peer) {
                Way::SharedMemory => self.shm.caps(peer),
                Way::Tcp => net.tcp.caps(peer),
                Way::Undecided => {
                    let (near, far) = (self.shm.caps(peer), net.tcp.caps(peer));
                    if near.frame_bytes_max <= far.frame_bytes_max { near } else { far }
                }
            },
        }
    }

    #[inline(always)]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        // As for `caps`.
        if self.shm.has_cell(peer) {
            return self.shm.send(peer, header, body);
        }
        self.send_elsewhere(peer, header, body)
    }

    #[inline(always)]
    fn send_inline(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        self.shm.send_inline(peer, header, bytes)
    }

    #[inline(always)]
    fn send_at_once(&mut self, peer: PeerId, header: Header, bytes: RawBytes<'_>) -> bool {
        self.shm.send_at_once(peer, header, bytes)
    }

    fn send_bulk(&mut self, peer: PeerId, header: &Header, source: Packer, token: Token) {
        if peer == self.me {
            return self.loopback.send_bulk(peer, header, source, token);
        }
        match (self.is_far(peer), &mut self.net) {
            (Ok(true), Some(net)) => {
                self.pace.note_news();
                net.tcp.send_bulk(peer, header, source, token);
            }
            _ => self.shm.send_bulk(peer, header, source, token),
        }
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        let mut busy = self.loopback.poll(sink) == Activity::Busy;
        if self.deaf {
            return if busy { Activity::Busy } else { Activity::Idle };
        }
        busy |= self.shm.poll(sink) == Activity::Busy;
        if let Some(net) = &self.net {
            let look = self.pace.next(self.shm.heard(), pace::ticks);
            if look != Look::No && (look != Look::IfRestless || net.tcp.is_restless()) {
                busy |= self.poll_network(look, sink);
            }
        }
        if busy { Activity::Busy } else { Activity::Idle }
    }

    #[inline(always)]
    fn take_front(
        &mut self,
        peer: PeerId,
        looks: u32,
        wanted: impl FnOnce(&Header, RawBytes<'_>) -> bool,
    ) -> Front {
        self.shm.take_front(peer, looks, wanted)
    }

    #[inline(always)]
    fn take_expected(
        &mut self,
        peer: PeerId,
        looks: u32,
        expected: &Expected,
    ) -> Result<(Header, usize), Front> {
        self.shm.take_expected(peer, looks, expected)
    }

    #[inline]
    fn take_pieces(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, u64) -> Option<UserBuffer>,
    ) -> Pieces {
        self.shm.take_pieces(peer, wanted)
    }

    fn land(&mut self, peer: PeerId, rest: Unpacker, token: Token) {
        self.shm.land(peer, rest, token);
    }

    fn has_room(&mut self, peer: PeerId, len: u64, plain: bool) -> bool {
        if peer == self.me {
            return true;
        }
        match &mut self.net {
            Some(net) if net.way(peer) == Way::Tcp => net.tcp.has_room(peer, len, plain),
            _ => self.shm.has_room(peer, len, plain),
        }
    }

    fn hold(&mut self) {
        if let Some(net) = &mut self.net {
            net.tcp.hold();
        }
    }

    fn release(&mut self) {
        if let Some(net) = &mut self.net {
            net.tcp.release();
        }
    }

    fn offer(&mut self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        if peer == self.me {
            return self.loopback.offer(peer, address, len);
        }
        match &self.net {
            Some(net) if net.way(peer) == Way::Tcp => Offer::default(),
            _ => self.shm.offer(peer, address, len),
        }
    }

    fn pull(
        &mut self,
        peer: PeerId,
        offer: &Offer,
        len: u64,
        to: &mut Unpacker,
        token: Token,
    ) -> Pulled {
        if peer == self.me {
            return self.loopback.pull(peer, offer, len, to, token);
        }
        match &self.net {
            Some(net) if net.way(peer) == Way::Tcp => Pulled::Unavailable,
            _ => self.shm.pull(peer, offer, len, to, token),
        }
    }

    fn is_flushed(&self) -> bool {
        self.loopback.is_flushed()
            && self.shm.is_flushed()
            && self.net.as_ref().is_none_or(|net| net.tcp.is_flushed())
    }
}

impl Port for LocalPort {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    #[inline]
    fn wait(&mut self, idle_polls: u32) -> bool {
        if !self.loopback.is_idle() {
            return false;
        }
        let Some(net) = &mut self.net else { return self.shm.wait(idle_polls, || None) };
        let (tcp, pace) = (&mut net.tcp, &mut self.pace);
        self.shm.wait(idle_polls, || {
            // Whatever ends the sleep, the next poll looks at every socket.
            tcp.look_soon();
            pace.hurry();
            Some(Beside { at_most: tcp.put_off(), news: tcp.news() })
        })
    }

    fn give_turn(&mut self) {
        self.shm.give_turn();
    }

    #[inline]
    fn looked_in_vain(&mut self) {
        self.pace.note_pause();
        if self.shm.is_crowded() && self.passing.is_loop(pace::ticks()) {
            self.shm.give_turn();
            self.passing.goes_on(pace::ticks());
        }
    }

    #[inline]
    fn spins(&mut self, looks: u32) -> bool {
        self.shm.spins(looks)
    }
}

#[cfg(test)]
mod tests;
