//! Collective operations (MPI-5.0 chapter 6) as schedules: pure functions from a rank's view of a
//! call to a small graph of steps.
//!
//! [`plan`](plan::plan) turns a [`Problem`](plan::Problem) and what
//! [`Selection`](select::Selection) chose for it into a [`Schedule`](schedule::Schedule).
//! [`memory`] says where the units of a schedule lie. Nothing here communicates: what makes problems of MPI's
//! arguments and runs schedules is [`collectives`](crate::collectives).

pub mod algorithms;
pub mod aliased;
pub mod builder;
pub(crate) mod by_cost;
pub mod cost;
pub(crate) mod hierarchy;
pub mod inter;
pub mod layout;
pub(crate) mod lead;
pub mod memory;
pub mod menu;
pub(crate) mod mismatch;
pub(crate) mod place;
pub mod plan;
pub(crate) mod prepared;
pub(crate) mod record;
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
