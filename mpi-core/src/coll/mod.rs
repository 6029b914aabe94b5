//! Collective operations (MPI-5.0 chapter 6) as schedules: pure functions from a rank's view of a
//! call to a small graph of steps, and what runs them.
//!
//! [`plan`](plan::plan) turns a [`Problem`](plan::Problem) and what
//! [`Selection`](select::Selection) chose for it into a [`Schedule`](schedule::Schedule), and
//! those rooms are pure. [`calls`] makes problems of MPI's arguments, [`memory`] says where the
//! units of a schedule lie, and [`execute`] runs it.

pub mod algorithms;
pub mod aliased;
mod alone;
mod between;
pub mod builder;
pub(crate) mod by_cost;
pub mod calls;
mod check;
mod checked;
pub mod cost;
mod dispatch;
pub mod execute;
pub(crate) mod hierarchy;
pub mod inter;
pub mod layout;
pub mod memory;
pub mod menu;
pub(crate) mod mismatch;
pub mod neighborhood;
pub(crate) mod node;
pub(crate) mod persistent;
mod place;
pub mod plan;
pub(crate) mod prepared;
mod record;
pub mod schedule;
pub(crate) mod schedule_cache;
pub mod select;
pub mod shape;
pub mod spread;
pub(crate) mod tags;
pub mod verify;

mod table;
// A model whose data are symbols: miri would see no memory there, and need hours.
#[cfg(all(test, not(miri)))]
mod tests;

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
