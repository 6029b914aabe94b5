//! One stream to a peer, and what carries it now.

use super::TcpConfig;
use super::input::Input;
use super::net::Socket;
use super::output::Output;
use super::seal::{Direction, Seal};
use super::seek::Seek;

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
    pub(super) fn is_torn(&self) -> bool {
        matches!(self.link, Link::Seeking(_)) && self.input.received() > 0
    }
}
