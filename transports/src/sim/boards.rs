//! Boards in a simulated world: parts are memory of the network, and whoever may wait for a piece
//! gets news of it, after a delay like any other.

use mpi_core::boards::{Audience, BoardId, Boards, Copying, Fetched, Piece, Share, Shown, Source};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::port::{PeerId, Port};

use super::network::Item;
use super::port::SimPort;
use crate::board::{Apart, Board, Layout, Lies};
use crate::copy;

/// Where processors are shared, messages of so many bytes are better shown.
const SHOWN_BYTES: u64 = 500;
/// Chance that a process can fetch what it is shown.
const FETCHED: f64 = 0.9;
/// Chance that it tells another beforehand that it will.
const CONSENTS: f64 = 0.9;

impl SimPort {
    fn board(&mut self, board: BoardId) -> Option<&mut Board> {
        self.boards.get_mut(board.0 as usize)?.as_mut()
    }

    /// Lets those look again who read what goes to this audience.
    fn nudge_audience(&mut self, board: BoardId, to: Audience) {
        let Some(at) = self.board(board) else { return };
        let readers: Vec<PeerId> = match to {
            Audience::One(rank) => vec![at.member(rank)],
            Audience::Everyone => at.others().collect(),
        };
        readers.into_iter().for_each(|peer| self.nudge(peer));
    }

    /// Lets a member look again.
    fn nudge(&mut self, peer: PeerId) {
        let to = self.endpoint(peer);
        self.network.borrow_mut().schedule(self.id(), to, Item::Room);
    }
}

impl SimPort {
    fn has_large_pieces(&self) -> bool {
        self.network.borrow().options().large_pieces
    }
}

impl SimPort {
    /// The largest piece of a board: another one at each second process.
    fn piece_within(&self, board: BoardId, max: impl FnOnce(&Board) -> usize) -> usize {
        let board = self.boards.get(board.0 as usize).and_then(Option::as_ref);
        let most = match self.has_large_pieces() {
            true => usize::MAX,
            false => [700, 4096][self.id().0 as usize % 2],
        };
        board.map_or(0, |board| max(board).min(most))
    }
}

impl Boards for SimPort {
    fn prepare_part(&mut self, size: u32) -> Option<u64> {
        Some(self.network.borrow_mut().take_part(Layout::new(size).bytes()))
    }

    fn drop_part(&mut self, part: u64) {
        self.network.borrow_mut().drop_part(part);
    }

    fn open_board(&mut self, rank: u32, mark: u64, parts: &[(PeerId, u64)]) -> Option<BoardId> {
        let bytes = Layout::new(parts.len() as u32).bytes();
        let own = parts.get(rank as usize)?.1;
        let mut network = self.network.borrow_mut();
        let members: Option<Vec<_>> = parts
            .iter()
            .map(|(peer, part)| network.part(*part, bytes).map(|base| (*peer, base)))
            .collect();
        // SAFETY: the network has the parts, of this length, until their owners drop them, which
        // they do when no member uses the board any more; it outlives its ports.
        let mut board = unsafe { Board::new(rank, mark, members?, own) };
        if network.options().pull > 0.0 {
            let others = (0..parts.len() as u32).filter(|other| *other != rank);
            others.filter(|_| network.chance(CONSENTS)).for_each(|other| board.consent(other));
        }
        let options = network.options();
        board.set_crowded(options.large_pieces && options.processors.is_some());
        drop(network);
        self.boards.push(Some(board));
        Some(BoardId(self.boards.len() as u32 - 1))
    }

    fn close_board(&mut self, board: BoardId) {
        if let Some(board) = self.boards.get_mut(board.0 as usize).and_then(Option::take) {
            self.drop_part(board.part());
        }
    }

    fn piece_max(&self, board: BoardId, to: Audience) -> usize {
        self.piece_within(board, |board| board.piece_max(to))
    }

    fn exchanged_max(&self, board: BoardId, to: Audience) -> usize {
        self.piece_within(board, |board| board.exchanged_max(to))
    }

    fn share_caches(&mut self, board: BoardId, share: Share) {
        if let Some(at) = self.board(board) {
            at.share_caches(share);
        }
    }

    fn exceeds_caches(&self, bytes: u64) -> bool {
        // Little enough that it happens.
        bytes >= 20_000
    }

    fn land_piece(&mut self, bytes: RawBytes<'_>, into: &mut Unpacker) -> Option<usize> {
        // SAFETY: the room is user memory that the collective owns, and shared memory is none of it.
        Some(unsafe { copy::unpack_past(bytes, into) })
    }

