//! Boards between processes of one node: each member's part lies in the memory that its arena has
//! for programs, which the others have mapped since they met; so no further descriptor travels,
//! nothing has a name, and all is gone with the last process.
//!
//! In: [`mpi_core::boards::Boards`]' calls. Out: pieces, and bells for members that sleep.

use mpi_core::boards::{
    Audience, BoardId, Boards, Copying, Fetched, Meeting, Piece, Share, Shown, Source,
};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::port::{PeerId, Pulled};
use mpi_core::tuning::MAPPED_BYTES;

use super::caches::Caches;
use crate::board::{ALIGN, Apart, Awaited, Board, Layout};
use crate::profile::Profile;
use crate::shm::peer::State;
use crate::shm::{Bulk, Contacts, Shm};
use crate::{copy, stores};

/// The boards of a process.
#[derive(Default)]
pub(in crate::shm) struct Table {
    boards: Vec<Option<Board>>,
    /// What was asked for in vain since the last poll.
    missed: Vec<(BoardId, Awaited)>,
    /// What moving bytes costs, if a test wants it to be known.
    #[cfg(test)]
    pub(in crate::shm) profile: Option<Profile>,
    pub(in crate::shm) caches: Caches,
}

impl Table {
    pub(in crate::shm) fn get(&mut self, board: BoardId) -> Option<&mut Board> {
        self.boards.get_mut(board.0 as usize)?.as_mut()
    }

    /// What moving bytes costs here.
    pub(in crate::shm) fn profile(&self) -> Profile {
        #[cfg(test)]
        if let Some(profile) = self.profile {
            return profile;
        }
        *Profile::of_this_machine()
    }

    /// The board of this number, to look at.
    #[inline]
    pub(in crate::shm) fn look(&self, board: BoardId) -> Option<&Board> {
        self.boards.get(board.0 as usize)?.as_ref()
    }

    #[inline]
    pub(in crate::shm) fn forget_missed(&mut self) {
        self.missed.clear();
    }

    #[inline]
    fn miss(&mut self, board: BoardId, what: Awaited) {
        if self.missed.last() != Some(&(board, what)) {
            self.missed.push((board, what));
        }
    }

    /// Whether something that was asked for in vain has come.
    pub(in crate::shm) fn has_news(&mut self) -> bool {
        let missed = std::mem::take(&mut self.missed);
        let come = missed
            .iter()
            .any(|(board, what)| self.get(*board).is_some_and(|board| board.has_come(*what)));
        self.missed = missed;
        come
    }
}

impl Contacts {
    /// Makes contact with `peer`, and says how far that has come.
    pub(crate) fn meet(&mut self, peer: PeerId) -> Meeting {
        if peer.0 as usize >= self.peers.len() {
            return Meeting::Elsewhere;
        }
        self.approach(peer);
        let known = &self.peers[peer.0 as usize];
        match (&known.remote, known.state) {
            (_, State::Down) => Meeting::Elsewhere,
            (Some(remote), State::Open) if remote.has_memory() => Meeting::Near,
            (Some(_), State::Open) => Meeting::Elsewhere,
            _ => Meeting::Pending,
        }
    }
}

impl Shm {
    #[inline]
    fn wake_audience(&mut self, board: BoardId, to: Audience) {
        match to {
            Audience::One(rank) => {
                if let Some(peer) = self.boards.get(board).map(|board| board.member(rank)) {
                    self.contacts.wake(peer);
                }
            }
            Audience::Everyone => {
                let Some(board) = self.boards.get(board) else { return };
                let asleep =
                    |peer: &PeerId| self.contacts.peers[peer.0 as usize].sleeps().is_some();
                if board.others().any(|peer| asleep(&peer)) {
                    let asleep: Vec<PeerId> = board.others().filter(asleep).collect();
                    asleep.into_iter().for_each(|peer| self.contacts.wake(peer));
                }
            }
        }
    }
}

impl Boards for Shm {
    fn prepare_part(&mut self, size: u32) -> Option<u64> {
        self.contacts.arena.take_part(size)
    }

    fn drop_part(&mut self, part: u64) {
        self.contacts.arena.keep_part(part);
    }

    fn open_board(&mut self, rank: u32, mark: u64, parts: &[(PeerId, u64)]) -> Option<BoardId> {
        let bytes = Layout::new(parts.len() as u32).bytes() as u64;
        let base = |(at, (peer, part)): (usize, &(PeerId, u64))| {
            let address = match at == rank as usize {
                true => self.contacts.arena.allocated(*part, bytes).ok(),
                false => self.contacts.peers.get_mut(peer.0 as usize)?.memory(*part, bytes),
            };
            address.filter(|address| address.addr().is_multiple_of(ALIGN)).map(|at| (*peer, at))
        };
        let members: Option<Vec<_>> = parts.iter().enumerate().map(base).collect();
        let own = parts.get(rank as usize)?.1;
        // SAFETY: every part was checked against its mapping, and mappings live as long as their
        // peer's entry, which goes with the boards; the own part was taken for this board alone.
        let mut board = unsafe { Board::new(rank, mark, members?, own) };
        board.set_crowded(self.waiter.is_crowded());
        if let Some(backing) = self.contacts.arena.backing(own, bytes) {
            board.be_backed(backing);
        }
        if self.contacts.config.shm.bulk != Bulk::Pipeline {
            let readable = |peer: PeerId| self.contacts.peers[peer.0 as usize].readable.is_some();
            let others = (0..).zip(parts).filter(|(other, _)| *other != rank);
            others
                .filter(|(_, (peer, _))| readable(*peer))
                .for_each(|(other, _)| board.consent(other));
        }
        let free = self.boards.boards.iter().position(Option::is_none);
        let at = free.unwrap_or(self.boards.boards.len());
        if at == self.boards.boards.len() {
            self.boards.boards.push(None);
        }
        self.boards.boards[at] = Some(board);
        Some(BoardId(at as u32))
    }

