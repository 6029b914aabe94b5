//! The calls on windows (MPI-5.0 chapter 12).

mod access;
mod active;
mod create;
mod epochs;

use crate::entry::Entry;
use crate::port::Port;

pub use access::Target;

/// The calls on windows: what takes more than the window, or the others whose memory it is.
pub struct Windows<'a, P: Port> {
    entry: Entry<'a, P>,
}

impl<P: Port> Entry<'_, P> {
    /// The calls on windows.
    #[inline]
    pub fn windows(&mut self) -> Windows<'_, P> {
        Windows { entry: self.reborrow() }
    }
}
