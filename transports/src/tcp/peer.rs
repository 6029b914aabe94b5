//! What this process knows of one peer.

use std::net::SocketAddr;

use mpi_core::header::HEADER_BYTES;
use mpi_core::port::PeerId;

use super::record::RECORD_BYTES;
use super::seal::TAG_BYTES;
use super::stream::Stream;
use super::transfer::{Arriving, Outbound};
use super::{StreamId, TcpConfig};

/// Bytes of a frame beside its body, at most.
const FRAME_BYTES: u64 = (RECORD_BYTES + HEADER_BYTES + 3 * TAG_BYTES) as u64;
/// Longer frames are sent before a receiver asks for them only while little else is on its way:
/// alone, that spares the asking; among many, asking costs nothing, spares a copy, and what was
/// asked for goes out in few calls.
const COPIED_BYTES: u64 = 4 << 10;
/// So much may be on its way for that.
const AHEAD_BYTES: u64 = 64 << 10;

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
pub(crate) struct Peer {
    pub(super) rank: u32,
    pub(super) state: State,
    /// Whether it has taken its leave on one stream; then it is on its way on the others too.
    pub(super) says_goodbye: bool,
    /// Whether it waits in `MPI_Init` for this process to connect.
    pub(super) waits: bool,
    /// Addresses where it listens, the most promising first.
    pub(super) routes: Vec<SocketAddr>,
    pub(super) streams: Vec<Stream>,
    pub(super) leaving: Outbound,
    pub(super) arriving: Vec<Arriving>,
}

// SAFETY: the addresses in transfers are of memory that belongs to requests, which any thread may
// read and write; they are touched by the owner of the transport alone.
unsafe impl Send for Peer {}

impl Peer {
    pub(super) fn unknown() -> Peer {
        Peer {
            rank: u32::MAX,
            state: State::Up,
            says_goodbye: false,
            waits: false,
            routes: Vec::new(),
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

    /// Bytes of small frames that are on their way.
    #[inline]
    fn kept(&self) -> u64 {
        self.streams.first().map_or(0, |stream| stream.output.kept() as u64)
    }

    /// Whether a frame of `len` bytes fits into a window.
    #[inline]
    pub(super) fn fits(&self, len: u64, window: u32) -> bool {
        self.kept() + FRAME_BYTES + len <= u64::from(window)
    }

    /// Whether a frame of `len` bytes would find room (see [`mpi_core::port::Transport::has_room`]).
    pub(super) fn has_room(&self, len: u64, window: u32) -> bool {
        let is_alone = len <= COPIED_BYTES || self.kept() < len.max(AHEAD_BYTES);
        self.state == State::Up && is_alone && self.fits(len, window)
    }

    /// Notes in `owing` on which streams the peer is to be told how far this end is: on every one when a message
    /// is complete, since its fragments may have come on any, but not where the end of a further fragment will be told
    /// soon; else when `due` bytes have come since the last time.
    #[inline]
    pub(super) fn note_debts(
        &mut self,
        peer: PeerId,
        all: bool,
        due: u64,
        owing: &mut Vec<StreamId>,
    ) {
        for (number, stream) in (0u32..).zip(&mut self.streams) {
            let untold = stream.input.received() - stream.told;
            let tells = all && untold > 0 && !stream.input.is_amid_fragment();
            if !stream.owes_ack && (tells || untold >= due) {
                stream.owes_ack = true;
                owing.push(StreamId { peer, stream: number });
            }
        }
    }

    /// Nothing goes to it or comes from it any more. A stream may be within a fragment whose memory its request gives
    /// back when it hears of this. The fragment stays where it is: of a peer that is not up nothing is read any more
    /// (`Tcp::read_once`), and none comes up again.
    pub(super) fn end(&mut self, state: State) {
        self.state = state;
        self.leaving.clear();
        self.arriving.clear();
        self.streams.iter_mut().for_each(|stream| stream.output.clear());
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