    fn close_board(&mut self, board: BoardId) {
        let closed = self.boards.boards.get_mut(board.0 as usize).and_then(Option::take);
        self.boards.missed.clear();
        if let Some(board) = closed {
            self.drop_part(board.part());
        }
    }

    #[inline]
    fn piece_max(&self, board: BoardId, to: Audience) -> usize {
        self.boards.look(board).map_or(0, |board| board.piece_max(to))
    }

    fn exchanged_max(&self, board: BoardId, to: Audience) -> usize {
        self.boards.look(board).map_or(0, |board| board.exchanged_max(to))
    }

    #[inline]
    fn share_caches(&mut self, board: BoardId, share: Share) {
        if let Some(at) = self.boards.get(board) {
            at.share_caches(share);
        }
    }

    fn exceeds_caches(&self, bytes: u64) -> bool {
        self.boards.caches.are_exceeded_by(bytes)
    }

    fn land_piece(&mut self, bytes: RawBytes<'_>, into: &mut Unpacker) -> Option<usize> {
        // SAFETY: the room is user memory that the collective owns, and shared memory is none of it.
        Some(unsafe { copy::unpack_past(bytes, into) })
    }

    fn copy_by_cost(bytes: RawBytes<'_>, what: Copying, into: &mut Unpacker) -> usize {
        // SAFETY: the collective owns the room; the bytes are a piece, or user memory, whose buffers never overlap.
        unsafe { stores::unpack(bytes, what, into) }
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
        let written = self.boards.get(board).is_some_and(|at| at.write(to, source, len, last));
        match written {
            true => self.wake_audience(board, to),
            false => self.boards.miss(board, Awaited::Room(to, len)),
        }
        written
    }

    fn is_better_shown(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        self.fetching_pays(board, to, len)
    }

    #[inline]
    fn is_better_left(&self, board: BoardId, to: Audience, at: *const u8, len: u64) -> bool {
        len >= MAPPED_BYTES && self.copying_in_place_pays(board, to, at, len)
    }

    fn show_piece(&mut self, board: BoardId, to: Audience, at: *const u8, len: u64) -> bool {
        let apart = Apart { at: self.contacts.arena.lies(at, len), len };
        let shown = self.boards.get(board).is_some_and(|board| board.show(to, apart));
        if shown {
            self.wake_audience(board, to);
        }
        shown
    }

    fn shown(&mut self, board: BoardId, to: Audience) -> Shown {
        let shown = self.boards.get(board).map_or(Shown::Waits, |board| board.shown(to));
        if shown == Shown::Waits {
            self.boards.miss(board, Awaited::Reader(to));
        }
        shown
    }

    fn fetch_piece(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        past: bool,
    ) -> Fetched {
        let Some(on) = self.boards.get(board) else { return Fetched::Refused };
        let (apart, writer) = (on.apart(from), on.member(from.rank()));
        let fetched = apart.and_then(|apart| {
            let len = apart.len.min(into.remaining());
            let moved = self.pull_in_place(writer, apart.at, len, past, into)
                || self.pull_alone(writer, apart.at.address, len, into) == Pulled::Done;
            moved.then_some(len)
        });
        if fetched.is_none()
            && let Some(on) = self.boards.get(board)
        {
            on.refuse(from);
        }
        fetched.map_or(Fetched::Refused, Fetched::Whole)
    }

    fn fetch_part(&mut self, board: BoardId, from: Source, at: u64, into: &mut Unpacker) -> bool {
        let Some(on) = self.boards.get(board) else { return false };
        let Some(apart) = on.apart(from) else { return false };
        let (writer, wanted) = (on.member(from.rank()), into.remaining());
        let fetched = apart.part(at, wanted).is_some_and(|at| {
            self.pull_in_place(writer, at, wanted, false, into)
                || self.pull_alone(writer, at.address, wanted, into) == Pulled::Done
        });
        if !fetched && let Some(on) = self.boards.get(board) {
            on.refuse(from);
        }
        fetched
    }

    fn part_in_place(
        &mut self,
        board: BoardId,
        from: Source,
        at: u64,
        len: u64,
    ) -> Option<*const u8> {
        let on = self.boards.get(board)?;
        let (lies, writer) = (on.apart(from)?.part(at, len)?, on.member(from.rank()));
        self.contacts.peers[writer.0 as usize].in_place(lies, len).map(<*mut u8>::cast_const)
    }

    #[inline]
    fn read_piece(&mut self, board: BoardId, from: Source) -> Option<Piece> {
        let piece = self.boards.get(board)?.peek(from);
        if piece.is_none() {
            self.boards.miss(board, Awaited::Piece(from));
        }
        piece
    }

    fn lags(&self, board: BoardId, rank: u32) -> bool {
        self.boards.look(board).is_some_and(|board| board.lags(rank))
    }

    #[inline]
    fn ask_for_piece(&mut self, board: BoardId, from: Source) {
        if let Some(at) = self.boards.get(board) {
            at.ask(from);
        }
    }

    #[inline]
    fn consume_piece(&mut self, board: BoardId, from: Source) {
        let Some(at) = self.boards.get(board) else { return };
        at.consume(from);
        let writer = at.member(from.rank());
        self.contacts.wake(writer);
    }

    fn renounce(&mut self, board: BoardId, why: i32) {
        if let Some(at) = self.boards.get(board) {
            at.renounce(why);
            self.wake_audience(board, Audience::Everyone);
        }
    }

    fn renounced(&mut self, board: BoardId, rank: u32) -> Option<i32> {
        self.boards.get(board)?.renounced(rank)
    }
}
