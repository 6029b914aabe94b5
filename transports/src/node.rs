//! The world of a process: shared memory to those on its node, networks to the others, a queue to itself, a clock.
//!
//! Enters: frames and bulk data for peers. Leaves: the same, by the transport that reaches the peer (see `routes`).
//! Where the whole job is known to be on one node no network is opened.

mod connecting;
mod falling;
mod host;
mod memory;
mod net;
mod nets;
mod network;
mod opening;
mod pace;
mod passing;
mod routes;
mod telling;
mod tunnel;

use std::io;
use std::time::{Duration, Instant};

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::error::Error;
use mpi_core::header::Header;
use mpi_core::io::disk::Storage;
use mpi_core::node_memory::Meeting;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Expected, Fragments, Front, Full, Offer, PeerId, Port,
    ProcessName, Pulled, Sink, Token, Transport,
};
use mpi_core::rest::Rest;
use mpi_core::roll_call::Answer;
use mpi_core::tuning::LAUNCHER_GAP_TICKS;

use crate::bed::Bed;
use crate::cards::{Directory, NODE};
pub use crate::clock::ticks;
use crate::disk::Posix;
use crate::loopback::Loopback;
use crate::offers;
use crate::shm::{LocalConfig, Secret, Shm};
use crate::sys::{cpus, wait};
use crate::tcp::Tcp;
pub use connecting::{Connecting, Mode};
pub use host::Host;
use host::NoHost;
use net::{Net, each};
use nets::{Nets, Route};
pub use network::Network;
pub use opening::{Identity, NetworkConfig};
use pace::{Look, Pace};
use passing::Passing;
pub use routes::{Choice, Preference};

