//! The parts of a segment, and what one member makes of them when it opens the segment: the ends of streams.
//!
//! Enters: where each member's part lies. Leaves: views of it, at the places that [`Layout`] tells.

use super::abort_flag::AbortFlag;
use super::layout::{Layout, PRIVATE_CELL, PUBLIC_CELL, Stream};
use super::stream::{Cells, Inbound, Outbound, Room};
use crate::sync::AtomicU64;

/// The parts of all members, as one of them has them mapped.
pub(super) struct Parts {
    me: usize,
    mark: u64,
    layout: Layout,
    bases: Vec<*mut u8>,
}

impl Parts {
    /// The parts at these addresses, by rank.
    ///
    /// # Safety
    /// As for [`Segment::new`](super::Segment::new), as long as anything lives that this makes.
    pub(super) unsafe fn new(me: usize, mark: u64, bases: Vec<*mut u8>) -> Parts {
        let layout = Layout::new(bases.len() as u32);
        layout.map_heads(me, &bases);
        Parts { me, mark, layout, bases }
    }

    fn at(&self, of: usize, offset: usize) -> *mut u8 {
        self.bases[of].wrapping_add(offset)
    }

    /// What `of` counts of a stream of `writer`.
    fn counter(&self, of: usize, writer: usize, stream: Stream) -> *const AtomicU64 {
        self.at(of, self.layout.counter(writer, stream)).cast_const().cast()
    }

    fn public_cells(&self, of: usize) -> Cells {
        Cells::new(self.at(of, self.layout.public_cells()), PUBLIC_CELL)
    }

    fn private_cells(&self, of: usize, reader: usize) -> Cells {
        Cells::new(self.at(of, self.layout.private_cells(reader)), PRIVATE_CELL)
    }

    fn public_room(&self) -> Room {
        Room { usual: self.layout.public_room(), all: self.layout.public_room() }
    }

    fn private_room(&self) -> Room {
        Room { usual: self.layout.private_room(), all: self.layout.private_space() }
    }

    /// The end at which this member writes what all others read.
    pub(super) fn public(&self) -> Outbound {
        let others = (0..self.bases.len()).filter(|other| *other != self.me);
        let counters = others.map(|reader| self.counter(reader, self.me, Stream::Public)).collect();
        let cells = self.public_cells(self.me);
        let body = self.at(self.me, self.layout.public_body());
        // SAFETY: within the own part, by the layout; the rest is the promise made to `new`.
        unsafe { Outbound::new(cells, body, self.public_room(), self.mark, counters) }
    }

    /// The same of what `reader` alone reads.
    pub(super) fn private(&self, reader: usize) -> Outbound {
        let counters = vec![self.counter(reader, self.me, Stream::Private)];
        let cells = self.private_cells(self.me, reader);
        let body = self.at(self.me, self.layout.private_body(reader));
        // SAFETY: as for `public`.
        unsafe { Outbound::new(cells, body, self.private_room(), self.mark, counters) }
    }

    /// The end at which this member reads what `of` writes for all.
    pub(super) fn public_of(&self, of: usize) -> Inbound {
        let cells = self.public_cells(of);
        let body = self.at(of, self.layout.public_body());
        let counter = self.counter(self.me, of, Stream::Public);
        // SAFETY: within the part of `of`, by the layout; the rest is the promise made to `new`.
        unsafe { Inbound::new(cells, body, self.public_room(), self.mark, counter) }
    }

    /// The same of what `of` writes for this member alone.
    pub(super) fn private_of(&self, of: usize) -> Inbound {
        let cells = self.private_cells(of, self.me);
        let body = self.at(of, self.layout.private_body(self.me));
        let counter = self.counter(self.me, of, Stream::Private);
        // SAFETY: as for `public_of`.
        unsafe { Inbound::new(cells, body, self.private_room(), self.mark, counter) }
    }

    /// Where `of` says that it goes no further.
    pub(super) fn abort_flag(&self, of: usize) -> AbortFlag {
        // SAFETY: within the part of `of`, by the layout; the rest is the promise made to `new`.
        unsafe {
            AbortFlag::new(self.at(of, self.layout.abort_flag()).cast_const().cast(), self.mark)
        }
    }
}
