//! One process's half of what it has with one peer: the parts of this folder, tied together.

use std::time::Duration;

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{Body, Full, Token};

use super::Nanos;
use super::arrivals::Arrivals;
use super::cargo::Cargo;
use super::cubic::Cubic;
use super::flight::{Flight, Question};
use super::mtu::Mtu;
use super::outgoing::Outgoing;
use super::pacer::Pacer;
use super::reassembly::Reassembly;
use super::receipt::Receipt;
use super::rtt::Rtt;

/// Bytes of frames that a peer may be sent before it has said what it has room for.
const FIRST_CREDIT: u32 = 64 << 10;

/// What is the same for all links of a transport.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Bytes that a datagram may have at first, of those that are a link's: the MTU of any path without what
    /// the transport and the network put around them. Larger ones follow [`Link::set_ceiling`].
    pub datagram_bytes: u16,
    /// The largest body of a frame.
    pub frame_bytes_max: u32,
    /// Bytes of frames that are kept until the peer has them: beyond, a link is full.
    pub kept_bytes_max: u32,
    /// Bytes of frames that a peer may send beyond what has come without a gap, 64 KiB at least.
    pub credit: u32,
}

/// What a link has seen, in datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Datagrams that left.
    pub sent: u64,
    /// Of what these carried, what goes again: since it was thought lost, a question carries it, or another path
    /// is taken.
    pub again: u64,
    /// What was thought lost.
    pub lost: u32,
    /// Of these, what had only been late.
    pub late: u32,
    /// Questions to a peer from which no answer came.
    pub asked: u32,
    /// Datagrams that came twice, or too late to be of use.
    pub repeated: u64,
}

/// What of these a link counts by itself.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) again: u64,
    pub(super) repeated: u64,
    pub(super) lost: u32,
    pub(super) asked: u32,
}

impl Counts {
    /// What was sent goes again, if it is a load.
    pub(super) fn goes_again(&mut self, cargo: &Cargo) {
        self.again += u64::from(cargo.is_load());
    }
}

/// What a datagram says of the path by which it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Came {
    /// Nothing: it is older than another that has come.
    Old,
    /// The peer uses this path.
    New,
    /// The same, and it asks, since no answer came.
    Question,
    /// The peer tries this path.
    Trial,
    /// The peer answers a trial, by the path that it came by as far as it can tell.
    TrialAnswer,
}

/// One half of a pair of processes that talk.
pub struct Link {
    pub(super) frame_bytes_max: u32,
    pub(super) kept_bytes_max: u32,
    pub(super) credit_bytes: u32,
    pub(super) mtu: Mtu,
    pub(super) outgoing: Outgoing,
    /// Place in the stream of frames up to which the peer lets us send.
    pub(super) credit: u64,
    pub(super) flight: Flight,
    pub(super) rtt: Rtt,
    pub(super) window: Cubic,
    pub(super) pacer: Pacer,
    /// When the next datagram may leave, if it was held up.
    pub(super) paced_until: Option<Nanos>,
    /// The peer is to be asked, whatever the window.
    pub(super) asks: Option<Question>,
    pub(super) receipt: Receipt,
    pub(super) reassembly: Reassembly,
    /// The peer has said its last word.
    pub(super) peer_left: bool,
    /// A trial of another path came there.
    pub(super) trial_came: Option<u8>,
    /// What came last, as far as a path can be judged by it.
    pub(super) came: Came,
    /// Once a large message has come: most peers send frames alone.
    pub(super) arrivals: Option<Box<Arrivals>>,
    pub(super) counts: Counts,
}

impl Link {
    /// A link on which nothing has happened.
    pub fn new(config: &Config) -> Link {
        let mtu = Mtu::new(config.datagram_bytes);
        Link {
            frame_bytes_max: config.frame_bytes_max,
            kept_bytes_max: config.kept_bytes_max,
            credit_bytes: config.credit.max(FIRST_CREDIT),
            outgoing: Outgoing::default(),
            credit: FIRST_CREDIT.into(),
            flight: Flight::default(),
            rtt: Rtt::default(),
            window: Cubic::new(mtu.bytes().into()),
            mtu,
            pacer: Pacer::default(),
            paced_until: None,
            asks: None,
            receipt: Receipt::default(),
            reassembly: Reassembly::default(),
            peer_left: false,
            trial_came: None,
            came: Came::Old,
            arrivals: None,
            counts: Counts::default(),
        }
    }

