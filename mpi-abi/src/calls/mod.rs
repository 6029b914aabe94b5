//! Bodies of procedures in core values: one file a chapter or part of one.

pub(crate) mod blocks;
pub mod buffers;
pub mod comms;
pub mod environment;
pub mod exchanges;
pub mod p2p;
pub mod persistent;
pub mod probe;
pub mod reductions;
pub mod requests;
pub mod rooted;
pub mod statuses;
