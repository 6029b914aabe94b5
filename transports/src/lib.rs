//! Ways to move bytes between two processes (docs/architecture.md, "transports").
//!
//! A transport knows frames, peers and user memory, and nothing of MPI; it implements
//! [`mpi_core::port::Transport`]. Under `--cfg loom` only what loom checks is built: its atomics
//! cannot lie in shared bytes (decision 26).

pub mod sync;

#[cfg(not(loom))]
mod bed;
#[cfg(not(loom))]
mod bounds;
#[cfg(not(loom))]
pub mod cards;
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
pub mod conformance;
#[cfg(not(loom))]
mod copy;
#[cfg(not(loom))]
pub mod datagrams;
#[cfg(not(loom))]
pub mod disk;
#[cfg(not(loom))]
mod fields;
#[cfg(not(loom))]
mod fragment;
#[cfg(not(loom))]
pub mod loopback;
#[cfg(not(loom))]
pub mod node;
#[cfg(not(loom))]
pub mod offers;
#[cfg(not(loom))]
pub mod ofi;
#[cfg(not(loom))]
pub mod one_sided_set;
#[cfg(not(loom))]
mod profile;
#[cfg(not(loom))]
pub mod rdma;
#[cfg(not(loom))]
mod reach;
#[cfg(not(loom))]
pub mod reliability;
#[cfg(not(loom))]
mod restraint;
#[cfg(not(loom))]
mod ring;
#[cfg(not(loom))]
pub mod ring_order;
#[cfg(not(loom))]
pub mod segment;
#[cfg(not(loom))]
pub mod shm;
#[cfg(not(loom))]
pub mod sim;
#[cfg(not(loom))]
mod stores;
#[cfg(not(loom))]
pub mod sys;
#[cfg(not(loom))]
pub mod tcp;
#[cfg(not(loom))]
pub mod udp;
#[cfg(not(loom))]
pub mod verbs;
#[cfg(not(loom))]
mod working_set;

#[cfg(loom)]
#[path = "shm/ring/lane/mod.rs"]
pub mod lane;
#[cfg(all(loom, test))]
#[path = "shm/ring/lane_model.rs"]
mod lane_model;
#[cfg(all(loom, test))]
#[path = "rdma/pin/notices.rs"]
mod notices;
#[cfg(all(loom, test))]
#[path = "rdma/pin/notices_model.rs"]
mod notices_model;
#[cfg(all(loom, test))]
mod turns_model;
