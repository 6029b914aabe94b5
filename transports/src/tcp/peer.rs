//! What this process knows of one peer, and of each stream to it.

use std::net::SocketAddr;

use super::TcpConfig;
use super::input::Input;
use super::net::Socket;
use super::output::Output;
use super::seal::{Direction, Seal};
use super::seek::Seek;
use super::transfer::{Arriving, Leaving};

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

/// What carries a stream now.
pub(super) enum Link {
    /// Nothing, and nobody has asked for it.
    Idle,
    /// Connections are being tried.
    Seeking(Box<Seek>),
    /// A connection.
    Open(Socket),
}

/// One stream to a peer: it outlives its connections.
pub(super) struct Stream {
    pub link: Link,
    pub output: Output,
    pub input: Input,
    /// Connections that have carried it.
    pub epoch: u32,
    /// How often what came was changed on its way, and behind which place, since the last part came
    /// that was right.
    pub altered: (u32, u64),
    /// The kernel has no room: the connection is waited for until it has.
    pub is_blocked: bool,
    /// Writing has failed; reading will find out why.
    pub is_mute: bool,
    /// Whether it is read at every poll.
    pub is_hot: bool,
    /// Polls in a row that found nothing on it.
    pub idle: u32,
    /// Bytes received, as the peer was last told.
    pub told: u64,
    /// Whether the peer is to be told soon.
    pub owes_ack: bool,
    /// Whether the peer was asked how far it is.
    pub asked: bool,
}

impl Stream {
    /// The stream with this number to a rank.
    pub(super) fn new(config: &TcpConfig, job: &[u8], to_rank: u32, number: u32) -> Stream {
        let seal = |from, to| {
            let direction = Direction { from, to, stream: number };
            Seal::of(config.tcp.security, &config.secret, job, direction)
        };
        Stream {
            link: Link::Idle,
            output: Output::new(seal(config.rank, to_rank)),
            input: Input::new(seal(to_rank, config.rank)),
            epoch: 0,
            altered: (0, 0),
            is_blocked: false,
            is_mute: false,
            is_hot: false,
            idle: 0,
            told: 0,
            owes_ack: false,
            asked: false,
        }
    }

    /// The place to acknowledge in a record that is being made.
    #[inline]
    pub(super) fn tell(&mut self) -> u64 {
        self.told = self.input.received();
        self.owes_ack = false;
        self.told
    }

    /// What came was changed on its way; how often that was, with nothing right in between.
    pub(super) fn note_altered(&mut self) -> u32 {
        let place = self.input.received();
        let times = if self.altered.1 == place { self.altered.0 } else { 0 };
        self.altered = (times + 1, place);
        self.altered.0
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.link, Link::Open(_))
    }

    /// Whether it has lost a connection by which the peer may have been told how far this end is.
    fn is_torn(&self) -> bool {
        matches!(self.link, Link::Seeking(_)) && self.input.received() > 0
    }
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
    pub leaving: Vec<Leaving>,
    pub arriving: Vec<Arriving>,
    /// Number of the next transfer to it.
    pub next_transfer: u64,
    /// Stream of the next large message.
    pub turn: u32,
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
            leaving: Vec::new(),
            arriving: Vec::new(),
            next_transfer: 0,
            turn: 0,
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
