//! Segments: what a transport offers to windows whose memory the processes of a node share
//! (MPI-5.0 §12.2.3).
//!
//! One process makes a segment and posts it to the others, each of which fetches it. A segment is
//! named by a mark that no other segment of the job has. It stays mapped where it was made or
//! fetched until that process drops it, and is gone with the last of them.

use std::alloc::Layout;

use crate::rma::WindowSegment;
use crate::terms::PeerId;

/// A transport's segments.
pub trait WindowSegments {
    /// Makes a segment of such a size, all zero, and maps it at such an alignment (a page's at least).
    ///
    /// # Errors
    /// Why there is none.
    fn make_window_segment(&mut self, mark: u64, layout: Layout) -> Result<WindowSegment, String>;

    /// Lets `peer`, which was met, fetch a segment that this process made.
    fn post_window_segment(&mut self, mark: u64, peer: PeerId);

    /// All to whom a segment was posted have fetched it, or will not.
    fn end_posting(&mut self, mark: u64);

    /// The segment that `peer` posted to this process, once it has come.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn fetch_window_segment(
        &mut self,
        mark: u64,
        peer: PeerId,
        layout: Layout,
    ) -> Option<Result<WindowSegment, String>>;

    /// The caller waits for a word of a segment to change, for which nobody rings: the next wait
    /// is short.
    fn watch(&mut self);
}