    /// Whether a frame with a body of `len` bytes would be taken.
    #[inline]
    pub fn has_room(&self, len: usize) -> bool {
        let kept = self.outgoing.kept();
        kept == 0 || self.peer_left || kept + len <= self.kept_bytes_max as usize
    }

    /// Takes over a frame; its bytes are copied before the call returns.
    ///
    /// # Errors
    /// [`Full`] while the peer has too little of what was taken before.
    #[inline]
    pub fn push_frame(&mut self, header: &Header, body: Body<'_>) -> Result<(), Full> {
        let len = match &body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Packed(packer) => packer.remaining() as usize,
        };
        debug_assert!(len <= self.frame_bytes_max as usize, "too long for a frame: {len}");
        if !self.has_room(len) {
            return Err(Full);
        }
        if self.peer_left {
            return Ok(());
        }
        self.outgoing.push_frame(header, body, len);
        Ok(())
    }

    /// Takes over a large message: its memory belongs to the link until
    /// [`Listener::sent`](super::Listener::sent) with `token`.
    pub fn push_message(&mut self, header: &Header, source: Packer, token: Token) {
        self.outgoing.push_message(header, source, token);
    }

    /// Whether the peer has everything that was handed over, or has left and wants nothing more.
    pub fn is_flushed(&self) -> bool {
        self.outgoing.is_done() || self.peer_left
    }

    /// Nothing more will be handed over: when the peer has everything, it is told so, until it says that it
    /// has heard that. Frames and messages of its own are taken in meanwhile.
    ///
    /// [`Link::has_left`] says when that is over. The peer may be gone by then, and its answer have been lost: the
    /// wait needs a bound.
    pub fn leave(&mut self) {
        self.outgoing.leave();
    }

    /// Whether the two have parted: the peer knows that this end leaves, or has left itself. An answer may
    /// still be due, which [`Link::next`] gives.
    pub fn has_left(&self) -> bool {
        self.peer_left || self.outgoing.has_left()
    }

    /// Whether the peer has left: it had everything that it wanted, and nothing is sent to it any more. Frames for
    /// it are dropped; what it does not have of messages is never [`Listener::sent`](super::Listener::sent).
    pub fn peer_has_left(&self) -> bool {
        self.peer_left
    }

    /// For how long an answer is due that has not come; `None` while none is.
    pub fn silence(&self, now: Duration) -> Option<Duration> {
        let since = self.flight.waits_since()?;
        Some(now.saturating_sub(Duration::from_nanos(since)))
    }

    /// When the newest datagram of the peer came, over whatever path; `None` before the first. Old ones that
    /// come late or again do not count, so nobody who repeats them keeps a dead path alive.
    pub fn heard_at(&self) -> Option<Duration> {
        self.receipt.newest_at().map(Duration::from_nanos)
    }

    /// The smoothed round trip, once the peer has answered over this path: what passes while it computes is a
    /// part of it.
    pub fn round_trip(&self) -> Option<Duration> {
        self.rtt.smoothed().map(Duration::from_nanos)
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        let Counts { sent, again, repeated, lost, asked } = self.counts;
        Counters { sent, again, lost, late: self.flight.late(), asked, repeated }
    }

    /// Gives back memory that the last traffic has left and nothing uses; for links on which nothing has
    /// happened for a while.
    pub fn trim(&mut self, now: Duration) {
        self.outgoing.trim();
        self.flight.trim(nanos(now), &self.rtt);
        self.receipt.trim();
        self.reassembly.trim();
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.trim();
        }
    }

    /// Place up to which the peer may send frames.
    #[inline]
    pub(super) fn promised(&self) -> u64 {
        self.reassembly.low() + u64::from(self.credit_bytes)
    }
}

/// The time as it is kept here.
#[inline]
pub(super) fn nanos(time: Duration) -> Nanos {
    time.as_nanos() as Nanos
}
