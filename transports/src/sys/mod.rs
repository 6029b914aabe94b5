//! The system calls that transports make, all of them: thin, typed, with `io::Error` outside.
//!
//! Nothing here knows frames or peers. Every descriptor is close-on-exec and owned; every call
//! that takes an address says in its SAFETY line who keeps the memory.

pub mod alike;
pub mod barrier;
pub mod cma;
pub mod cpus;
pub mod epoll;
pub mod file;
pub mod inet;
pub mod limits;
pub mod mappings;
pub mod memory;
pub mod pages;
pub mod process;
pub mod process_vm;
pub mod shared_file;
pub mod signals;
pub mod socket;
pub mod tcp;
pub mod udp;
pub mod userfault;
pub mod wait;
