//! Collective operations (MPI-5.0 chapter 6) as schedules: pure functions from a rank's view of a
//! call to a small graph of steps. No communication happens here and no datatype is known.
//!
//! [`plan`](plan::plan) turns a [`Problem`](plan::Problem) and what
//! [`Selection`](select::Selection) chose for it into a [`Schedule`](schedule::Schedule), which
//! somebody else runs.

pub mod algorithms;
pub mod builder;
pub mod layout;
pub mod menu;
pub mod plan;
pub mod schedule;
pub mod select;
pub mod verify;

mod table;
#[cfg(test)]
mod tests;
