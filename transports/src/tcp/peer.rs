//! What this process knows of one peer.

use std::net::SocketAddr;

use super::TcpConfig;
use super::stream::Stream;
use super::transfer::{Arriving, Outbound};

/// How far the acquaintance goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Frames may go to it, or nothing is known of it.
    Up,
    /// It has left in good order.
    Left,
    /// It is lost.
    Down,
}

/// One peer.
pub(super) struct Peer {
    pub rank: u32,
    pub state: State,
    /// Whether it has taken its leave on one stream; then it is on its way on the others too.
    pub says_farewell: bool,
    /// Whether it waits in `MPI_Init` for this process to connect.
    pub waits: bool,
    /// Addresses where it listens, the most promising first.
    pub ways: Vec<SocketAddr>,
    pub streams: Vec<Stream>,
    pub leaving: Outbound,
    pub arriving: Vec<Arriving>,
}

// SAFETY: the addresses in transfers are of memory that belongs to requests, which any thread may
// read and write; they are touched by the owner of the transport alone.
unsafe impl Send for Peer {}

impl Peer {
    pub(super) fn unknown() -> Peer {
        Peer {
            rank: u32::MAX,
            state: State::Up,
            says_farewell: false,
            waits: false,
            ways: Vec::new(),
            streams: Vec::new(),
            leaving: Outbound::default(),
            arriving: Vec::new(),
        }
    }

    /// Sees to it that there are so many streams.
    pub(super) fn want_streams(&mut self, count: u32, config: &TcpConfig, job: &[u8]) {
        while self.streams.len() < count as usize {
            let number = self.streams.len() as u32;
            self.streams.push(Stream::new(config, job, self.rank, number));
        }
    }

    /// Whether everything handed over for it is with it, or never can be. Who has all of a peer's messages does not go
    /// before it can have been told so: it would take them for lost.
    pub(super) fn is_flushed(&self) -> bool {
        self.state != State::Up || !self.owes() && !self.streams.iter().any(Stream::is_torn)
    }

    /// Whether something that was accepted for it is not known to be there.
    pub(super) fn owes(&self) -> bool {
        !self.leaving.is_empty() || !self.streams.iter().all(|stream| stream.output.is_delivered())
    }

    /// Whether the kernel has all of it, or it never can be there.
    pub(super) fn is_sent(&self) -> bool {
        self.state != State::Up
            || self.leaving.is_empty() && self.streams.iter().all(|stream| stream.output.is_sent())
    }
}
