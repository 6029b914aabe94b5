//! The world of a process: shared memory to those on its node, TCP to the others, a queue to
//! itself, a clock.
//!
//! Enters: frames and bulk data for peers. Leaves: the same, by the transport that reaches the peer (see `ways`).
//! Where the whole job is known to be on one node no network is opened.

mod connecting;
mod near;
mod pace;
mod passing;
mod ways;

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
use crate::tcp::{Tcp, TcpConfig};
pub use connecting::{Connecting, Mode};
pub use pace::ticks;
use pace::{Look, Pace};
use passing::Passing;
pub use ways::{Choice, Wish};
use ways::{Net, Way};

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
        self.net = Some(Box::new(Net::new(tcp)));
        Ok(())
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

    fn is_sent(&self) -> bool {
        self.loopback.is_sent()
            && self.shm.is_sent()
            && self.net.as_ref().is_none_or(|net| net.tcp.is_sent())
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
