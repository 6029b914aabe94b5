//! A fabric by reliable connections of verbs.
//!
//! One shared receive queue holds the posted buffers, one completion queue a port all completions; each peer has some
//! queue pairs on each port, the first of which carries messages. Connections are made by handshakes over datagrams
//! ([`super::meet`]). There are no threads: what is due is done in `poll`.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use mpi_core::port::{OfferKind, PeerId, ProcessName};

use super::address::Address;
use super::choice::Chosen;
use super::core::{Core, Kind};
use super::device::open_chosen;
use super::greeter::{Greeter, warn_late};
use super::meet::Turn;
use super::objects::Context;
use super::port::Port;
use super::queue_pair::Atomic;
use super::regions::Region;
use super::settings::VerbsSettings;
use crate::rdma::fabric::{
    Abilities, Access, Completion, Fabric, Local, Memory, NoRoom, Refusal, Remote, Target, Work,
};
use crate::tcp::Secret;

/// Polls that find nothing, after which devices and handshakes are looked at all the same.
const QUIET_POLLS: u32 = 256;

/// What a process needs to know to open its end.
#[derive(Clone, Debug)]
pub struct VerbsConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// The rank in it.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// What the user has chosen.
    pub settings: VerbsSettings,
}

/// One process's end.
pub struct Rc {
    greeter: Greeter,
    /// Where peers hear that were met.
    met: HashMap<PeerId, Address>,
    /// The rank of each peer.
    ranks: HashMap<PeerId, u32>,
    pub(super) core: Core,
    /// Peers that have not answered for long.
    late: Vec<PeerId>,
    job: String,
    rank: u32,
    /// Polls since devices and handshakes were looked at.
    quiet: u32,
    /// Whether the bell may have rung.
    is_armed: bool,
    /// When there is something to do.
    due: Option<Duration>,
}

impl std::fmt::Debug for Rc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rc").field("devices", &self.tell()).finish_non_exhaustive()
    }
}

impl Rc {
    /// Opens this process's devices.
    ///
    /// # Errors
    /// A setting is out of its bounds, or there is no library, no device, no active port, no permission, or no memory
    /// for it; in a sentence with the cure.
    pub fn open(config: VerbsConfig) -> Result<Rc, String> {
        config.settings.check()?;
        let devices = open_chosen(&config.settings)?;
        Rc::on(devices, config)
    }

    /// Opens an end by these devices.
    pub(super) fn on(
        devices: Vec<(Arc<Context>, Chosen)>,
        config: VerbsConfig,
    ) -> Result<Rc, String> {
        let settings = config.settings;
        let mut ports = Vec::new();
        for (context, chosen) in devices {
            ports.push(Port::open(&context, chosen, &settings)?);
        }
        let first = &ports[0];
        let who = (&*config.job, config.rank, config.secret);
        let greeter =
            Greeter::open(who, (&first.pd, &first.channel, &first.chosen), settings.patience)?;
        Ok(Rc {
            greeter,
            met: HashMap::new(),
            ranks: HashMap::new(),
            core: Core::new(ports, settings)?,
            late: Vec::new(),
            job: config.job,
            rank: config.rank,
            quiet: 0,
            is_armed: false,
            due: None,
        })
    }

    /// What is used, for a report.
    pub fn tell(&self) -> String {
        let ports: Vec<String> = self.core.ports.iter().map(Port::tell).collect();
        let number = self.core.rails();
        let pairs = if number == 1 { "queue pair" } else { "queue pairs" };
        format!("{}; {number} {pairs} a peer", ports.join(" and "))
    }

    /// Datagrams of nobody in this job, which were dropped.
    pub fn strangers(&self) -> u64 {
        self.greeter.meet.strangers
    }

    fn place_of(&self, rank: u32) -> Option<usize> {
        self.core.connection_of(*self.core.peers.get(&rank)?)
    }

    /// Sends what the handshake has to say, and takes what has become of peers.
    fn follow(&mut self) {
        for rank in std::mem::take(&mut self.core.heard) {
            self.greeter.meet.settle(rank);
        }
        self.greeter.say(self.core.now());
        self.take_turns();
        // What was said of peers that have failed meanwhile.
        self.greeter.say(self.core.now());
        self.due = self.greeter.meet.due();
    }

