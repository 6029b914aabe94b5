//! Shared memory: the transport between processes of one node.
//!
//! Each process has one arena, a memfd that peers map at first contact: inbound lanes (see `lane`), which peers write,
//! and outgoing buffers, which peers read. A message of up to 40 bytes is one cache line written into the receiver's
//! lane, one of up to 128 takes one or two more beside it; a longer eager one puts its body into the exchange buffer of
//! the pair if this side holds it, else into a slot of the sender, and names it in the cell, or passes through the
//! sender's ring fragment by fragment (`stream`); a rendezvous is fetched by the receiver (`pull`), or goes through
//! exchange buffer or ring too, both sides copying at the same time (`bulk`), whichever is cheaper here (`protocol`).
//! Memory that the library allocates for programs lies in the arena and is read in place (VIA over SISCI).
//!
//! Two processes meet through the kernel's list of descriptors (`connect`) or over a datagram socket
//! (`meet`); they are on one node when that worked.
//!
//! In: [`mpi_core::port::Transport`]'s calls and what peers write. Out: [`mpi_core::port::Sink`]'s calls.

mod arena;
mod attach;
mod bell;
mod choice;
mod direct;
mod message;
mod park;
mod peer;
pub mod protocol;
mod pull;
pub mod ring;
mod settings;
mod transfers;
mod transport;

pub use attach::hello::Secret;
pub use settings::{Bulk, ShmSettings};

use std::collections::{HashMap, VecDeque};
use std::io;

use mpi_core::port::{PeerId, Token, Why};

use crate::cards::Directory;
use crate::fields::job_hash;
use crate::restraint::Restraint;
use crate::sys::limits::Limits;
use crate::sys::socket::{Datagram, Name};
use crate::sys::{barrier, process_vm};
use crate::working_set::Touched;
use arena::Arena;
use attach::hello::Card;
use attach::meet::Stray;
use attach::setup_message::SetupMessage;
use attach::{connect, window_segments};
use direct::segments;
use message::fragments;
use park::Waiter;
use peer::Peer;
use ring::pool::Pool;
use ring::runs::Ring;

/// Who this process is, as far as shared memory needs to know.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// Ranks of the job.
    pub size: u32,
    /// How many of them run on this node, as far as known.
    pub ranks_on_node: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// Whether shared memory reaches no other process, as far as is known: then the kernel may have none to give.
    pub alone: bool,
    /// The settings.
    pub shm: ShmSettings,
}

/// What happened, by its path, for reports and tests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ShmCounters {
    /// Bytes of rendezvous copied straight out of a peer's arena, with no copy in between.
    pub bytes_in_place: u64,
    /// Bytes copied by the kernel out of a peer's address space.
    pub bytes_cross_memory: u64,
    /// Bytes of eager messages that arrived through rings and exchange buffers.
    pub bytes_eager: u64,
    /// Bytes of rendezvous that arrived through rings and exchange buffers.
    pub bytes_pipelined: u64,
    /// Datagrams from strangers.
    pub strangers: u64,
    /// Times that this process went to sleep.
    pub sleeps: u64,
}

/// What the next poll has to tell the sink.
enum Event {
    Sent(Token),
    Down(PeerId, Why),
}

/// The peers of a process, how they are met and lost, and the memory through which it talks with them.
pub(crate) struct Contacts {
    peers: Vec<Peer>,
    /// Peers whose lanes are open, those that were heard of last in front.
    row: Vec<PeerId>,
    slots: Pool,
    ring: Ring,
    touched: Touched,
    /// Whether there is anything to do at the next poll beside looking at lanes.
    chores: bool,
    /// Peers whose bells could not be rung yet.
    unrung: Vec<PeerId>,
    /// Whether a bell was taken from the socket since that was last asked.
    was_rung: bool,
    /// Polls until there is a look for who has asked for a connection.
    until_look: u32,
    /// Such looks until the socket is looked at too.
    until_setup_messages: u32,
    /// Whether a frame was refused since the last wait: its owner must not sleep for long.
    refused: bool,
    window_segments: window_segments::Table,
    events: Vec<Event>,
    outbox: VecDeque<SetupMessage>,
    strays: Vec<Stray>,
    by_rank: HashMap<u32, PeerId>,
    /// Peers, with their ranks, that have neither been met nor sent a hello.
    unmet: Vec<(u32, PeerId)>,
    wanted: Vec<PeerId>,
    /// Peers whose hello is awaited.
    greeted: u32,
    /// Whether fences reach all connected peers.
    all_fence: bool,
    /// Datagrams from strangers.
    refusals: u64,
    restraint: Restraint,
    card: Card,
    job: [u8; 32],
    fences: bool,
    config: LocalConfig,
    directory: Box<dyn Directory + Send>,
    /// None where the kernel gives none and nobody else is reached through shared memory.
    socket: Option<Datagram>,
    // Last, so that no pointer into it outlives it.
    arena: Arena,
}

/// The shared-memory transport of one process.
pub struct Shm {
    /// Place in the row where the next look at a quiet lane is.
    turn: usize,
    /// Whether the next poll looks at every lane.
    look_at_all: bool,
    /// Goes on with the frames that come; how far for each does not matter.
    heard: u32,
    /// Whether a fragment of bulk data has gone since the last poll.
    pumped: bool,
    waiter: Waiter,
    segments: segments::Table,
    counters: ShmCounters,
    /// The longest eager message, in bytes.
    eager_most: u64,
    /// The longest one that goes in one fragment.
    whole_most: u64,
    bounce: Vec<u8>,
    // Last, since the segments point into its arenas.
    pub(crate) contacts: Contacts,
}

