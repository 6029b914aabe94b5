//! The calls that make communicators (MPI-5.0 §7.4, §7.6, chapter 8) and end them, and what their processes tell each
//! other meanwhile.

pub mod create;
mod disconnect;
pub mod distribute;
mod held;
pub mod inter;
mod members;
mod near;
mod together;
pub mod topology;

use crate::entry::Entry;
use crate::port::Port;

/// The calls that make communicators, and end them.
pub struct Communicators<'a, P: Port> {
    entry: Entry<'a, P>,
}

impl<P: Port> Entry<'_, P> {
    /// The calls that make communicators, and end them.
    #[inline]
    pub fn communicators(&mut self) -> Communicators<'_, P> {
        Communicators { entry: self.reborrow() }
    }
}
