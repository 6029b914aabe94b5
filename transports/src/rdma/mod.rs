//! Message passing over registered memory: queue pairs of verbs, endpoints of libfabric.

pub mod fabric;
mod fabric_bench;
pub mod fabric_set;
