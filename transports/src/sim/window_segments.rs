//! Segments of windows in a simulated world: all processes have one address space, so a segment is
//! memory that those who fetched it hold together.

use std::alloc::Layout;
use std::cell::Cell;
use std::rc::Rc;

use mpi_core::port::PeerId;
use mpi_core::rma::WindowSegment;
use mpi_core::window_segments::WindowSegments;

use super::network::{Item, Posted, Shared};
use super::port::SimPort;

fn segment(memory: Shared, layout: Layout) -> WindowSegment {
    let base = memory.as_ptr().cast::<u8>().cast_mut();
    let base = base.wrapping_add(base.align_offset(layout.align()));
    // SAFETY: the memory has as much more than the segment as that may begin later, may be written by whoever holds
    // it, and lives as long as the last of them.
    unsafe { WindowSegment::new(base, layout.size() as u64, Box::new(memory)) }
}

impl WindowSegments for SimPort {
    fn make_window_segment(&mut self, mark: u64, layout: Layout) -> Result<WindowSegment, String> {
        let words = (layout.size() + layout.align()).div_ceil(size_of::<u128>());
        let memory: Shared = std::iter::repeat_with(|| Cell::new(0)).take(words).collect();
        let posted = Posted { memory: Rc::clone(&memory), to: Vec::new() };
        self.network.borrow_mut().window_segments.insert(mark, posted);
        Ok(segment(memory, layout))
    }

    fn post_window_segment(&mut self, mark: u64, peer: PeerId) {
        let to = self.endpoint(peer);
        let mut network = self.network.borrow_mut();
        if let Some(posted) = network.window_segments.get_mut(&mark) {
            posted.to.push(to);
        }
        network.schedule(self.id(), to, Item::Room);
    }

    fn end_posting(&mut self, mark: u64) {
        self.network.borrow_mut().window_segments.remove(&mark);
    }

    fn fetch_window_segment(
        &mut self,
        mark: u64,
        _: PeerId,
        layout: Layout,
    ) -> Option<Result<WindowSegment, String>> {
        let network = self.network.borrow();
        let posted = network.window_segments.get(&mark)?;
        posted.to.contains(&self.id()).then(|| Ok(segment(Rc::clone(&posted.memory), layout)))
    }

    /// Virtual time passes until the next look.
    fn watch(&mut self) {
        self.network.borrow_mut().schedule(self.id(), self.id(), Item::Room);
    }
}
