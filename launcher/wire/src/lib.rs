//! What the launcher and the ranks say to each other, both ends of it.
//!
//! [`pmi1`] holds the lines of PMI version 1 (the protocol of MPICH's `hydra` and of our own
//! `mpirun`) and a client for use inside the library; [`control`] holds the frames of the second
//! socket that only our own launcher offers; [`Bootstrap`] answers the library's first question,
//! "who am I, and how do I reach the others"; [`address`] is the way to the launcher for who has
//! lost these sockets. Nothing here starts a thread, installs a signal
//! handler or keeps global state, and no byte that comes from outside is trusted.

#![deny(unsafe_code)]

pub mod address;
mod bootstrap;
pub mod control;
mod datagram;
mod plain;
pub mod pmi1;
mod refusal;
mod socket;

pub use address::Address;
pub use bootstrap::{Bootstrap, BootstrapError, Leaving};
pub use datagram::{Arrival, Datagram, is_of_trust};
pub use plain::plain;
pub use refusal::{Refusal, Start, judge};
pub use socket::{Socket, number_of};

/// The variable in which the launcher passes on which kinds of memory the program asks for
/// (`mpirun --memory-alloc-kinds`, MPI-5.0 §12.4.3).
pub const MEMORY_KINDS: &str = "_FERRITE_MEMORY_KINDS";

/// The variable in which the launcher names the pipe that it reads line by line: the numbers of its device and
/// inode, with a colon between. Whoever writes into another file or pipe is not meant.
pub const LINES: &str = "_FERRITE_LINES";