    fn take_turns(&mut self) {
        loop {
            for rank in std::mem::take(&mut self.core.failed) {
                self.greeter.meet.close(rank);
            }
            if self.greeter.meet.turns.is_empty() {
                break;
            }
            // A peer that has closed has closed after what it sent, which comes first.
            if self.greeter.meet.turns.iter().any(|turn| matches!(turn, Turn::Down(..))) {
                self.core.drain();
            }
            for turn in std::mem::take(&mut self.greeter.meet.turns) {
                self.turn(turn);
            }
        }
    }

    fn turn(&mut self, turn: Turn) {
        match turn {
            Turn::Up(rank) => {
                if let Some(place) = self.place_of(rank) {
                    self.core.come_up(place);
                }
            }
            Turn::Late(rank, waited) => {
                warn_late(rank, waited, &self.core.ports[0].tell());
                self.late.extend(self.core.peers.get(&rank));
            }
            Turn::Down(rank, why) => match self.place_of(rank) {
                Some(place) => self.core.part(place, why),
                None => {
                    let peer = self.core.peers.get(&rank);
                    self.core.news.extend(peer.map(|peer| Completion::Down(*peer, why)));
                }
            },
        }
    }

    /// Takes completions, and from time to time what else there is.
    fn look(&mut self, is_thorough: bool) {
        let mut is_busy = false;
        for port in 0..self.core.ports.len() {
            is_busy |= self.core.poll_port(port);
        }
        self.quiet += 1;
        let is_restless = self.due.is_some() || !self.core.heard.is_empty();
        let is_troubled = !self.core.failed.is_empty();
        if is_thorough || is_troubled || self.quiet >= QUIET_POLLS || is_restless && !is_busy {
            self.look_around(is_thorough || self.quiet >= QUIET_POLLS);
        }
    }

    /// Looks at handshakes and at what is due, and at what devices say by themselves.
    fn look_around(&mut self, at_devices: bool) {
        let now = self.core.now();
        if at_devices {
            self.quiet = 0;
            self.core.events();
        }
        if self.core.ports[0].is_gone() {
            self.greeter.mute();
        }
        self.greeter.hear(&mut self.core, now);
        self.follow();
        let later = [self.core.clear(now), self.core.look_at_ports(now), self.due];
        self.due = later.into_iter().flatten().min();
    }
}

impl Memory for Rc {
    type Region = Region;

    unsafe fn register(
        &mut self,
        address: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<Region, Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.core.regions.register(&self.core.ports, (address, len), access) }
    }

    fn deregister(&mut self, region: Region) {
        self.core.regions.deregister(region);
    }

    fn remote(&self, region: Region) -> Remote {
        self.core.regions.remote(region)
    }

    fn follows_mappings(&self) -> bool {
        self.core.ports.iter().all(|port| port.limits.on_demand)
    }
}

impl Fabric for Rc {
    const OFFER: OfferKind = crate::offers::RC;
    const NAME: &'static str = "RC";

    fn abilities(&self) -> Abilities {
        let ports = &self.core.ports;
        Abilities {
            inline_bytes: ports.iter().map(|port| port.inline as usize).min().unwrap_or(0),
            message_bytes_max: ports
                .iter()
                .map(|port| port.limits.message_bytes)
                .min()
                .unwrap_or(0),
            rails: self.core.rails(),
            writes_in_order: self.core.is_in_order(),
            // By the rules of order within a queue pair.
            message_after_writes: true,
            tells_in_order: true,
            reads: ports.iter().all(|port| port.limits.reads.min(port.limits.their_reads) > 0),
            atomics: ports[0].limits.atomics,
        }
    }

    fn card(&self) -> String {
        self.greeter.card()
    }

