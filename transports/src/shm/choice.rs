//! Which messages of boards stay in their writer's memory, for their readers to take them from there, instead of
//! going through a ring (decision 62).
//!
//! In: how long a message is, for whom, and where it lies. Out: whether it is shown.

use mpi_core::boards::{Audience, BoardId, LONG_BLOCK, MAPPED_BYTES};

use super::ways::ACROSS_BYTES;
use super::{Bulk, Shm};
use crate::stores;

/// From this many bytes on a message for one reader is fetched where ranks share processors. OSU on 4 and 8
/// ranks: scatter of 16 KiB 1.07 and 0.74 of the time through rings, of 32 KiB 0.68 and 0.66; all-to-all
/// of 16 KiB 1.24 and 1.23, of 32 KiB 0.90 and 1.19, of 64 KiB 0.78 and 0.99.
const CROWDED_BYTES: u64 = 32 << 10;

/// The same for the only other member of a board where each has a processor, unless it is cheap to write to. OSU,
/// through the ring and so, and Open MPI: 16 KiB broadcast 7.0, 3.1 and 3.0 µs, reduce 7.4, 3.8 and 3.9, all-gather
/// 14, 6.1 and 5.8; 32 KiB broadcast 7.3, 4.6 and 4.7, reduce 8.0, 4.9 and 5.2, all-gather 10.1, 8.2 and 8.0.
const FETCHED_BYTES: u64 = 16 << 10;

/// The same if both have something for each other and storing for far readers takes little beside what the kernel does
/// (decision 62); from there on the ring is no better.
const STORED_BYTES: u64 = 64 << 10;

impl Shm {
    /// Whether it pays that readers fetch a message of this process out of its memory.
    pub(super) fn fetching_pays(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        match self.waiter.is_crowded() {
            true => self.fetching_pays_in_turn(board, to, len),
            false => self.fetching_pays_at_once(board, to, len),
        }
    }

    /// The same where ranks share processors: if the message is one reader's, so that its writer has others
    /// to write as well, and the ring would have to get pages for it or the kernel moves bytes cheaply enough. Where
    /// all are cheap to write to it does not if everybody writes: then two copies, each within a cache, are cheaper
    /// (OSU on 4 and 8 ranks of a Zen 4, an all-to-all of 128 KiB through rings 46 and 233 µs, fetched 83 and 359),
    /// unless no cache holds it all (Zen 1, 8 MiB, on 4 ranks 128 KiB 95 and 152, 512 KiB 1220 and 967; on 8 ranks
    /// 32 KiB as long, 64 KiB 448 and 332). Far readers are as good as cheap if storing for them takes little beside
    /// what the kernel does (there, far, on 4 ranks 64 KiB 85 and 102, 128 KiB 162 and 185). One who writes alone would
    /// be waited for (a scatter of 128 KiB 30 and 39 µs, and 17 and 19).
    fn fetching_pays_in_turn(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        let Audience::One(rank) = to else { return false };
        let bulk = self.config.shm.bulk;
        if len < CROWDED_BYTES || bulk == Bulk::Pipeline {
            return false;
        }
        let now = self.boards.now();
        let Some(at) = self.boards.get(board) else { return false };
        if bulk != Bulk::Auto || at.spares_pages(rank, len, now) {
            return true;
        }
        if at.has_one_writer() {
            return self.boards.price.is_bearable();
        }
        let far_is_cheap = self.far_is_cheap().unwrap_or(true);
        let Some(at) = self.boards.look(board) else { return false };
        let is_dear = !at.are_all_cheap(far_is_cheap);
        let footprint = at.footprint(len);
        (is_dear || self.boards.caches.are_filled_by(footprint)) && self.boards.price.is_low()
    }

