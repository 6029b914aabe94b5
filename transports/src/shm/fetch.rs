//! Pieces of boards that their readers fetch out of the writer's memory: alone, or where a board has
//! two members with the writer's help (see `across`).
//!
//! A member that fails gives its memory back to the program. So who renounces takes back what it has
//! offered, and a fetch that is under way ends there, when the writer has written the part that it is
//! within; of two members no other can fail meanwhile.

use std::time::Instant;

use mpi_core::boards::{BoardId, Fetched, LONG_BLOCK, Mover, Source};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::port::{PeerId, Pulled, Token};

use super::joint::{Crossing, outwait};
use super::movers::Movers;
use super::peer::Peer;
use super::{Bulk, Shm};
use crate::board::{Apart, Board};

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
    /// Its writer has this memory mapped here.
    mapped: bool,
    /// It is to be known how long it takes.
    timed: bool,
    /// Since when its reader has nothing else to do, if so.
    since: Option<Instant>,
    /// Whether it has come, once that is known.
    ended: Option<bool>,
}

impl Fetch {
    /// Its reader asks for it, and perhaps has nothing else to do.
    fn is_asked_for(&mut self, by: Mover) {
        if self.timed && by != Mover::Writer && self.since.is_none() {
            self.since = Some(Instant::now());
        }
    }
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
                None => {
                    fetches[at].is_asked_for(by);
                    return Fetched::Begun;
                }
                Some(whole) => {
                    let fetch = fetches.swap_remove(at);
                    whole.then(|| {
                        into.skip(fetch.len);
                        self.learn(&fetch, false);
                        fetch.len
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
        let (apart, writer) = (at.apart(from)?, at.member(from.rank()));
        // A writer helps if it writes to nobody else.
        if matches!(by, Mover::Reader { .. }) || at.others().count() > 1 {
            return self.fetch_alone(writer, apart, by == Mover::Reader { past: true }, into);
        }
        let mapped = self.in_place(writer, apart.at, apart.len).is_some();
        let (alone, timed) = self.who_moves(writer, mapped, apart.len, by);
        if alone && by == Mover::Writer {
            // It has something else to do, and asks again.
            return Some(Fetched::Begun);
        }
        let mut fetch = Fetch {
            board,
            from,
            writer,
            token: Token(FIRST_TOKEN | self.boards.fetches.next),
            len: apart.len,
            mapped,
            timed,
            since: None,
            ended: None,
        };
        fetch.is_asked_for(by);
        if alone {
            let fetched = self.fetch_alone(writer, apart, false, into);
            self.learn(&fetch, true);
            return fetched;
        }
        self.boards.fetches.next += 1;
        self.fetch_jointly(fetch, apart, into, by)
    }

    /// Whether the reader of a message that is shown to it by `writer` fetches it alone, and whether that
    /// is timed.
    fn who_moves(&mut self, writer: PeerId, mapped: bool, len: u64, by: Mover) -> (bool, bool) {
        if self.config.shm.bulk != Bulk::Auto {
            return (false, false);
        }
        let movers = self.movers(writer);
        if by == Mover::Writer && movers.is_alone(mapped, len) {
            return (true, false);
        }
        movers.choose(mapped, len)
    }

    /// What is known of the ways to move what a peer shows.
    pub(super) fn movers(&mut self, peer: PeerId) -> &mut Movers {
        let movers = &mut self.peers[peer.0 as usize].movers;
        movers.get_or_insert_with(|| Box::new(Movers::new()))
    }

    /// How long it took, if that was to be known.
    fn learn(&mut self, fetch: &Fetch, alone: bool) {
        if let (Some(since), Some(movers)) =
            (fetch.since, &mut self.peers[fetch.writer.0 as usize].movers)
        {
            movers.learn(fetch.mapped, alone, fetch.len, since.elapsed().as_nanos() as u64);
        }
    }

    /// Begins to fetch what lies apart with the writer's help.
    fn fetch_jointly(
        &mut self,
        fetch: Fetch,
        apart: Apart,
        into: &mut Unpacker,
        by: Mover,
    ) -> Option<Fetched> {
        let (len, writer) = (fetch.len, fetch.writer);
        let run = into.as_contiguous().filter(|(_, room)| *room >= len).map(|(to, _)| to);
        let from = apart.at.address;
        let crossing = run.map(|to| Crossing { from, to, len, token: fetch.token });
        match crossing.and_then(|crossing| self.join(writer, crossing, by)) {
            None if by == Mover::Writer => Some(Fetched::Begun),
            Some(Pulled::Done) => {
                into.skip(len);
                self.learn(&fetch, false);
                Some(Fetched::Whole(len))
            }
            Some(Pulled::Begun) => {
                self.boards.fetches.begun.push(fetch);
                Some(Fetched::Begun)
            }
            Some(Pulled::Unavailable) => None,
            None => self.fetch_alone(writer, apart, false, into),
        }
    }

    /// Fetches what lies apart without the writer's help, perhaps past the caches; all that has room or, if the
    /// kernel forbids it, none.
    fn fetch_alone(
        &mut self,
        writer: PeerId,
        apart: Apart,
        past: bool,
        into: &mut Unpacker,
    ) -> Option<Fetched> {
        let len = apart.len.min(into.remaining());
        let moved = self.pull_in_place(writer, apart.at, len, past, into)
            || self.pull_alone(writer, apart.at.address, len, into) == Pulled::Done;
        moved.then_some(Fetched::Whole(len))
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
        if let Some(peer) = self.only_other(board) {
            self.peers[peer.0 as usize].across.helps.offer(address, len);
        }
    }

    /// The other member of a board that has two.
    pub(super) fn only_other(&self, board: BoardId) -> Option<PeerId> {
        let mut others = self.boards.look(board)?.others();
        let first = others.next();
        first.filter(|_| others.next().is_none())
    }

    /// Writes what was made of a part of a piece to where its writer wants it, at `to`; whether it is there. A writer
    /// that has renounced wants it nowhere, and one that does so now waits until it is written.
    pub(super) fn write_back(
        &mut self,
        board: BoardId,
        writer: u32,
        to: u64,
        bytes: RawBytes<'_>,
    ) -> bool {
        let Some(on) = self.boards.look(board) else { return false };
        let peer = on.member(writer);
        self.peers[peer.0 as usize].ledger_out.begin_to_write_back();
        let is_wanted = self.boards.look(board).is_some_and(|on| on.renounced(writer).is_none());
        let is_there = is_wanted && self.push_alone(peer, to, bytes);
        self.peers[peer.0 as usize].ledger_out.have_written_back();
        is_there
    }

    /// This process has renounced: waits until no member of a board writes to its memory any more.
    pub(super) fn outwait_writers(&self, board: BoardId) {
        for peer in self.boards.look(board).into_iter().flat_map(Board::others) {
            let Peer { pid, ledger, .. } = &self.peers[peer.0 as usize];
            outwait(*pid, || ledger.is_written_back_to());
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
