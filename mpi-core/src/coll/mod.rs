//! Collective operations (MPI-5.0 chapter 6) as schedules: pure functions from a rank's view of a
//! call to a small graph of steps. No communication happens here and no datatype is known.

pub mod builder;
pub mod layout;
pub mod schedule;
pub mod verify;