    fn set_secret(&mut self, secret: Secret) {
        self.greeter.meet.set_secret(secret);
    }

    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        if name.job == self.job && name.rank != self.rank {
            self.core.peers.insert(name.rank, peer);
            self.ranks.insert(peer, name.rank);
        }
    }

    fn meet(&mut self, peer: PeerId, card: &str) -> Result<(), String> {
        let address = Address::from_card(card)?;
        address.port.way(&self.core.ports[0].chosen)?;
        if !self.ranks.contains_key(&peer) {
            return Err("the peer is of another job, which verbs do not reach".to_owned());
        }
        self.met.insert(peer, address);
        Ok(())
    }

    fn reach(&mut self, peer: PeerId) {
        let Some(address) = self.met.remove(&peer) else { return };
        let Some(rank) = self.ranks.get(&peer).copied() else { return };
        let now = self.core.now();
        self.greeter.meet.reach(&mut self.core, rank, address, now);
        self.follow();
    }

    fn is_up(&self, peer: PeerId) -> bool {
        self.core.is_up(peer)
    }

    fn cut(&mut self, peer: PeerId) {
        if let Some(place) = self.core.connection_of(peer) {
            self.core.end(place);
        }
    }

    fn late(&mut self) -> Option<PeerId> {
        let peer = self.late.pop()?;
        self.ranks
            .get(&peer)
            .is_some_and(|rank| self.greeter.meet.is_unheard(*rank))
            .then_some(peer)
    }

    unsafe fn post(&mut self, buffer: Local<Region>, work: Work) -> Result<(), NoRoom> {
        // SAFETY: the caller's promise.
        unsafe { self.core.post(buffer, work) }
    }

    #[inline]
    unsafe fn send(
        &mut self,
        peer: PeerId,
        message: Local<Region>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        // SAFETY: the caller's promise.
        unsafe { self.core.work(peer, 0, message, Kind::Send, work) }
    }

    #[inline]
    unsafe fn write(
        &mut self,
        peer: PeerId,
        rail: usize,
        from: Local<Region>,
        to: Target,
        immediate: Option<u32>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        // SAFETY: the caller's promise.
        unsafe { self.core.work(peer, rail, from, Kind::Write(to, immediate), work) }
    }

    unsafe fn read(
        &mut self,
        peer: PeerId,
        rail: usize,
        into: Local<Region>,
        from: Target,
        work: Work,
    ) -> Result<(), NoRoom> {
        // SAFETY: the caller's promise.
        unsafe { self.core.work(peer, rail, into, Kind::Read(from), Some(work)) }
    }

    unsafe fn fetch_add(
        &mut self,
        peer: PeerId,
        into: Local<Region>,
        at: Target,
        add: u64,
        work: Work,
    ) -> Result<(), NoRoom> {
        let kind = Kind::Atomic(at, Atomic::Add(add));
        // SAFETY: the caller's promise.
        unsafe { self.core.work(peer, 0, into, kind, Some(work)) }
    }

    unsafe fn compare_swap(
        &mut self,
        peer: PeerId,
        into: Local<Region>,
        at: Target,
        expected: u64,
        new: u64,
        work: Work,
    ) -> Result<(), NoRoom> {
        let kind = Kind::Atomic(at, Atomic::Swap { expected, new });
        // SAFETY: the caller's promise.
        unsafe { self.core.work(peer, 0, into, kind, Some(work)) }
    }

    fn poll(&mut self, news: &mut Vec<Completion>) {
        let is_thorough = std::mem::take(&mut self.is_armed);
        self.look(is_thorough);
        news.append(&mut self.core.news);
    }

    fn arm(&mut self) -> bool {
        let is_armed = self.core.arm() && self.greeter.arm();
        // What has come before the queues were armed rings no bell.
        self.look(true);
        self.is_armed = true;
        is_armed && self.core.news.is_empty()
    }

    fn news(&self) -> Option<BorrowedFd<'_>> {
        Some(self.core.bell.as_fd())
    }

    fn put_off(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_sub(self.core.now()))
    }
}

impl Drop for Rc {
    fn drop(&mut self) {
        self.greeter.close(self.core.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_can_go_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Rc>();
    }

    #[test]
    fn without_a_device_there_is_a_sentence_with_the_cure() {
        let settings = VerbsSettings { devices: "no_such_device".to_owned(), ..Default::default() };
        let job = "job".to_owned();
        let why = Rc::open(VerbsConfig { job, rank: 0, secret: [1; 32], settings }).unwrap_err();
        assert!(
            why.contains("no_such_device") || why.contains("device") || why.contains("install"),
            "{why}"
        );
        assert!(why.split_whitespace().count() > 8, "{why}");
    }
}
