//! Message passing over registered memory: queue pairs of verbs, endpoints of libfabric.
//!
//! [`Rdma`] is a [`mpi_core::port::Transport`] over any [`Fabric`] that is reliable. Small frames go as messages into
//! buffers that the receiver keeps, as many as a peer has credits (`credit`), or are written into a ring in its memory
//! that it polls (`ring`; paper 000). Large ones are written by one end straight to where they are wanted, or read by
//! the other from where they lie (`moves`; paper 002), or go through buffers where memory cannot be registered or has
//! gaps (`bulk`).
//!
//! In: its calls, and completions. Out: [`mpi_core::port::Sink`]'s calls, and work.

mod ahead;
mod bulk;
mod control;
mod credit;
mod envelope;
pub mod fabric;
mod fabric_bench;
pub mod fabric_set;
mod in_ring;
mod job;
mod lose;
mod moves;
mod one_sided;
mod pages;
mod peer;
pub mod pin;
mod pool;
mod receive;
mod rendezvous;
mod ring;
mod send;
mod settings;
mod slots;
mod transfers;
mod transport;
mod unreached;
mod waking;

pub use settings::RdmaSettings;
pub use unreached::{Bulk, Unreached};

use std::ops::Range;

use mpi_core::header::HEADER_BYTES;
use mpi_core::port::{PeerId, Token, Why};

use crate::tcp::Secret;
use envelope::ENVELOPE_BYTES;
use fabric::{Abilities, Completion, Fabric};
use moves::Move;
use peer::{Link, Peer, Peers};
use pin::{Pin, PinCache, PinCounters};
use pool::Pool;
use rendezvous::{Awaited, Offered};
use ring::{RingIn, TRAILER_BYTES};
use slots::Slots;

/// Bytes of what stands before the body of a frame.
const HEAD_BYTES: usize = ENVELOPE_BYTES + HEADER_BYTES;

/// Who this process is, as far as a fabric's transport needs to know.
#[derive(Clone, Debug)]
pub struct RdmaConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// The settings.
    pub settings: RdmaSettings,
}

/// What happened, for reports and tests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RdmaCounters {
    /// Peers with which something was said.
    pub peers: u64,
    /// Frames of the program that left as messages.
    pub messages_out: u64,
    /// Frames of the program that were written into rings.
    pub ring_frames_out: u64,
    /// Pieces of large messages that left.
    pub pieces_out: u64,
    /// Messages that came, of all kinds: completions of receives.
    pub messages_in: u64,
    /// What came in rings.
    pub ring_frames_in: u64,
    /// Messages of this transport's own: credits, rings, farewells.
    pub notes_out: u64,
    /// Rings that were opened here.
    pub rings: u64,
    /// Large messages that were written to where they are wanted.
    pub written: u64,
    /// Large messages that were read from where they lay.
    pub read: u64,
    /// Large messages that were sent in pieces.
    pub pieced: u64,
    /// Large messages whose memory could not be registered.
    pub refused: u64,
    /// Large messages under way at once at most, of those that are written or read.
    pub moves_max: u64,
    /// Buffers posted at most.
    pub posted_max: u64,
    /// How often a frame found no credit.
    pub starved: u64,
    /// Messages that were told before others that were sent before them.
    pub ahead: u64,
}

/// What the next poll has to tell the sink.
enum Event {
    Down(PeerId, Why),
    Sent(Token),
}

