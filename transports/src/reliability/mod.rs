//! Reliability for datagrams: frames in order and once, large messages into their place and once, over
//! a path that loses, repeats, reorders and delays (decision 43b).
//!
//! A [`Link`] is one process's half of what it has with one peer. It does no input or output, has no
//! clock and no thread: who uses it gives it what came and the time ([`Link::receive`]), asks what leaves
//! next ([`Link::next`]) and when to look again ([`Link::wake_at`]). It serves UDP and unreliable queue
//! pairs (paper 001) alike; what is around a datagram, its address and a tag under a key, is the
//! transport's, and the datagram's number, never used twice, is the tag's nonce ([`number_of`]).
//!
//! There is no handshake: the first datagram carries the first message, and a peer that was never talked
//! to has no link. Silence is not judged here: [`Link::silence`] says how long an answer is due, and
//! whether the peer computes or its host is gone is for the transport to find out. Nor is a link tied to a
//! path: where a card or a cable is given up, its datagrams go another way ([`Link::change_path`]), and
//! all that was handed over comes in order and once.
//!
//! A datagram begins as small as any path carries. Where the transport names a ceiling
//! ([`Link::set_ceiling`]) and there is much to send, probes find out whether larger ones come through; the
//! transport sends these alone ([`Datagram::is_probe`]). In the end each takes its leave ([`Link::leave`]).
//!
//! ```text
//!    outgoing, messages ── flow (what is left) ┐                      ┌── reassembly (frames in order)
//!    cubic · slow_start · pacer (how fast) ────┼── wire ── … ── wire ─┼── arrivals (fragments into place)
//!    flight · rtt (what is lost) ──────────────┤                      └── receipt (what to acknowledge)
//!    mtu (how large) ──────────────────────────┘
//! ```
//!
//! `link` ties these together; what it does with them stands in `send`, `receive` and `paths`.

mod arrivals;
mod cargo;
mod cubic;
mod datagram;
mod flight;
mod flow;
#[cfg(test)]
mod fuzz;
mod link;
mod messages;
mod mtu;
mod outgoing;
mod pacer;
mod paths;
mod ranges;
mod reassembly;
mod receipt;
mod receive;
mod rtt;
mod send;
#[cfg(test)]
mod sim_leave;
#[cfg(test)]
mod sim_line;
#[cfg(test)]
mod sim_long;
#[cfg(test)]
mod sim_mtu;
#[cfg(test)]
pub(crate) mod sim_storm;
#[cfg(test)]
mod sim_tests;
mod slow_start;
#[cfg(test)]
mod tests;
mod wire;

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Landing, Token};

pub use datagram::{Content, Datagram};
pub use link::{Came, Config, Counters, Link};
pub use wire::number_of;

/// Time, in nanoseconds from the fixed point of the transport's clock.
type Nanos = u64;
const MICROSECOND: Nanos = 1_000;
const MILLISECOND: Nanos = 1_000_000;
const SECOND: Nanos = 1_000_000_000;

/// How long an acknowledgement waits for something to ride on.
const ACK_DELAY: Nanos = MILLISECOND;

/// The peer does not keep to the protocol; the text says how. What it says afterwards means nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breach(pub &'static str);

/// Who hears what a link brought: the calls of [`mpi_core::port::Sink`] for one peer.
pub trait Listener {
    /// A frame, in the order of sending; the body is lent for the call.
    fn frame(&mut self, header: &Header, body: RawBytes<'_>);
    /// A large message begins to arrive; says where its `len` bytes go.
    fn begin(&mut self, header: &Header, len: u64) -> Landing;
    /// All bytes of a message are where [`Listener::begin`] wanted them. The token is the context id of
    /// its header. Not called for what was discarded.
    fn landed(&mut self, token: Token);
    /// The peer has all bytes of a message that was handed over: its memory is free again.
    fn sent(&mut self, token: Token);
}
