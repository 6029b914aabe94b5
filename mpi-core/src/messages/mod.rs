//! What a call does with messages (MPI-5.0 chapter 3): sends, receives and probes.
//!
//! [`send`] and [`receive`] check and begin, [`fast`] is the fast path of small messages past both, [`ahead`] what it
//! does while nothing comes, [`probe`] looks, [`exchange`] does both at once, [`buffered`] is `MPI_Bsend`,
//! [`persistent`] starts the same operation again, [`partitioned`] one that is sent in parts, [`cancel`] takes a send
//! back.

mod ahead;
pub mod buffered;
mod cancel;
pub mod exchange;
mod fast;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod receive;
pub mod send;

use std::ops::{Deref, DerefMut};

use crate::entry::Entry;
use crate::port::Port;

/// What a call does with messages: sends, receives and probes. It is a borrow of the call.
pub struct Messages<'a, P: Port>(Entry<'a, P>);

impl<P: Port> Entry<'_, P> {
    /// What this call does with messages.
    #[inline(always)]
    pub fn messages(&mut self) -> Messages<'_, P> {
        Messages(self.reborrow())
    }
}

impl<'a, P: Port> Deref for Messages<'a, P> {
    type Target = Entry<'a, P>;

    #[inline(always)]
    fn deref(&self) -> &Entry<'a, P> {
        &self.0
    }
}

impl<'a, P: Port> DerefMut for Messages<'a, P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Entry<'a, P> {
        &mut self.0
    }
}
