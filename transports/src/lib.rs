//! Ways to move bytes between two processes (docs/architecture.md, "transports").
//!
//! A transport knows frames, peers and user memory, and nothing of MPI; it implements
//! [`mpi_core::port::Transport`].

pub mod conformance;
pub mod loopback;
pub mod node;
pub mod shm;
pub mod sim;
pub mod sync;
pub mod sys;
