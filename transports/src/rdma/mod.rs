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
mod channel;
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
use mpi_core::port::PeerId;

use crate::tcp::Secret;
use channel::Channel;
use envelope::ENVELOPE_BYTES;
use fabric::{Completion, Fabric};
use moves::Moves;
use peer::Link;
use pin::{Pin, PinCounters};
use rendezvous::{Landings, Offered};
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
    /// Fragments of large messages that left.
    pub fragments_out: u64,
    /// Messages that came, of all kinds: completions of receives.
    pub messages_in: u64,
    /// What came in rings.
    pub ring_frames_in: u64,
    /// Messages of this transport's own: credits, rings, goodbyes.
    pub notes_out: u64,
    /// Rings that were opened here.
    pub rings: u64,
    /// Large messages that were written to where they are wanted.
    pub written: u64,
    /// Large messages that were read from where they lay.
    pub read: u64,
    /// Large messages that were sent in fragments.
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

/// The transport of one process over a fabric.
pub struct Rdma<F: Fabric> {
    // First, so that it is dropped first: then no device touches the memory of the others.
    channel: Channel<F>,
    moves: Moves<F>,
    landings: Landings<F>,
    offered: Vec<Offered<F::Region>>,
    /// Memory that peers may reach.
    exposed: Slots<Pin<F::Region>>,
    /// Peers that were never reached, if somebody else finds a way to them.
    unreached: Vec<Unreached>,
    /// Peers that have taken leave, and in which poll.
    leavers: Vec<(PeerId, u64)>,
    keeps_unreached: bool,
    news: Vec<Completion>,
    /// There may be news, since the fabric could not be armed.
    is_awake: bool,
}

// SAFETY: what it points to is its own pages, or memory that belongs to requests, which any thread may read and
// write; they are touched by the owner of the transport alone.
unsafe impl<F: Fabric + Send> Send for Rdma<F> {}

impl<F: Fabric> Rdma<F> {
    /// The transport of a process, which talks to nobody yet.
    ///
    /// # Errors
    /// A setting is out of its bounds, the fabric cannot do what is needed, or it registers no memory; in a sentence.
    pub fn new(config: RdmaConfig, fabric: F) -> Result<Rdma<F>, String> {
        Ok(Rdma {
            channel: Channel::new(config, fabric)?,
            moves: Moves::default(),
            landings: Landings::default(),
            offered: Vec::new(),
            exposed: Slots::default(),
            unreached: Vec::new(),
            leavers: Vec::new(),
            keeps_unreached: false,
            news: Vec::new(),
            is_awake: false,
        })
    }

    /// The text by which peers find this process.
    pub fn card(&self) -> String {
        self.channel.fabric.card()
    }

    /// Says what all processes of the job know and nobody else: before the first poll.
    pub fn set_secret(&mut self, secret: Secret) {
        self.channel.fabric.set_secret(secret);
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One is out of its bounds, or memory cannot be registered; in a sentence.
    pub fn set_settings(&mut self, settings: RdmaSettings) -> Result<(), String> {
        self.channel.set_settings(settings)
    }

    /// Says where a peer is, by its card.
    ///
    /// # Errors
    /// The text, which anybody may have written, is no card, or no way leads there.
    pub fn meet(&mut self, peer: PeerId, text: &str, _is_here: bool) -> Result<(), String> {
        self.channel.fabric.meet(peer, text)?;
        let was_sought = self.channel.sought.iter().position(|one| *one == peer);
        if let Some(met) = self.channel.peer(peer) {
            met.link = met.link.max(Link::Met);
        }
        if let Some(place) = was_sought {
            self.channel.sought.swap_remove(place);
            let _ = self.channel.seek(peer);
        }
        Ok(())
    }

    /// A peer whose card this process must know to go on, if there is one.
    pub fn sought_blindly(&self) -> Option<PeerId> {
        self.channel.sought.first().copied().or_else(|| self.channel.fabric.sought())
    }

    /// The fabric, for reports.
    pub fn fabric(&self) -> &F {
        &self.channel.fabric
    }

    /// What happened so far.
    pub fn counters(&self) -> RdmaCounters {
        RdmaCounters { peers: self.channel.met as u64, ..self.channel.counters }
    }

    /// Memory that the library gave the program: what is registered of it stays so until it is taken back.
    pub fn own(&mut self, memory: Range<usize>) {
        self.channel.pins.own(memory);
    }

    /// The memory that begins there is about to be taken back.
    pub fn disown(&mut self, start: usize) {
        self.channel.pins.disown(&mut self.channel.fabric, start);
    }

    /// Bytes of the buffers in which messages may come, from all peers together.
    pub fn receive_bytes(&self) -> usize {
        self.channel.posted * self.channel.message_bytes_max()
    }

    /// What the cache of registrations has done.
    pub fn pins(&self) -> PinCounters {
        self.channel.pins.counters()
    }

    /// Whether registrations are kept, and if not why, for a report.
    pub fn pins_told(&self) -> String {
        self.channel.pins.tell()
    }

    /// Tells all peers how far this end is; whether all of that has left.
    pub fn tell_all(&mut self) -> bool {
        for peer in self.channel.peers.places() {
            let Some(to) = self.channel.peers.get(peer).filter(|to| to.is_up()) else { continue };
            if to.credits.grants.renewal() > 0 {
                self.channel.owe(peer, peer::due::NOTE);
            }
        }
        self.attend();
        self.channel.pending.is_empty()
    }
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
