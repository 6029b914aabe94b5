//! Segments: memory that several processes map and read in place.

pub(in crate::shm) mod caches;
pub(in crate::shm) mod segments;