/// The transport of one process over a fabric.
pub struct Rdma<F: Fabric> {
    // First, so that it is dropped first: then no device touches the memory of the others.
    fabric: F,
    config: RdmaConfig,
    abilities: Abilities,
    /// Bytes of a message that need no buffer.
    inline_max: usize,
    pool: Pool<F::Region>,
    pins: PinCache<F>,
    peers: Peers,
    rings: Vec<RingIn<F::Region>>,
    moves: Slots<Move<F::Region>>,
    awaited: Slots<Awaited<F::Region>>,
    offered: Vec<Offered<F::Region>>,
    /// Memory that peers may reach.
    exposed: Slots<Pin<F::Region>>,
    /// Large messages that are announced to this process and wanted here by writing.
    awaiting: usize,
    /// Buffers posted; credits that peers have, and that they shall have.
    posted: usize,
    /// Buffers that the fabric has room for, once that has shown.
    posts_max: usize,
    granted: usize,
    windows: usize,
    /// Peers whose addresses are not known and that are to be sent something.
    sought: Vec<PeerId>,
    /// Peers with something left to be posted; peers from which something came in this poll.
    pending: Vec<PeerId>,
    heard: Vec<PeerId>,
    events: Vec<Event>,
    /// Peers that were never reached, if somebody else finds a way to them.
    unreached: Vec<Unreached>,
    /// Peers that have taken leave, and in which poll.
    leavers: Vec<(PeerId, u64)>,
    keeps_unreached: bool,
    news: Vec<Completion>,
    polls: u64,
    /// Peers with which something was said, which need buffers.
    met: usize,
    /// There may be news, since the fabric could not be armed.
    is_awake: bool,
    counters: RdmaCounters,
}

// SAFETY: what it points to is its own pages, or memory that belongs to requests, which any thread may read and
// write; they are touched by the owner of the transport alone.
unsafe impl<F: Fabric + Send> Send for Rdma<F> {}

impl<F: Fabric> Rdma<F> {
    /// The transport of a process, which talks to nobody yet.
    ///
    /// # Errors
    /// A setting is out of its bounds, the fabric cannot do what is needed, or it registers no memory; in a sentence.
    pub fn new(config: RdmaConfig, mut fabric: F) -> Result<Rdma<F>, String> {
        config.settings.check()?;
        let abilities = fabric.abilities();
        let config = RdmaConfig { settings: fit(config.settings, &abilities), ..config };
        let pool = open_pool(&mut fabric, &config.settings)?;
        Ok(Rdma {
            abilities,
            inline_max: abilities.inline_bytes.min(send::INLINE_MAX),
            pool,
            pins: PinCache::new(config.settings.pins, &fabric),
            peers: Peers::new(config.settings.credits as u16),
            rings: Vec::new(),
            moves: Slots::default(),
            awaited: Slots::default(),
            offered: Vec::new(),
            exposed: Slots::default(),
            awaiting: 0,
            posted: 0,
            posts_max: usize::MAX,
            granted: 0,
            windows: 0,
            sought: Vec::new(),
            pending: Vec::new(),
            heard: Vec::new(),
            events: Vec::new(),
            unreached: Vec::new(),
            leavers: Vec::new(),
            keeps_unreached: false,
            news: Vec::new(),
            polls: 0,
            met: 0,
            is_awake: false,
            counters: RdmaCounters::default(),
            config,
            fabric,
        })
    }

    /// The text by which peers find this process.
    pub fn card(&self) -> String {
        self.fabric.card()
    }

