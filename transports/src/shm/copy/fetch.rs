//! Pieces of boards that their readers fetch out of the writer's memory.
//!
//! In: pieces apart. Out: their bytes, where they belong.

use mpi_core::boards::{BoardId, Fetched, Source};
use mpi_core::datatype::Unpacker;
use mpi_core::port::Pulled;

use crate::shm::Shm;

impl Shm {
    /// Fetches the piece apart that a stream shows (see [`mpi_core::boards::Boards::fetch_piece`]).
    pub(in crate::shm) fn fetch_apart(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        past: bool,
    ) -> Fetched {
        let fetched = self.fetch_whole(board, from, into, past);
        if fetched.is_none()
            && let Some(at) = self.boards.get(board)
        {
            at.refuse(from);
        }
        fetched.map_or(Fetched::Refused, Fetched::Whole)
    }

    /// All that has room of a piece apart; nothing if the kernel forbids it.
    fn fetch_whole(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        past: bool,
    ) -> Option<u64> {
        let at = self.boards.get(board)?;
        let (apart, writer) = (at.apart(from)?, at.member(from.rank()));
        let len = apart.len.min(into.remaining());
        let moved = self.pull_in_place(writer, apart.at, len, past, into)
            || self.pull_alone(writer, apart.at.address, len, into) == Pulled::Done;
        moved.then_some(len)
    }
}
