//! Bodies of procedures in core values: one file a chapter or part of one.

pub mod buffers;
pub mod collectives;
pub mod comms;
pub mod environment;
pub mod p2p;
pub mod persistent;
pub mod probe;
pub mod requests;
pub mod statuses;