/// The socket at which others meet this process; none where the kernel gives none and nobody comes.
fn socket(config: &LocalConfig, name: &Name) -> io::Result<Option<Datagram>> {
    match Datagram::bind(name) {
        Err(error) if config.alone => {
            tracing::debug!(%error, "there is no socket to be met at, which is not needed");
            Ok(None)
        }
        bound => bound.map(Some),
    }
}

impl Shm {
    /// The transport of a process, not yet connected to anybody.
    ///
    /// # Errors
    /// The kernel gives no memory or no socket.
    pub fn new(config: LocalConfig, directory: Box<dyn Directory + Send>) -> io::Result<Shm> {
        let limits = Limits::of_this_process();
        let shm = config.shm.rounded().within(&limits, config.size, config.ranks_on_node);
        let config = LocalConfig { shm, ..config };
        let geometry = config.shm.geometry(config.size);
        let arena = match Arena::new(geometry) {
            Err(error) if config.alone => {
                tracing::debug!(%error, "no memory can be shared, which is not needed");
                Arena::unshared(geometry)?
            }
            other => other?,
        };
        let name = connect::name(arena.fd())?;
        Shm::named(config, directory, arena, name)
    }

    /// The transport of a process with this arena, whose socket is called so.
    fn named(
        config: LocalConfig,
        directory: Box<dyn Directory + Send>,
        arena: Arena,
        name: Name,
    ) -> io::Result<Shm> {
        process_vm::allow_readers();
        let shm = Shm {
            turn: 0,
            look_at_all: false,
            heard: 0,
            pumped: false,
            waiter: Waiter::new(&config.shm, config.ranks_on_node),
            segments: segments::Table::default(),
            counters: ShmCounters::default(),
            eager_most: fragments::eager_most(&config.shm),
            whole_most: fragments::whole_most(&config.shm),
            bounce: Vec::new(),
            contacts: Contacts::new(config, directory, arena, name)?,
        };
        shm.contacts.publish_connection_record();
        Ok(shm)
    }

    /// The text by which peers find this process, at most 128 bytes.
    pub fn card(&self) -> String {
        self.contacts.card.to_text()
    }

    /// Says what only the job's processes know: before anything is sent, since the secret travels with the cards.
    pub fn set_secret(&mut self, secret: Secret) {
        self.contacts.config.secret = secret;
    }

    /// Who this process is.
    pub(crate) fn config(&self) -> &LocalConfig {
        &self.contacts.config
    }

    /// Whether this is the first rank of its job.
    pub fn is_first(&self) -> bool {
        self.contacts.config.rank == 0
    }

    /// Whether others can reach this process through shared memory.
    pub(crate) fn is_reachable(&self) -> bool {
        self.contacts.socket.is_some() && self.contacts.arena.is_shared()
    }

    /// What happened so far.
    pub fn counters(&self) -> ShmCounters {
        ShmCounters { strangers: self.contacts.refusals, ..self.counters }
    }

    /// The memory that the library allocates for programs.
    pub(crate) fn memory(&mut self) -> &mut Arena {
        &mut self.contacts.arena
    }

    /// A number that changes when frames come.
    #[inline]
    pub(crate) fn heard(&self) -> u32 {
        self.heard
    }

    /// Tells peers that this process has left for good; its memory stays until this is dropped.
    pub fn leave(&mut self) {
        if std::process::id() == self.waiter.pid() {
            self.contacts.arena.leave();
            // Who has just asked for a connection waits for an answer, and who asks for a connection from now on sees
            // the word.
            self.contacts.answer_connect_requests();
            self.contacts.socket.iter().for_each(Datagram::close);
        }
    }

    /// Whether the handshake with `peer` is complete, so that the two are on one node.
    pub fn is_connected(&self, peer: PeerId) -> bool {
        self.contacts.peers.get(peer.0 as usize).is_some_and(|peer| peer.remote.is_some())
    }
}

impl Contacts {
    /// Those of a process with this arena, whose socket is called so: nobody yet.
    fn new(
        config: LocalConfig,
        directory: Box<dyn Directory + Send>,
        arena: Arena,
        name: Name,
    ) -> io::Result<Contacts> {
        let g = *arena.geometry();
        Ok(Contacts {
            peers: Vec::new(),
            row: Vec::new(),
            slots: Pool::new(g.slots_at(), g.slot_stride.into(), g.slots.into()),
            ring: Ring::new(g.ring_at(), g.ring_bytes),
            touched: Touched::new(g.ring_at()),
            chores: false,
            unrung: Vec::new(),
            was_rung: false,
            until_look: 1,
            until_setup_messages: 1,
            refused: false,
            window_segments: window_segments::Table::default(),
            events: Vec::new(),
            outbox: VecDeque::new(),
            strays: Vec::new(),
            by_rank: HashMap::new(),
            unmet: Vec::new(),
            wanted: Vec::new(),
            greeted: 0,
            all_fence: true,
            refusals: 0,
            restraint: Restraint::default(),
            card: Card { name, host: Card::this_host() },
            job: job_hash(&config.job),
            fences: barrier::register(),
            socket: socket(&config, &name)?,
            config,
            directory,
            arena,
        })
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod segment_tests;
#[cfg(test)]
pub(crate) mod tests;
