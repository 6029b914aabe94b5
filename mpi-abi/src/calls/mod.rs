//! Bodies of procedures in core values: one file a chapter or part of one.

pub(crate) mod blocks;
pub mod buffers;
pub mod comms;
pub mod datatype_queries;
pub mod datatypes;
pub mod environment;
pub mod exchanges;
pub mod p2p;
pub mod packing;
pub mod persistent;
pub mod probe;
pub mod reductions;
pub mod requests;
pub mod rooted;
pub mod statuses;