    /// The same where each has a processor: unless the only reader is cheap to write to and the ring has grown (OSU
    /// on two ranks of a Zen 4, fetched, so, and Open MPI: all-to-all of 1 MiB 121, 91 and 119 µs, reduce 105, 37
    /// and 94; an all-to-all of 64 KiB takes 11 through the short ring, and 8 fetched), or a reader has found that
    /// messages of this length come sooner through a buffer (see `ways`). What takes more than half of the last cache,
    /// so that both rings and both programs get in each other's way there, is fetched if the kernel moves bytes cheaply
    /// (Zen 1, 8 MiB: all-to-all of 256 KiB 40 µs through the ring and 50 fetched, of 512 KiB 125 and 99, of 1 MiB 290
    /// and 245).
    fn fetching_pays_at_once(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        let Some(at) = self.boards.look(board) else { return false };
        let least = match at.is_cheap(to) {
            Some(false) => FETCHED_BYTES,
            _ => at.piece_max(to) as u64 + 1,
        };
        match self.config.shm.bulk {
            _ if len < least => return false,
            Bulk::Pipeline => return false,
            Bulk::Auto => {}
            _ => return true,
        }
        let swamps = self.swamps_caches(board, len);
        if self.far_is_better_written(board, to, len) {
            return false;
        }
        let Some(at) = self.boards.look(board) else { return false };
        if !swamps && at.is_better_written(to) {
            return false;
        }
        // Of shorter ones nothing else is known than of the shortest that messages go across with.
        let len = len.max(ACROSS_BYTES);
        match to {
            Audience::One(rank) => self.is_better_announced(at.member(rank), len),
            Audience::Everyone => at.others().all(|peer| self.is_better_announced(peer, len)),
        }
    }

    /// Whether the only reader, who is far, is better written to, since storing takes little beside what the kernel
    /// does and the message is short or its writer has nothing to read meanwhile; for long ones the ring needs its
    /// pages then. Two far ranks of a Zen 1, fetched, so, and Open MPI: reduce of 64 KiB 10.6, 7.2 and 11.2 µs, of
    /// 256 KiB 54, 24 and 51, of 1 MiB 240, 99 and 195. (Where both write to each other, all-to-all of 64 KiB 14, 16
    /// and 14 µs, of 128 KiB 30, 40 and 29, of 1 MiB as long, so long ones are written only if the kernel is dear.)
    fn far_is_better_written(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        let Some(at) = self.boards.look(board) else { return false };
        let (is_alone, is_far) = (at.has_one_writer(), at.is_far(to) == Some(true));
        if !is_far || self.far_is_cheap() != Some(true) {
            return false;
        }
        let is_short = !is_alone && len < STORED_BYTES;
        let is_written = is_alone || is_short || !self.boards.price.is_low();
        if let Some(at) = self.boards.get(board).filter(|_| is_written && !is_short) {
            at.favour_ring(to);
        }
        is_written
    }

    /// Whether storing for far readers takes little beside what the kernel does, if it is known.
    fn far_is_cheap(&mut self) -> Option<bool> {
        stores::far_nanos().map(|nanos| self.boards.price.is_above_storing(nanos))
    }

    /// Whether messages of so many bytes that both of two ranks have for each other displace each other on their way
    /// through rings, and the kernel has a better one.
    fn swamps_caches(&mut self, board: BoardId, len: u64) -> bool {
        let Some(board) = self.boards.look(board).filter(|board| !board.has_one_writer()) else {
            return false;
        };
        self.boards.caches.are_exceeded_by_twice(board.footprint(len)) && self.boards.price.is_low()
    }

    /// Whether the kernel is to move bytes where ranks share processors.
    pub(super) fn kernel_is_cheap(&mut self) -> bool {
        match self.config.shm.bulk {
            Bulk::Pipeline => false,
            Bulk::Auto => self.boards.price.is_low(),
            _ => true,
        }
    }

    /// Whether it pays that readers copy a message out of memory that they have mapped, and it lies there.
    pub(super) fn copying_in_place_pays(
        &self,
        board: BoardId,
        to: Audience,
        at: *const u8,
        len: u64,
    ) -> bool {
        let is_mapped = || self.arena.offset_of(at, len).is_some();
        let Some(board) = self.boards.look(board).filter(|_| is_mapped()) else { return false };
        let least = match (self.waiter.is_crowded(), to) {
            (false, _) if board.others().count() == 1 => MAPPED_BYTES,
            (false, _) => ACROSS_BYTES,
            (true, Audience::One(_)) => CROWDED_BYTES,
            (true, Audience::Everyone) => LONG_BLOCK,
        };
        self.config.shm.bulk != Bulk::Pipeline && len >= least
    }
}
