//! Bodies of procedures in core values: one file a chapter or part of one.

pub mod abi;
pub(crate) mod attribute_values;
pub mod attributes;
pub(crate) mod blocks;
pub mod buffers;
pub mod comms;
pub mod datatype_queries;
pub mod datatypes;
pub mod duplicates;
pub mod environment;
pub mod errors;
pub mod exchange;
pub mod exchanges;
pub mod groups;
pub mod info;
pub mod ops;
pub mod p2p;
pub mod packing;
pub mod persistent;
pub(crate) mod predefined;
pub mod probe;
pub mod reductions;
pub mod requests;
pub mod rooted;
pub mod statuses;
pub mod topology;
