//! Connectionless MPI over datagrams that may be lost (paper 001), whatever carries them ([`Carrier`]): one
//! place hears everybody; nothing is kept for a peer before the first message, and nobody shakes hands.
//!
//! What makes datagrams reliable is [`crate::reliability`]: one link for each peer that was talked to. This
//! is what is around it: batches of datagrams that leave together (`batch`), a tag on each (`tag`), the ways to
//! a peer (`routes`), and whose time has come (`watch`). Silence is not
//! judged here, since a rank that computes is silent too: where it lasts, datagrams go through a tunnel
//! (`tunnel`), and the network that carries them finds out whether anybody is there.
//!
//! In: [`mpi_core::port::Transport`]'s calls and what peers send. Out: [`mpi_core::port::Sink`]'s calls.

mod batch;
mod carrier;
mod envelope;
mod leave;
mod look_after;
mod pace;
mod peer;
mod receive;
mod report;
mod routes;
mod send;
mod settings;
pub(crate) mod tag;
mod transport;
mod tunnel;
mod watch;

pub use batch::{Batch, Part};
pub use carrier::{Address, Carrier, Fate, Path};
pub use report::Counters;
pub(crate) use settings::BASE_BYTES;
pub use settings::{Identity, Limits};

use std::os::fd::BorrowedFd;
use std::time::Duration;

use mpi_core::port::{PeerId, Why};

use crate::clock::Clock;
use crate::reliability::Config;
use crate::tcp::Secret;
use envelope::Envelope;
use pace::Pace;
use peer::{Peer, Peers, State};
use routes::Routes;
use tag::Keys;
use watch::Watch;

/// The transport of one process.
pub struct Datagrams<C: Carrier> {
    me: Identity,
    limits: Limits,
    /// What is the same for all links.
    link: Config,
    peers: Peers<C::Address>,
    watch: Watch,
    /// Peers whose addresses are not known and that are to be sent something.
    sought: Vec<PeerId>,
    /// Whether datagrams are kept back for a moment, and the peers that have such.
    holds: bool,
    held: Vec<PeerId>,
    /// Peers for whose datagrams the carrier had no room.
    blocked: Vec<PeerId>,
    /// How often it is looked for what has come, and whether there may be news that end no sleep.
    pace: Pace,
    is_unarmed: bool,
    /// Peers from which something came in this poll.
    heard: Vec<PeerId>,
    /// Peers of which the next poll says that they are gone.
    gone: Vec<(PeerId, Why)>,
    /// Datagrams that are to go through another network, and whether they may.
    tunnelled: Vec<(PeerId, Vec<u8>)>,
    has_new_tunnelled: bool,
    tunnels: bool,
    /// Peers whom another network gave up in error.
    spared: Vec<PeerId>,
    /// Ranks that share a processor.
    share: u32,
    batch: Batch,
    job: [u8; 32],
    envelope: Envelope,
    counters: Counters,
    clock: Clock,
    carrier: C,
}

impl<C: Carrier> Datagrams<C> {
    /// The transport of a process, which talks to nobody yet. The limits are within their bounds.
    pub(crate) fn over(carrier: C, me: Identity, limits: Limits) -> Datagrams<C> {
        let job = crate::fields::job_hash(&me.job);
        Datagrams {
            link: limits.link(),
            limits,
            peers: Peers::default(),
            watch: Watch::default(),
            sought: Vec::new(),
            holds: false,
            held: Vec::new(),
            blocked: Vec::new(),
            pace: Pace::default(),
            is_unarmed: false,
            heard: Vec::new(),
            gone: Vec::new(),
            tunnelled: Vec::new(),
            has_new_tunnelled: false,
            tunnels: false,
            spared: Vec::new(),
            share: 1,
            batch: Batch::new(),
            envelope: Envelope::new(&job, me.rank),
            job,
            counters: Counters::default(),
            clock: Clock::new(C::now()),
            me,
            carrier,
        }
    }

    /// The text by which peers find this process.
    pub fn card(&self) -> String {
        self.carrier.card()
    }

    /// What carries the datagrams, for reports.
    pub fn carrier(&self) -> &C {
        &self.carrier
    }

    /// Says what all processes of the job know and nobody else: before the first poll.
    pub fn set_secret(&mut self, secret: Secret) {
        self.me.secret = secret;
        self.carrier.set_secret(secret);
    }

    /// What carries the datagrams.
    pub(crate) fn carrier_mut(&mut self) -> &mut C {
        &mut self.carrier
    }

