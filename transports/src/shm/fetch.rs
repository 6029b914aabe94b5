//! Pieces of boards that their readers fetch out of the writer's memory, or that a writer brings to where its reader
//! wants them.
//!
//! In: pieces apart. Out: their bytes, where they belong.

use mpi_core::boards::{BoardId, Fetched, LONG_BLOCK, Mover, Source};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::port::Pulled;

use super::Shm;

impl Shm {
    /// Fetches the piece apart that a stream shows (see [`mpi_core::boards::Boards::fetch_piece`]).
    pub(super) fn fetch_apart(
        &mut self,
        board: BoardId,
        from: Source,
        into: &mut Unpacker,
        by: Mover,
    ) -> Fetched {
        if by == Mover::Writer {
            // Its reader has something else to do, and asks again.
            return Fetched::Begun;
        }
        let fetched = self.fetch_whole(board, from, into, by == Mover::Reader { past: true });
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
        if let Some(len) = at.is_brought(from) {
            into.skip(len);
            return Some(len);
        }
        let (apart, writer) = (at.apart(from)?, at.member(from.rank()));
        let len = apart.len.min(into.remaining());
        let moved = self.pull_in_place(writer, apart.at, len, past, into)
            || self.pull_alone(writer, apart.at.address, len, into) == Pulled::Done;
        moved.then_some(len)
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
}