/// Shared memory, networks, loopback and a clock, as one [`Port`].
pub struct LocalPort {
    shm: Shm,
    loopback: Loopback,
    /// Which peer this process itself is; `NOBODY` until told.
    me: PeerId,
    /// None where no network is open.
    nets: Option<Box<Nets>>,
    /// Networks that could not be opened, and why.
    unopened: Vec<(Network, String)>,
    pace: Pace,
    /// Whether something has moved on a network since that was last asked.
    moved: bool,
    passing: Passing,
    choice: Choice,
    me_name: ProcessName,
    start: Instant,
    /// Whether what comes from other processes is left where it is.
    deaf: bool,
    host: &'static dyn Host,
    /// When the host was asked last whether anybody asks, in ticks.
    asked: u64,
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
            nets: None,
            unopened: Vec::new(),
            pace: Pace::default(),
            moved: false,
            passing: Passing::default(),
            choice: Choice::default(),
            me_name,
            start: Instant::now(),
            deaf: false,
            host: &NoHost,
            asked: 0,
        })
    }

    /// Says what all processes of the job know and nobody else: before anything is sent.
    pub fn set_secret(&mut self, secret: Secret) {
        self.shm.set_secret(secret);
        if let Some(nets) = &mut self.nets {
            nets.set_secret(secret);
        }
    }

    /// Whether what comes from other processes waits until this process can tell whether they are of its job.
    pub fn set_deaf(&mut self, deaf: bool) {
        self.deaf = deaf;
    }

    /// Says whose port this is.
    pub fn set_host(&mut self, host: &'static dyn Host) {
        self.host = host;
    }

    /// The kinds of cards by which peers find this process, with their texts, in the order in which
    /// they are to be published (see [`crate::cards`]).
    pub fn cards(&self) -> Vec<(&'static str, String)> {
        let networks = self.nets.iter().flat_map(|nets| nets.cards());
        networks.chain([(NODE, self.shm.card())]).collect()
    }

    /// The shared-memory transport: allocation, counters.
    pub fn shm(&mut self) -> &mut Shm {
        &mut self.shm
    }

    /// Meets all processes of a job without a network, as far as that needs no help of theirs; whether it is one.
    pub fn meet_all(&mut self) -> bool {
        let is_here = self.nets.is_none();
        if is_here {
            self.shm.contacts.meet_all();
        }
        is_here
    }

    /// Whether all have met this one, or cannot. Who waits for that sleeps briefly: who does not come does not ring.
    pub fn has_met_all(&mut self) -> bool {
        self.shm.contacts.has_met_all()
    }

    /// Whether processes share processors.
    pub fn is_oversubscribed(&self) -> bool {
        self.shm.is_oversubscribed()
    }

    /// Leaves the other processes for good: what was handed to this port has been delivered. The memory that was shared
    /// with those of this host stays until the port is dropped, which may take longer than all the rest of an end.
    pub fn leave(&mut self) {
        self.shm.leave();
        if let Some(nets) = &mut self.nets {
            nets.leave();
        }
        self.nets = None;
    }

    /// The TCP transport, if it is open.
    pub fn tcp(&mut self) -> Option<&mut Tcp> {
        self.nets.as_mut()?.tcp()
    }

    /// Tells all peers of networks how far this end is; whether all of that has left. For a process that falls silent
    /// without leaving: a peer that ends waits until it knows that its messages are here.
    pub fn tell_all(&mut self) -> bool {
        self.nets.as_mut().is_none_or(|nets| nets.tell_all())
    }

    /// Takes in what has come over networks; whether there was anything.
    #[inline(never)]
    fn poll_networks<S: Sink>(&mut self, look: Look, sink: &mut S) -> bool {
        let Some(nets) = &mut self.nets else { return false };
        let busy = nets.poll(look, sink);
        if busy {
            self.pace.note_news();
            self.moved = true;
        }
        if let Some((network, peer)) = nets.sought_blindly() {
            self.introduce_sought(network, peer);
        }
        self.look_at_unreached();
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
        if let Route::Network(network) = self.route_to(peer)?
            && let Some(net) = self.nets.as_mut().and_then(|nets| nets.get_mut(network))
        {
            self.pace.note_news();
            return each!(net, net => net.send(peer, header, body));
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
        if let Some(nets) = &mut self.nets {
            nets.add_peer(peer, name);
        }
        self.shm.add_peer(peer, name);
    }

    #[inline]
    fn caps(&self, peer: PeerId) -> Caps {
        // An open lane leads to nobody who is reached in another way, so a network that is open costs nothing here.
        if self.shm.has_cell(peer) {
            return self.shm.caps(peer);
        }
        if peer == self.me {
            return self.loopback.caps(peer);
        }
        match &self.nets {
            None => self.shm.caps(peer),
            Some(nets) => nets.caps(peer, || self.shm.caps(peer)),
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

    fn send_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        advert: Option<Advert>,
    ) {
        if peer == self.me {
            return self.loopback.send_bulk(peer, header, source, token, advert);
        }
        // Decides it, if nothing has gone there before.
        let _ = self.route_to(peer);
        match self.nets.as_mut().and_then(|nets| nets.to(peer)) {
            Some(net) => {
                self.pace.note_news();
                each!(net, net => net.send_bulk(peer, header, source, token, advert));
            }
            None => self.shm.send_bulk(peer, header, source, token, advert),
        }
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        let mut busy = self.loopback.poll(sink) == Activity::Busy;
        if self.deaf {
            return if busy { Activity::Busy } else { Activity::Idle };
        }
        busy |= self.shm.poll(sink) == Activity::Busy;
        if let Some(nets) = &self.nets {
            let look = self.pace.next(self.shm.heard(), ticks);
            if look != Look::No && (look != Look::IfRestless || nets.is_restless()) {
                busy |= self.poll_networks(look, sink);
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
    fn take_fragments(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, u64) -> Option<UserBuffer>,
    ) -> Fragments {
        self.shm.take_fragments(peer, wanted)
    }

    fn land(&mut self, peer: PeerId, rest: Unpacker, token: Token) {
        self.shm.land(peer, rest, token);
    }

    fn has_room(&mut self, peer: PeerId, len: u64, plain: bool) -> bool {
        if peer == self.me {
            return true;
        }
        match self.nets.as_mut().and_then(|nets| nets.to(peer)) {
            Some(net) => each!(net, net => net.has_room(peer, len, plain)),
            None => self.shm.has_room(peer, len, plain),
        }
    }

    fn hold(&mut self) {
        if let Some(nets) = &mut self.nets {
            nets.hold();
        }
    }

    fn release(&mut self) {
        if let Some(nets) = &mut self.nets {
            nets.release();
        }
    }

    fn offer(&mut self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        if peer == self.me {
            return self.loopback.offer(peer, address, len);
        }
        // An offer is for the way that the message takes.
        if self.route_to(peer).is_err() {
            return Offer::default();
        }
        match self.nets.as_mut().and_then(|nets| nets.to(peer)) {
            Some(net) => each!(net, net => net.offer(peer, address, len)),
            None => self.shm.offer(peer, address, len),
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
        match self.nets.as_mut().and_then(|nets| nets.to(peer)) {
            Some(net) => each!(net, net => net.pull(peer, offer, len, to, token)),
            None => self.shm.pull(peer, offer, len, to, token),
        }
    }

    fn end_offer(&mut self, peer: PeerId, offer: &Offer) {
        // By its kind, since another way may lead there now.
        match offer.kind {
            offers::SHARED_MEMORY => self.shm.end_offer(peer, offer),
            offers::LOOPBACK => self.loopback.end_offer(peer, offer),
            _ => {
                if let Some(nets) = &mut self.nets {
                    nets.end_offer(peer, offer);
                }
            }
        }
    }

    fn advertise(
        &mut self,
        peer: PeerId,
        landing: &Unpacker,
        len: u64,
        token: Token,
    ) -> Option<Advert> {
        if peer == self.me {
            return self.loopback.advertise(peer, landing, len, token);
        }
        match self.route_to(peer).ok()? {
            Route::Network(network) => {
                let net = self.nets.as_mut()?.get_mut(network)?;
                each!(net, net => net.advertise(peer, landing, len, token))
            }
            _ => self.shm.advertise(peer, landing, len, token),
        }
    }

    fn is_flushed(&self) -> bool {
        self.loopback.is_flushed()
            && self.shm.is_flushed()
            && self.nets.as_ref().is_none_or(|nets| nets.is_flushed())
    }

    fn is_sent(&self) -> bool {
        self.loopback.is_sent()
            && self.shm.is_sent()
            && self.nets.as_ref().is_none_or(|nets| nets.is_sent())
    }
}

impl Port for LocalPort {
    type Memory = Shm;
    type Bed = Bed;

    #[inline(always)]
    fn node(&self) -> Option<&Shm> {
        Some(&self.shm)
    }

    #[inline(always)]
    fn node_mut(&mut self) -> Option<&mut Shm> {
        Some(&mut self.shm)
    }

    fn meet(&mut self, peer: PeerId) -> Meeting {
        if peer == self.me {
            return Meeting::Near;
        }
        match self.route_to(peer) {
            Ok(Route::Network(_)) => Meeting::Elsewhere,
            Ok(Route::SharedMemory) => self.shm.contacts.meet(peer),
            Ok(Route::Undecided) | Err(Full) => Meeting::Pending,
        }
    }

    fn share(&self) -> u32 {
        self.shm.share()
    }

    fn processor(&self) -> Option<u32> {
        cpus::only()
    }

    fn place(&self) -> Option<[u32; 2]> {
        cpus::place()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn rest(&mut self, idle_polls: u32) -> Rest {
        if self.loopback.is_idle() { self.shm.rest(idle_polls) } else { Rest::Look }
    }

    fn set_threads(&mut self, several: bool) {
        self.shm.set_threads(several);
    }

    fn rest_in_turn(
        &mut self,
        idle_polls: u32,
        rests_for: Option<Duration>,
        beside: usize,
    ) -> Rest {
        match self.loopback.is_idle() {
            true => self.shm.rest_in_turn(idle_polls, rests_for, beside),
            false => Rest::Look,
        }
    }

    fn give_way(&mut self) {
        wait::give_way();
    }

    fn bed(&mut self) -> Bed {
        Bed::own()
    }

    fn lie_down(&mut self, several: bool) -> Option<Bed> {
        self.pace.hurry();
        let nets = self.nets.as_mut();
        self.shm.lie_down(several, nets.and_then(|nets| nets.before_sleep()))
    }

    fn get_up(&mut self) {
        self.shm.get_up();
    }

    fn was_rung(&mut self) -> bool {
        // What a network tells once is taken by the poll that something came with.
        self.shm.was_rung() || std::mem::take(&mut self.moved)
    }

    fn oversleeps(&self) -> bool {
        !self.loopback.is_idle()
            || self.shm.oversleeps(self.nets.as_ref().and_then(|nets| nets.put_off()))
    }

    fn yield_processor(&mut self) {
        self.shm.yield_processor();
    }

    #[inline]
    fn looked_in_vain(&mut self) {
        self.pace.note_pause();
        if self.shm.is_oversubscribed() && self.passing.is_loop(ticks()) {
            self.shm.yield_processor();
            self.passing.goes_on(ticks());
        }
    }

    #[inline]
    fn spins(&mut self, looks: u32) -> bool {
        self.shm.spins(looks)
    }

    fn storage(&self) -> &'static dyn Storage {
        &Posix
    }

    fn is_asked(&mut self) -> bool {
        let now = ticks();
        if now.wrapping_sub(self.asked) < LAUNCHER_GAP_TICKS {
            return false;
        }
        self.asked = now;
        self.host.is_asked()
    }

    fn procedure_name(&self, number: u16) -> Option<&'static str> {
        self.host.procedure_name(number)
    }

    fn end_job(&mut self, procedure: u16, peer: PeerId, error: &Error) {
        self.host.end_job(procedure, peer, error);
    }

    fn answer(&mut self, answer: &Answer) {
        let in_vain = self.tcp().and_then(|tcp| tcp.sought_in_vain());
        self.host.answer(answer, in_vain);
    }
}

#[cfg(test)]
mod tests;
