//! Simulated worlds: the ranks of one or more jobs as fibers of one thread, over the seeded
//! network of `transports::sim` (docs/architecture.md, decision 27).
//!
//! In: a seed, the number of ranks, what the network is like, and what each rank does. Out: what
//! each rank returned and the run's trace hash, or who hangs in what.

mod mpi;
mod rank;
mod threads;
mod world;

pub use mpi::{COMM_WORLD, SimEntry};
pub use rank::RankContext;
pub use threads::SimThread;
pub use world::{Hang, Outcome, World};
