//! Boards: memory that several processes map and read in place.

pub(in crate::shm) mod boards;
pub(in crate::shm) mod caches;
