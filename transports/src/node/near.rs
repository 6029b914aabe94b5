//! What there is within a node only, and goes by shared memory alone: boards of collectives, and
//! segments of windows.
//!
//! In: the core's calls. Out: those of [`crate::shm`], and which peers are elsewhere.

use std::alloc::Layout;
use std::time::Duration;

use mpi_core::boards::{
    Audience, BoardId, Boards, Copying, Fetched, Meeting, Mover, Piece, Share, Shown, Source,
};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::port::{Full, PeerId};
use mpi_core::rma::Segment;
use mpi_core::segments::Segments;

use super::LocalPort;
use super::nets::Way;
use crate::shm::Shm;

impl Boards for LocalPort {
    fn meet(&mut self, peer: PeerId) -> Meeting {
        if peer == self.me {
            return Meeting::Near;
        }
        match self.way_to(peer) {
            Ok(Way::Network(_)) => Meeting::Elsewhere,
            Ok(Way::SharedMemory) => self.shm.meet(peer),
            Ok(Way::Undecided) | Err(Full) => Meeting::Pending,
        }
    }

    fn share(&self) -> u32 {
        self.shm.share()
    }

    fn processor(&self) -> Option<u32> {
        self.shm.processor()
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

    fn exchanged_max(&self, board: BoardId, to: Audience) -> usize {
        self.shm.exchanged_max(board, to)
    }

    fn turns(&mut self, board: BoardId, rank: u32, wanted: usize) -> Option<(*mut u8, usize)> {
        self.shm.turns(board, rank, wanted)
    }

    #[inline]
    fn share_caches(&mut self, board: BoardId, share: Share) {
        self.shm.share_caches(board, share);
    }

    fn exceeds_caches(&self, bytes: u64) -> bool {
        self.shm.exceeds_caches(bytes)
    }

    fn land_piece(&mut self, bytes: RawBytes<'_>, into: &mut Unpacker) -> Option<usize> {
        self.shm.land_piece(bytes, into)
    }

    fn copy_by_cost(bytes: RawBytes<'_>, what: Copying, into: &mut Unpacker) -> usize {
        Shm::copy_by_cost(bytes, what, into)
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
    fn write_runs(&mut self, board: BoardId, first: u32, runs: &[RawBytes<'_>]) -> usize {
        self.shm.write_runs(board, first, runs)
    }

    fn is_better_shown(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        self.shm.is_better_shown(board, to, len)
    }

    #[inline]
    fn is_better_left(&self, board: BoardId, to: Audience, at: *const u8, len: u64) -> bool {
        self.shm.is_better_left(board, to, at, len)
    }

    fn show_piece(
        &mut self,
        board: BoardId,
        to: Audience,
        at: *const u8,
        len: u64,
        back: *mut u8,
    ) -> bool {
        self.shm.show_piece(board, to, at, len, back)
    }

    fn shown(&mut self, board: BoardId, to: Audience) -> Shown {
        self.shm.shown(board, to)
    }

    fn fetch_piece(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        by: Mover,
    ) -> Fetched {
        self.shm.fetch_piece(board, from, into, by)
    }

    fn fetch_part(&mut self, board: BoardId, from: Source, at: u64, into: &mut Unpacker) -> bool {
        self.shm.fetch_part(board, from, at, into)
    }

    fn part_in_place(
        &mut self,
        board: BoardId,
        from: Source,
        at: u64,
        len: u64,
    ) -> Option<*const u8> {
        self.shm.part_in_place(board, from, at, len)
    }

    fn give_back_part(
        &mut self,
        board: BoardId,
        from: Source,
        at: u64,
        bytes: RawBytes<'_>,
    ) -> bool {
        self.shm.give_back_part(board, from, at, bytes)
    }

    fn divides(&mut self, board: BoardId, len: u64) -> bool {
        self.shm.divides(board, len)
    }

    fn has_reduced(&mut self, board: BoardId, len: u64, halves: bool, took: Duration) {
        self.shm.has_reduced(board, len, halves, took);
    }

    fn writes_halves(&mut self, board: BoardId) -> bool {
        self.shm.writes_halves(board)
    }

    fn lend_room(&mut self, board: BoardId, to: u32, operation: u32, room: &Unpacker) -> bool {
        self.shm.lend_room(board, to, operation, room)
    }

    fn take_rooms_back(&mut self, board: BoardId, from: u32) -> Option<u32> {
        self.shm.take_rooms_back(board, from)
    }

    fn bring(&mut self, board: BoardId, to: u32, operation: u32, source: &Packer) -> bool {
        self.shm.bring(board, to, operation, source)
    }

    #[inline]
    fn read_piece(&mut self, board: BoardId, from: Source) -> Option<Piece> {
        self.shm.read_piece(board, from)
    }

    fn is_lightly_written(&self, board: BoardId, to: Audience) -> bool {
        self.shm.is_lightly_written(board, to)
    }

    fn lags(&self, board: BoardId, rank: u32) -> bool {
        self.shm.lags(board, rank)
    }

    #[inline]
    fn ask_for_piece(&mut self, board: BoardId, from: Source) {
        self.shm.ask_for_piece(board, from);
    }

    #[inline]
    fn consume_piece(&mut self, board: BoardId, from: Source) {
        self.shm.consume_piece(board, from);
    }

    fn renounce(&mut self, board: BoardId, why: i32) {
        self.shm.renounce(board, why);
    }

    fn renounced(&mut self, board: BoardId, rank: u32) -> Option<i32> {
        self.shm.renounced(board, rank)
    }
}

impl Segments for LocalPort {
    fn make_segment(&mut self, mark: u64, layout: Layout) -> Result<Segment, String> {
        self.shm.make_segment(mark, layout)
    }

    fn post_segment(&mut self, mark: u64, peer: PeerId) {
        self.shm.post_segment(mark, peer);
    }

    fn end_posting(&mut self, mark: u64) {
        self.shm.end_posting(mark);
    }

    fn fetch_segment(
        &mut self,
        mark: u64,
        peer: PeerId,
        layout: Layout,
    ) -> Option<Result<Segment, String>> {
        self.shm.fetch_segment(mark, peer, layout)
    }

    fn watch(&mut self) {
        self.shm.watch();
    }
}