    /// Takes limits on which all ranks agree: before anything is sent.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        (self.limits, self.link) = (limits, limits.link());
    }

    /// Says where a peer hears, by its card; `is_here` when it runs on this very host.
    ///
    /// # Errors
    /// The text, which anybody may have written, is no card, or no way leads there.
    pub fn meet(&mut self, peer: PeerId, card: &str, is_here: bool) -> Result<(), String> {
        let routes = self.carrier.routes(self.peers.rank_here(peer), card, is_here)?;
        self.set_routes(peer, routes);
        Ok(())
    }

    /// Says where a peer hears.
    pub fn set_routes(&mut self, peer: PeerId, routes: Vec<C::Address>) {
        self.sought.retain(|one| *one != peer);
        if let Some(known) = self.peer(peer) {
            known.routes = Routes::new(routes);
            self.measure_path(peer);
            self.pump(peer);
        }
    }

    /// A peer whose addresses this process must know to go on, if there is one.
    pub fn sought_blindly(&self) -> Option<PeerId> {
        self.sought.first().copied()
    }

    /// What becomes readable when there is news.
    pub fn news(&self) -> BorrowedFd<'_> {
        self.carrier.news()
    }

    /// How long the next poll can be put off if no news comes; `None` when for ever.
    pub fn put_off(&self) -> Option<Duration> {
        if !self.gone.is_empty()
            || !self.held.is_empty()
            || self.has_new_tunnelled
            || self.is_unarmed
        {
            return Some(Duration::ZERO);
        }
        let due = self.watch.next_at().map(|at| at.saturating_sub(self.now()));
        [due, self.carrier.put_off()].into_iter().flatten().min()
    }

    /// Whether the next poll has something to do beyond looking for news.
    #[inline]
    pub fn is_restless(&self) -> bool {
        let waiting = self.gone.len() | self.blocked.len() | self.tunnelled.len();
        waiting != 0 || self.watch.next_at().is_some() && self.watch.is_due(self.now())
    }

    /// The next poll looks at what has come, and that does not count as busy any more.
    pub fn look_around(&mut self) {
        self.pace = Pace::default();
    }

    /// The next poll looks at what has come.
    pub fn look_at_once(&mut self) {
        self.pace.look_soon();
    }

    /// The process is about to sleep: the next poll looks, and news end the sleep.
    pub fn look_soon(&mut self) {
        self.clock.distrust();
        self.pace.look_soon();
        self.is_unarmed = !self.carrier.arm();
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
        self.clock.now(C::ticks(), C::now)
    }

    /// What there is with a peer, from now on if there was nothing; `None` for one that is not known.
    fn peer(&mut self, peer: PeerId) -> Option<&mut Peer<C::Address>> {
        let known = self.peers.known(peer)?;
        if known.peer.is_none() {
            let rank = known.rank;
            let new = self.new_peer(rank);
            self.peers.known(peer)?.peer = Some(Box::new(new));
        }
        self.peers.get(peer)
    }

    /// What there may be with the peer of a rank.
    fn new_peer(&self, rank: u32) -> Peer<C::Address> {
        let Identity { rank: own, secret, .. } = &self.me;
        let keys = |from, to| Keys::derive(C::PURPOSE, secret, &self.job, from, to);
        Peer::new(rank, &self.link, [keys(*own, rank), keys(rank, *own)])
    }

    /// A peer is lost.
    fn lose(&mut self, peer: PeerId, how: &str) {
        let Some(known) = self.peers.known(peer) else { return };
        let rank = known.rank;
        let Some(to) = known.peer.as_deref_mut() else { return };
        if to.state != State::Up {
            return;
        }
        let how = format!("rank {} cannot reach rank {rank} by {}: {how}", self.me.rank, C::NAME);
        let is_undelivered = !to.link.is_flushed();
        self.give_up(peer);
        let why =
            if is_undelivered { Why::Undelivered { how, hint: None } } else { Why::Lost(how) };
        self.gone.push((peer, why));
    }

    /// Nothing comes from or goes to a peer any more.
    pub(crate) fn give_up(&mut self, peer: PeerId) {
        let link = self.link;
        if let Some(to) = self.peers.get(peer) {
            to.state = State::Down;
            // What it holds belongs to the program again.
            to.link = crate::reliability::Link::new(&link);
        }
        self.sought.retain(|one| *one != peer);
        self.tunnelled.retain(|(one, _)| *one != peer);
    }
}

#[cfg(test)]
mod carrier_tests;
#[cfg(test)]
mod sim_fuzz;
#[cfg(test)]
mod sim_leave;
#[cfg(test)]
mod sim_routes;
#[cfg(test)]
mod sim_storm;
#[cfg(test)]
mod sim_world;
#[cfg(test)]
pub(crate) mod tests;
