//! The calls on files (MPI-5.0 chapter 14). Opening, closing and changing the size are collective; each process moves
//! its data by itself.

mod access;
mod open;
mod pending;
mod shared;

use crate::entry::Entry;
use crate::port::Port;

/// The calls on files: what takes more than one of them, or the others who have opened it.
pub struct Files<'a, P: Port> {
    entry: Entry<'a, P>,
}

impl<P: Port> Entry<'_, P> {
    /// The calls on files.
    #[inline]
    pub fn files(&mut self) -> Files<'_, P> {
        Files { entry: self.reborrow() }
    }
}