    fn copy_by_cost(bytes: RawBytes<'_>, _: Copying, into: &mut Unpacker) -> usize {
        // SAFETY: user memory that the collective owns; the standard forbids that its buffers overlap.
        unsafe { into.unpack_from(bytes) }
    }

    fn write_piece(
        &mut self,
        board: BoardId,
        to: Audience,
        source: &mut Packer,
        len: usize,
        last: bool,
    ) -> bool {
        let Some(at) = self.board(board) else { return false };
        let written = at.write(to, source, len, last);
        if written {
            self.nudge_audience(board, to);
        }
        written
    }

    fn is_better_shown(&mut self, board: BoardId, to: Audience, len: u64) -> bool {
        // Where processors are shared, pieces too.
        let least = match self.share() {
            _ if self.has_large_pieces() => u64::MAX,
            1 => self.piece_max(board, to) as u64 + 1,
            _ => SHOWN_BYTES,
        };
        let is_a_guess = least == SHOWN_BYTES && len >= SHOWN_BYTES / 2;
        let mut network = self.network.borrow_mut();
        let fickle = if is_a_guess { network.options().fickle } else { 0.0 };
        (len >= least) ^ network.chance(fickle)
    }

    fn is_better_left(&self, _: BoardId, _: Audience, _: *const u8, len: u64) -> bool {
        // All simulated processes have all memory mapped.
        len >= SHOWN_BYTES && !self.has_large_pieces()
    }

    fn show_piece(&mut self, board: BoardId, to: Audience, at: *const u8, len: u64) -> bool {
        let address = at.expose_provenance() as u64;
        let apart = Apart { at: Lies { address, offset: 0 }, len };
        let shown = self.board(board).is_some_and(|board| board.show(to, apart));
        if shown {
            self.nudge_audience(board, to);
        }
        shown
    }

    fn shown(&mut self, board: BoardId, to: Audience) -> Shown {
        self.board(board).map_or(Shown::Waits, |board| board.shown(to))
    }

    fn fetch_piece(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        _: bool,
    ) -> Fetched {
        let chance = self.network.borrow_mut().chance(FETCHED);
        let Some(at) = self.board(board) else { return Fetched::Refused };
        let Some(Apart { at: Lies { address, .. }, len, .. }) = at.apart(from).filter(|_| chance)
        else {
            at.refuse(from);
            return Fetched::Refused;
        };
        let bytes = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: all simulated processes share this address space, and the writer keeps what it shows
        // readable until all have consumed it.
        Fetched::Whole(unsafe { into.unpack_from(RawBytes::new(bytes, len as usize)) } as u64)
    }

    fn fetch_part(&mut self, board: BoardId, from: Source, at: u64, into: &mut Unpacker) -> bool {
        let fetched = self.network.borrow_mut().chance(FETCHED);
        let Some(on) = self.board(board) else { return false };
        let Some(apart) = on.apart(from) else { return false };
        let wanted = into.remaining();
        let Some(Lies { address, .. }) = apart.part(at, wanted).filter(|_| fetched) else {
            on.refuse(from);
            return false;
        };
        let bytes = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: as in `fetch_piece`, and the part lies within the piece.
        unsafe { into.unpack_from(RawBytes::new(bytes, wanted as usize)) };
        true
    }

    fn part_in_place(
        &mut self,
        board: BoardId,
        from: Source,
        at: u64,
        len: u64,
    ) -> Option<*const u8> {
        let lies = self.board(board)?.apart(from)?.part(at, len)?;
        let fetched = self.network.borrow_mut().chance(FETCHED);
        let place = std::ptr::with_exposed_provenance(lies.address as usize);
        fetched.then_some(place)
    }

    fn read_piece(&mut self, board: BoardId, from: Source) -> Option<Piece> {
        self.board(board)?.peek(from)
    }

    fn lags(&self, board: BoardId, rank: u32) -> bool {
        let board = self.boards.get(board.0 as usize).and_then(Option::as_ref);
        board.is_some_and(|board| board.lags(rank))
    }

    fn ask_for_piece(&mut self, board: BoardId, from: Source) {
        if let Some(at) = self.board(board) {
            at.ask(from);
        }
    }

    fn consume_piece(&mut self, board: BoardId, from: Source) {
        let Some(at) = self.board(board) else { return };
        at.consume(from);
        let writer = at.member(from.rank());
        self.nudge(writer);
    }

    fn renounce(&mut self, board: BoardId, why: i32) {
        let Some(at) = self.board(board) else { return };
        at.renounce(why);
        let others: Vec<PeerId> = at.others().collect();
        others.into_iter().for_each(|peer| self.nudge(peer));
    }

    fn renounced(&mut self, board: BoardId, rank: u32) -> Option<i32> {
        self.board(board)?.renounced(rank)
    }
}
