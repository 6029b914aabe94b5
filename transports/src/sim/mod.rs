//! A seeded network in memory (docs/architecture.md, "Simulated worlds"; decision 27).
//!
//! Many endpoints live in one thread and share a [`Network`]: frames wait in virtual time, which
//! moves when nobody can go on. Delays, refusals, the size of bulk fragments and faults are drawn
//! from one seed, so the same seed and the same calls make the same run, which its trace hash
//! proves.
//!
//! In: [`Transport`](mpi_core::port::Transport)'s calls on a [`SimPort`], and a way to suspend the
//! caller, which belongs to whoever runs the ranks. Out: [`Sink`](mpi_core::port::Sink)'s calls.

mod bed;
mod endpoint;
mod network;
mod parked;
mod pledges;
mod port;
mod segments;
mod severed;
#[cfg(test)]
mod tests;
mod window_segments;

pub use bed::Pause;
pub use endpoint::{EndpointId, Nodes};
pub use network::{Crossings, Network, SharedNetwork, SimOptions};
pub use pledges::Landings;
pub use port::SimPort;
