//! What a call does with collective operations (MPI-5.0 chapter 6): begun, run to their end, or kept to be started.
//!
//! [`calls`] makes a problem of MPI's arguments, `dispatch` chooses the way: over shared memory ([`node`]), group by
//! group (`stage_by_stage`), alone, or by messages, for which [`execute`] runs the [schedule](crate::coll). `checked`
//! compares first what all have called.

mod alone;
mod between;
pub mod calls;
mod check;
mod checked;
mod dispatch;
pub mod execute;
mod level;
mod neighborhood;
pub(crate) mod node;
mod persistent;
mod stage_by_stage;

use std::ops::{Deref, DerefMut};

use crate::entry::Entry;
use crate::port::Port;

/// The collective operations of a call into the library: begun, run to their end, or kept to be started. It is a borrow
/// of the call.
pub struct Collectives<'a, P: Port>(Entry<'a, P>);

impl<P: Port> Entry<'_, P> {
    /// The collective operations of this call.
    #[inline(always)]
    pub fn collectives(&mut self) -> Collectives<'_, P> {
        Collectives(self.reborrow())
    }
}

impl<'a, P: Port> Deref for Collectives<'a, P> {
    type Target = Entry<'a, P>;

    #[inline(always)]
    fn deref(&self) -> &Entry<'a, P> {
        &self.0
    }
}

impl<'a, P: Port> DerefMut for Collectives<'a, P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Entry<'a, P> {
        &mut self.0
    }
}
