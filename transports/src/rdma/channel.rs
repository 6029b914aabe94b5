//! What goes to peers and comes from them: the fabric, the memory that it may touch, and how far this process is with
//! each peer.

use mpi_core::port::{PeerId, Token, Why};

use super::fabric::{Abilities, Fabric};
use super::peer::{Link, Peer, Peers, State};
use super::pin::{Pin, PinCache};
use super::pool::Pool;
use super::ring::{RingIn, TRAILER_BYTES};
use super::{HEAD_BYTES, RdmaConfig, RdmaCounters, RdmaSettings};

/// Bytes of a message that is put together on the stack at most.
pub(super) const INLINE_MAX: usize = 256;

/// Rails that are told of by four bits.
const RAILS_MAX: usize = 16;

/// What the next poll has to tell the sink.
pub(super) enum Event {
    Down(PeerId, Why),
    Sent(Token),
}

/// The channel of one process to all its peers.
pub(super) struct Channel<F: Fabric> {
    // First, so that it is dropped first: then no device touches the memory of the others.
    pub fabric: F,
    pub config: RdmaConfig,
    pub abilities: Abilities,
    /// Bytes of a message that need no buffer.
    pub inline_max: usize,
    pub pool: Pool<F::Region>,
    pub pins: PinCache<F>,
    pub peers: Peers,
    pub rings: Vec<RingIn<F::Region>>,
    /// Large messages that are announced to this process and wanted here by writing.
    pub awaiting: usize,
    /// Buffers posted; credits that peers have, and that they shall have.
    pub posted: usize,
    /// Buffers that the fabric has room for, once that has shown.
    pub posts_max: usize,
    pub granted: usize,
    pub windows: usize,
    /// Peers whose addresses are not known and that are to be sent something.
    pub sought: Vec<PeerId>,
    /// Peers with something left to be posted; peers from which something came in this poll.
    pub pending: Vec<PeerId>,
    pub heard: Vec<PeerId>,
    pub events: Vec<Event>,
    pub polls: u64,
    /// Peers with which something was said, which need buffers.
    pub met: usize,
    pub counters: RdmaCounters,
}

impl<F: Fabric> Channel<F> {
    /// The channel of a process, which talks to nobody yet.
    ///
    /// # Errors
    /// A setting is out of its bounds, or the fabric registers no memory; in a sentence.
    pub(super) fn new(config: RdmaConfig, mut fabric: F) -> Result<Channel<F>, String> {
        config.settings.check()?;
        let abilities = fabric.abilities();
        let config = RdmaConfig { settings: fit(config.settings, &abilities), ..config };
        let pool = open_pool(&mut fabric, &config.settings)?;
        Ok(Channel {
            abilities,
            inline_max: abilities.inline_bytes.min(INLINE_MAX),
            pool,
            pins: PinCache::new(config.settings.pins, &fabric),
            peers: Peers::new(config.settings.credits as u16),
            rings: Vec::new(),
            awaiting: 0,
            posted: 0,
            posts_max: usize::MAX,
            granted: 0,
            windows: 0,
            sought: Vec::new(),
            pending: Vec::new(),
            heard: Vec::new(),
            events: Vec::new(),
            polls: 0,
            met: 0,
            counters: RdmaCounters::default(),
            config,
            fabric,
        })
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One is out of its bounds, or memory cannot be registered; in a sentence.
    pub(super) fn set_settings(&mut self, settings: RdmaSettings) -> Result<(), String> {
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

    /// What there is with a peer, from now on if there was nothing; `None` for one that is not known.
    pub(super) fn peer(&mut self, peer: PeerId) -> Option<&mut Peer> {
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
    pub(super) fn message_bytes_max(&self) -> usize {
        HEAD_BYTES + self.config.settings.eager_bytes
    }

    /// Rails in use.
    pub(super) fn rails(&self) -> usize {
        self.abilities.rails.clamp(1, RAILS_MAX)
    }

    /// A peer has something left to be posted.
    #[inline]
    pub(super) fn pend(&mut self, peer: PeerId) {
        if let Some(to) = self.peers.get(peer)
            && !std::mem::replace(&mut to.is_pending, true)
        {
            self.pending.push(peer);
        }
    }

    /// A peer has to be told this by a message of its own.
    #[inline]
    pub(super) fn owe(&mut self, peer: PeerId, due: u8) {
        if let Some(to) = self.peers.get(peer) {
            to.due |= due;
            self.pend(peer);
        }
    }

    /// There is a connection.
    pub(super) fn come_up(&mut self, peer: PeerId) {
        if let Some(to) = self.peer(peer).filter(|to| to.state == State::Up) {
            to.link = Link::Up;
            self.sought.retain(|one| *one != peer);
            self.pend(peer);
        }
    }

    /// No device touches the program's memory for a peer any more: the sink may have it.
    pub(super) fn tell_end(&mut self, peer: PeerId) {
        let Some(to) = self.peers.get(peer) else { return };
        if let State::Ending(Some(why)) = std::mem::replace(&mut to.state, State::Down) {
            self.events.push(Event::Down(peer, why));
        }
    }

    /// A transfer needs its memory registered no more.
    pub(super) fn unpin(&mut self, pin: Pin<F::Region>) {
        self.pins.unpin(&mut self.fabric, pin);
    }

    /// The sentence about a peer that is not reached.
    pub(super) fn out_of_reach(&self, peer: PeerId, how: &str) -> String {
        let rank = self.peers.look(peer).map_or(u32::MAX, |to| to.rank);
        let own = self.config.rank;
        format!("rank {own} cannot reach rank {rank} by {}: {how}", F::NAME)
    }
}

/// Settings that a fabric can do.
fn fit(mut settings: RdmaSettings, abilities: &Abilities) -> RdmaSettings {
    let longest = abilities.message_bytes_max;
    settings.eager_bytes =
        settings.eager_bytes.min(longest.saturating_sub(HEAD_BYTES + TRAILER_BYTES));
    settings.fragment_bytes = settings.fragment_bytes.min(longest);
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
