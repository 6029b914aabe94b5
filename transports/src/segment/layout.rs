//! Where things lie in one member's part of a segment: counters of what it has consumed, the cells
//! of its streams, and room for the bodies of longer fragments. Offsets follow from the number of
//! members alone, so they are the same at all of them. Pages are touched when used.

use mpi_core::tuning::{
    HEADS_MAPPED_BYTES, PRIVATE_ROOM_LEAST_BYTES, PRIVATE_ROOMS_BYTES, PRIVATE_SPACES,
    PUBLIC_ROOM_BYTES,
};

use crate::sys::memory::{PAGE, populate};

/// Fragments of a stream that may be under way.
pub(super) const CELLS: usize = 32;
/// Bytes of a cell of the stream that everyone reads, and of one of a stream that one member reads; all but 16 are for
/// a short fragment. What does not lie there costs its writer a place, and both ends a page more, which where ranks
/// share processors is new to them in each turn (decision 85, with what longer cells cost the former).
pub(super) const PUBLIC_CELL: usize = 2 * 64;
pub(super) const PRIVATE_CELL: usize = 5 * 64;
/// Bytes from one counter to the next: two lines, since processors fetch pairs. Whoever looks at one fetches no other:
/// the time of a look tells where the line was, if nothing else has brought it here (see [`crate::reach::Reach`]).
const COUNTER_STRIDE: usize = 128;
/// Counters for a writer: of its public stream, and of its private one.
const COUNTERS: usize = 2;
/// Bytes from the abort flag to the first cell: two lines as well.
const ABORT_FLAG_STRIDE: usize = 128;
/// Bytes from a counter to the consent of its owner.
pub(super) const CONSENT: usize = 16;

/// What the address of a part is a multiple of.
pub const ALIGN: usize = COUNTER_STRIDE;

/// Which of a member's streams: the one that all others read, or the one that a reader has alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stream {
    Public = 0,
    Private = 1,
}

/// How the parts of a segment of so many members are divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    size: usize,
}

impl Layout {
    /// The layout for `size` members.
    pub fn new(size: u32) -> Layout {
        Layout { size: size as usize }
    }

    /// Bytes of a part.
    pub fn bytes(self) -> usize {
        self.private_body(self.size)
    }

    /// Bytes from the beginning of a part that have to be zeros when its segment opens: counters and cells.
    pub fn head_bytes(self) -> usize {
        self.public_body()
    }

    /// The counter of what the owner has consumed of a stream of `writer`. [`CONSENT`] bytes behind each is the word
    /// that says whether the owner fetches what is exposed to it there. The page is of counters alone: else a processor
    /// prefetches counters behind other lines of it, and a timed look at one says nothing.
    pub(super) fn counter(self, writer: usize, stream: Stream) -> usize {
        (writer * COUNTERS + stream as usize) * COUNTER_STRIDE
    }

    /// Maps the counters and cells of small segments, whose parts lie there.
    pub(super) fn map_heads(self, me: usize, parts: &[*mut u8]) {
        let head = self.head_bytes();
        if head <= HEADS_MAPPED_BYTES {
            populate(parts[me], head, true);
            parts.iter().for_each(|part| populate(*part, head, false));
        }
    }

    /// The owner's abort flag.
    pub(super) fn abort_flag(self) -> usize {
        self.counter(self.size, Stream::Public).next_multiple_of(PAGE)
    }

    pub(super) fn public_cells(self) -> usize {
        self.abort_flag() + ABORT_FLAG_STRIDE
    }

    pub(super) fn private_cells(self, reader: usize) -> usize {
        self.public_cells() + CELLS * (PUBLIC_CELL + reader * PRIVATE_CELL)
    }

    pub(super) fn public_body(self) -> usize {
        self.private_cells(self.size).next_multiple_of(PAGE)
    }

    pub(super) fn private_body(self, reader: usize) -> usize {
        self.public_body() + PUBLIC_ROOM_BYTES + reader * self.private_space()
    }

    pub(super) fn public_room(self) -> usize {
        PUBLIC_ROOM_BYTES
    }

    pub(super) fn private_room(self) -> usize {
        let room = PRIVATE_ROOMS_BYTES / self.size.next_power_of_two();
        room.clamp(PRIVATE_ROOM_LEAST_BYTES, PUBLIC_ROOM_BYTES)
    }

    /// The same with what lies beyond.
    pub(super) fn private_space(self) -> usize {
        PRIVATE_SPACES * self.private_room()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parts_of_every_size_hold_what_they_should_without_overlap() {
        for size in (2..70).chain([256, 1000]) {
            let layout = Layout::new(size);
            let last = size as usize - 1;
            const { assert!(CONSENT + 16 <= COUNTER_STRIDE) };
            assert_eq!(layout.public_cells() % ALIGN, 0);
            let counters = (0..size as usize).flat_map(|writer| {
                [Stream::Public, Stream::Private].map(|stream| layout.counter(writer, stream))
            });
            let pairs: BTreeSet<usize> = counters.map(|counter| counter / COUNTER_STRIDE).collect();
            assert_eq!(pairs.len(), 2 * size as usize, "each has a pair of lines for itself");
            let last_counter = layout.counter(last, Stream::Private) + COUNTER_STRIDE;
            assert!(last_counter.next_multiple_of(PAGE) <= layout.abort_flag());
            assert_eq!(layout.abort_flag() % PAGE, 0, "counters have pages for themselves");
            assert_eq!(layout.private_cells(0), layout.public_cells() + CELLS * PUBLIC_CELL);
            assert!(layout.private_cells(last) + CELLS * PRIVATE_CELL <= layout.public_body());
            assert_eq!(layout.public_body() % PAGE, 0);
            assert_eq!(layout.private_body(0), layout.public_body() + layout.public_room());
            assert_eq!(layout.private_body(last) + layout.private_space(), layout.bytes());
        }
    }
}
