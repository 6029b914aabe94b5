//! Pieces of boards that their readers fetch out of the writer's memory: alone, or where a board has
//! two members with the writer's help (see `across`).
//!
//! A member that fails gives its memory back to the program. So who renounces takes back what it has
//! offered, and a fetch that is under way ends there; of two members no other can fail meanwhile.

use mpi_core::boards::{BoardId, Fetched, LONG_BLOCK, Mover, Source};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::port::{PeerId, Pulled, Token};

use super::Shm;
use super::joint::Crossing;
use crate::board::Apart;

/// Tokens of fetches begin here, above those of requests.
const FIRST_TOKEN: u64 = 1 << 63;

/// The fetches that are under way with help.
#[derive(Default)]
pub(super) struct Fetches {
    begun: Vec<Fetch>,
    next: u64,
}

struct Fetch {
    board: BoardId,
    from: Source,
    writer: PeerId,
    token: Token,
    len: u64,
    /// Whether it has come, once that is known.
    ended: Option<bool>,
}

impl Fetches {
    /// Notes how the fetch with this token has ended; whether it is one of a board.
    pub(super) fn end(&mut self, token: Token, whole: bool) -> bool {
        if let Some(fetch) = self.begun.iter_mut().find(|fetch| fetch.token == token) {
            fetch.ended = Some(whole);
        }
        token.0 >= FIRST_TOKEN
    }
}

impl Shm {
    /// Fetches the piece apart that a stream shows (see [`mpi_core::boards::Boards::fetch_piece`]).
    pub(super) fn fetch_apart(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        by: Mover,
    ) -> Fetched {
        let fetches = &mut self.boards.fetches.begun;
        let is_same = |fetch: &Fetch| fetch.board == board && fetch.from == from;
        let fetched = match fetches.iter().position(is_same) {
            Some(at) => match fetches[at].ended {
                None => return Fetched::Begun,
                Some(whole) => {
                    let len = fetches.swap_remove(at).len;
                    whole.then(|| {
                        into.skip(len);
                        len
                    })
                }
            },
            None => match self.begin_fetch(board, from, into, by) {
                Some(Fetched::Begun) => return Fetched::Begun,
                Some(Fetched::Whole(len)) => Some(len),
                Some(Fetched::Refused) | None => None,
            },
        };
        if fetched.is_none()
            && let Some(at) = self.boards.get(board)
        {
            at.refuse(from);
        }
        fetched.map_or(Fetched::Refused, Fetched::Whole)
    }

    fn begin_fetch(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        by: Mover,
    ) -> Option<Fetched> {
        let at = self.boards.get(board)?;
        if let Some(len) = at.is_brought(from) {
            into.skip(len);
            return Some(Fetched::Whole(len));
        }
        let (Apart { at: lies, len, .. }, writer) = (at.apart(from)?, at.member(from.rank()));
        // A writer helps if it writes to nobody else.
        let helped = if at.others().count() == 1 { by } else { Mover::Reader { past: false } };
        let here = len.min(into.remaining());
        if let Mover::Reader { .. } = helped {
            let past = by == Mover::Reader { past: true };
            if self.pull_in_place(writer, lies, here, past, into) {
                return Some(Fetched::Whole(here));
            }
        }
        let run = into.as_contiguous().filter(|(_, room)| *room >= len).map(|(to, _)| to);
        let token = Token(FIRST_TOKEN | self.boards.fetches.next);
        self.boards.fetches.next += 1;
        let crossing = run.map(|to| Crossing { from: lies.address, to, len, token });
        let joined = crossing.and_then(|crossing| self.join(writer, crossing, helped));
        match joined {
            None if by == Mover::Writer => Some(Fetched::Begun),
            Some(Pulled::Done) => {
                into.skip(len);
                Some(Fetched::Whole(len))
            }
            Some(Pulled::Begun) => {
                let fetch = Fetch { board, from, writer, token, len, ended: None };
                self.boards.fetches.begun.push(fetch);
                Some(Fetched::Begun)
            }
            Some(Pulled::Unavailable) => None,
            None => self.fetch_alone(writer, lies.address, len, into),
        }
    }

    /// Fetches `len` bytes at an address of a peer without its help; all that have room or, if the
    /// kernel forbids it, none.
    fn fetch_alone(
        &mut self,
        peer: PeerId,
        address: u64,
        len: u64,
        into: &mut Unpacker,
    ) -> Option<Fetched> {
        let len = len.min(into.remaining());
        match self.pull_alone(peer, address, len, into) {
            Pulled::Done => Some(Fetched::Whole(len)),
            _ => None,
        }
    }

    /// Brings a message to where its reader wants it (see [`mpi_core::boards::Boards::bring`]).
    pub(super) fn bring_across(
        &mut self,
        board: BoardId,
        to: u32,
        operation: u32,
        source: &Packer,
    ) -> bool {
        let run = source.as_contiguous().filter(|(_, len)| *len >= LONG_BLOCK);
        let Some((at, len)) = run else { return false };
        let Some(on) = self.boards.get(board) else { return false };
        let (reader, Some(room)) = (on.member(to), on.borrow(to, operation, len)) else {
            return false;
        };
        // SAFETY: what a packer has left is readable.
        let bytes = unsafe { RawBytes::new(at, len as usize) };
        let is_there = match self.in_place(reader, room, len) {
            Some(to) => {
                // SAFETY: the range was checked against the mapping, and the reader has lent it.
                unsafe { bytes.copy_to(to) };
                self.counters.bytes_in_place += len;
                true
            }
            None => self.kernel_is_cheap() && self.push_alone(reader, room.address, bytes),
        };
        if let Some(on) = self.boards.get(board) {
            on.have_brought(to, len, is_there);
        }
        if is_there {
            self.wake(reader);
        }
        is_there
    }

    /// Lets the only other member of a board call for help with what it was shown.
    pub(super) fn let_help(&mut self, board: BoardId, address: u64, len: u64) {
        let Some(at) = self.boards.get(board) else { return };
        let mut others = at.others();
        if let (Some(peer), None) = (others.next(), others.next()) {
            drop(others);
            self.peers[peer.0 as usize].across.helps.offer(address, len);
        }
    }

    /// Takes back what members of a board were offered, and all else with it, which is then fetched
    /// without help.
    pub(super) fn withdraw_offers(&mut self, board: BoardId) {
        let Some(at) = self.boards.get(board) else { return };
        for peer in at.others().collect::<Vec<_>>() {
            self.peers[peer.0 as usize].across.helps.withdraw();
        }
    }

    /// Ends what is under way on a board on which nobody goes on.
    pub(super) fn abandon_fetches(&mut self, board: BoardId) {
        let (ended, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.boards.fetches.begun)
            .into_iter()
            .partition(|fetch| fetch.board == board);
        self.boards.fetches.begun = others;
        for fetch in ended {
            self.peers[fetch.writer.0 as usize].abandon(fetch.token);
        }
    }
}
