//! Segments of windows in a simulated world: all processes have one address space, so a segment is
//! memory that those who fetched it hold together.

use std::cell::Cell;
use std::rc::Rc;

use mpi_core::port::PeerId;
use mpi_core::rma::Segment;
use mpi_core::segments::Segments;

use super::network::{Item, Posted, Shared};
use super::port::SimPort;

/// What a segment's address is a multiple of.
const PAGE: usize = 4096;

fn segment(memory: Shared, len: u64) -> Segment {
    let base = memory.as_ptr().cast::<u8>().cast_mut();
    let base = base.wrapping_add(base.align_offset(PAGE));
    // SAFETY: the memory has a page more than the segment, may be written by whoever holds it, and
    // lives as long as the last of them.
    unsafe { Segment::new(base, len, Box::new(memory)) }
}

impl Segments for SimPort {
    fn make_segment(&mut self, mark: u64, len: u64) -> Result<Segment, String> {
        let words = (len as usize + PAGE).div_ceil(size_of::<u128>());
        let memory: Shared = std::iter::repeat_with(|| Cell::new(0)).take(words).collect();
        let posted = Posted { memory: Rc::clone(&memory), to: Vec::new() };
        self.network.borrow_mut().segments.insert(mark, posted);
        Ok(segment(memory, len))
    }

    fn post_segment(&mut self, mark: u64, peer: PeerId) {
        let to = self.endpoint(peer);
        let mut network = self.network.borrow_mut();
        if let Some(posted) = network.segments.get_mut(&mark) {
            posted.to.push(to);
        }
        network.schedule(self.id(), to, Item::Room);
    }

    fn end_posting(&mut self, mark: u64) {
        self.network.borrow_mut().segments.remove(&mark);
    }

    fn fetch_segment(&mut self, mark: u64, _: PeerId, len: u64) -> Option<Result<Segment, String>> {
        let network = self.network.borrow();
        let posted = network.segments.get(&mark)?;
        posted.to.contains(&self.id()).then(|| Ok(segment(Rc::clone(&posted.memory), len)))
    }

    /// Virtual time passes until the next look.
    fn watch(&mut self) {
        self.network.borrow_mut().schedule(self.id(), self.id(), Item::Room);
    }
}
