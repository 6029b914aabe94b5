//! The short ways: what the glue tries before it enters the library in full.
//!
//! Enters: the C arguments as they are. Leaves: whether the whole call is done. A short way knows
//! no errors and calls nothing of the program's: whatever is not plain it leaves untouched to the
//! procedure's body, which checks and words everything. What it does with a message is
//! `mpi-core`'s affair (`p2p/quick.rs`).

pub mod any_time;
pub mod p2p;
