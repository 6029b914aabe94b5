//! The world of a process on one node: shared memory to the others, a queue to itself, a clock.

use std::io;
use std::time::{Duration, Instant};

use mpi_core::boards::{Audience, BoardId, Boards, Meeting, Piece, Source};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Body, Caps, Front, Full, Offer, PeerId, Port, ProcessName, Pulled, Sink, Token,
    Transport,
};

use crate::loopback::Loopback;
use crate::shm::{Directory, LocalConfig, Shm};

/// Shared memory, loopback and a clock, as one [`Port`].
pub struct LocalPort {
    shm: Shm,
    loopback: Loopback,
    /// Which peer this process itself is; `NOBODY` until told.
    me: PeerId,
    me_name: ProcessName,
    start: Instant,
}

const NOBODY: PeerId = PeerId(u32::MAX);

impl LocalPort {
    /// The port of the process that `config` describes; `directory` finds the cards of others.
    ///
    /// # Errors
    /// The kernel gives no memory or no socket.
    pub fn new(config: LocalConfig, directory: Box<dyn Directory + Send>) -> io::Result<LocalPort> {
        let me_name = ProcessName { job: config.job.clone(), rank: config.rank };
        let shm = Shm::new(config, directory)?;
        Ok(LocalPort { shm, loopback: Loopback::new(), me: NOBODY, me_name, start: Instant::now() })
    }

    /// The text by which peers find this process, at most 128 bytes.
    pub fn card(&self) -> String {
        self.shm.card()
    }

    /// The shared-memory transport: allocation, counters.
    pub fn shm(&mut self) -> &mut Shm {
        &mut self.shm
    }
}

impl Transport for LocalPort {
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        if *name == self.me_name {
            self.me = peer;
            self.loopback.add_peer(peer, name);
        } else {
            self.shm.add_peer(peer, name);
        }
    }

    #[inline]
    fn caps(&self, peer: PeerId) -> Caps {
        if peer == self.me { self.loopback.caps(peer) } else { self.shm.caps(peer) }
    }

    #[inline]
    fn send(&mut self, peer: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        if peer == self.me {
            return self.loopback.send(peer, header, body);
        }
        self.shm.send(peer, header, body)
    }

    fn send_bulk(&mut self, peer: PeerId, header: &Header, source: Packer, token: Token) {
        if peer == self.me {
            return self.loopback.send_bulk(peer, header, source, token);
        }
        self.shm.send_bulk(peer, header, source, token);
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        let own = self.loopback.poll(sink);
        match self.shm.poll(sink) {
            Activity::Busy => Activity::Busy,
            Activity::Idle => own,
        }
    }

    #[inline]
    fn take_front(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, RawBytes<'_>) -> bool,
    ) -> Front {
        self.shm.take_front(peer, wanted)
    }

    fn offer(&self, peer: PeerId, address: *const u8, len: u64) -> Offer {
        if peer == self.me {
            return self.loopback.offer(peer, address, len);
        }
        self.shm.offer(peer, address, len)
    }

    fn pull(&mut self, peer: PeerId, offer: &Offer, len: u64, to: &mut Unpacker) -> Pulled {
        if peer == self.me {
            return self.loopback.pull(peer, offer, len, to);
        }
        self.shm.pull(peer, offer, len, to)
    }

    fn is_flushed(&self) -> bool {
        self.loopback.is_flushed() && self.shm.is_flushed()
    }
}

impl Boards for LocalPort {
    fn meet(&mut self, peer: PeerId) -> Meeting {
        if peer == self.me { Meeting::Near } else { self.shm.meet(peer) }
    }

    fn prepare_part(&mut self, size: u32) -> Option<u64> {
        self.shm.prepare_part(size)
    }

    fn drop_part(&mut self, part: u64) {
        self.shm.drop_part(part);
    }

    fn open_board(&mut self, rank: u32, mark: u64, parts: &[(PeerId, u64)]) -> Option<BoardId> {
        self.shm.open_board(rank, mark, parts)
    }

    fn close_board(&mut self, board: BoardId) {
        self.shm.close_board(board);
    }

    #[inline]
    fn piece_max(&self, board: BoardId, to: Audience) -> usize {
        self.shm.piece_max(board, to)
    }

    #[inline]
    fn write_piece(
        &mut self,
        board: BoardId,
        to: Audience,
        source: &mut Packer,
        len: usize,
        last: bool,
    ) -> bool {
        self.shm.write_piece(board, to, source, len, last)
    }

    #[inline]
    fn read_piece(&mut self, board: BoardId, from: Source) -> Option<Piece> {
        self.shm.read_piece(board, from)
    }

    #[inline]
    fn consume_piece(&mut self, board: BoardId, from: Source) {
        self.shm.consume_piece(board, from);
    }
}

impl Port for LocalPort {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    #[inline]
    fn wait(&mut self, idle_polls: u32) -> bool {
        if !self.loopback.is_idle() {
            return false;
        }
        self.shm.wait(idle_polls)
    }

    #[inline]
    fn spins(&mut self, looks: u32) -> bool {
        self.shm.spins(looks)
    }
}