    /// Says what all processes of the job know and nobody else: before the first poll.
    pub fn set_secret(&mut self, secret: Secret) {
        self.fabric.set_secret(secret);
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One is out of its bounds, or memory cannot be registered; in a sentence.
    pub fn set_settings(&mut self, settings: RdmaSettings) -> Result<(), String> {
        settings.check()?;
        let settings = fit(settings, &self.abilities);
        if settings != self.config.settings {
            let new = open_pool(&mut self.fabric, &settings)?;
            std::mem::replace(&mut self.pool, new).close(&mut self.fabric);
            self.peers.set_credits(settings.credits as u16);
            self.pins = PinCache::new(settings.pins, &self.fabric);
            self.config.settings = settings;
        }
        Ok(())
    }

    /// Says where a peer is, by its card.
    ///
    /// # Errors
    /// The text, which anybody may have written, is no card, or no way leads there.
    pub fn meet(&mut self, peer: PeerId, text: &str, _is_here: bool) -> Result<(), String> {
        self.fabric.meet(peer, text)?;
        let was_sought = self.sought.iter().position(|one| *one == peer);
        if let Some(met) = self.peer(peer) {
            met.link = met.link.max(Link::Met);
        }
        if let Some(place) = was_sought {
            self.sought.swap_remove(place);
            let _ = self.seek(peer);
        }
        Ok(())
    }

    /// A peer whose card this process must know to go on, if there is one.
    pub fn sought_blindly(&self) -> Option<PeerId> {
        self.sought.first().copied().or_else(|| self.fabric.sought())
    }

    /// The fabric, for reports.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// What happened so far.
    pub fn counters(&self) -> RdmaCounters {
        RdmaCounters { peers: self.met as u64, ..self.counters }
    }

    /// Memory that the library gave the program: what is registered of it stays so until it is taken back.
    pub fn own(&mut self, memory: Range<usize>) {
        self.pins.own(memory);
    }

    /// The memory that begins there is about to be taken back.
    pub fn disown(&mut self, start: usize) {
        self.pins.disown(&mut self.fabric, start);
    }

    /// Bytes of the buffers in which messages may come, from all peers together.
    pub fn receive_bytes(&self) -> usize {
        self.posted * self.message_bytes_max()
    }

    /// What the cache of registrations has done.
    pub fn pins(&self) -> PinCounters {
        self.pins.counters()
    }

    /// Whether registrations are kept, and if not why, for a report.
    pub fn pins_told(&self) -> String {
        self.pins.tell()
    }

    /// Tells all peers how far this end is; whether all of that has left.
    pub fn tell_all(&mut self) -> bool {
        for peer in self.peers.places() {
            let Some(to) = self.peers.get(peer).filter(|to| to.is_up()) else { continue };
            if to.credits.grants.renewal() > 0 {
                to.due |= peer::due::NOTE;
                self.pend(peer);
            }
        }
        self.attend();
        self.pending.is_empty()
    }

    /// What there is with a peer, from now on if there was nothing; `None` for one that is not known.
    fn peer(&mut self, peer: PeerId) -> Option<&mut Peer> {
        let (met, is_new) = self.peers.meet(peer)?;
        if is_new {
            self.met += 1;
            self.windows += usize::from(met.credits.grants.window);
            self.granted += usize::from(met.credits.grants.outstanding());
        }
        Some(met)
    }

    /// Bytes of a message, or a frame in a ring, at most.
    #[inline]
    fn message_bytes_max(&self) -> usize {
        HEAD_BYTES + self.config.settings.eager_bytes
    }

    /// A peer has something left to be posted.
    #[inline]
    fn pend(&mut self, peer: PeerId) {
        if let Some(to) = self.peers.get(peer)
            && !std::mem::replace(&mut to.is_pending, true)
        {
            self.pending.push(peer);
        }
    }
}

/// Settings that a fabric can do.
fn fit(mut settings: RdmaSettings, abilities: &Abilities) -> RdmaSettings {
    let longest = abilities.message_bytes_max;
    settings.eager_bytes =
        settings.eager_bytes.min(longest.saturating_sub(HEAD_BYTES + TRAILER_BYTES));
    settings.piece_bytes = settings.piece_bytes.min(longest);
    // A frame is found by its last bytes, and what it follows by a message behind it.
    if !(abilities.writes_in_order && abilities.message_after_writes) {
        settings.ring_slots = 0;
    }
    settings
}

fn open_pool<F: Fabric>(
    fabric: &mut F,
    settings: &RdmaSettings,
) -> Result<Pool<F::Region>, String> {
    let bytes = HEAD_BYTES + settings.eager_bytes + TRAILER_BYTES;
    Pool::new(fabric, bytes, settings.pool_bytes)
}

#[cfg(test)]
mod credit_tests;
#[cfg(test)]
mod end_tests;
#[cfg(test)]
mod far_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod paper_tests;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod storm_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unreached_tests;
