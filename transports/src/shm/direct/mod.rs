//! Memory that several processes map and read in place: what the library allocates for programs, and boards.

pub(in crate::shm) mod alloc;
pub(in crate::shm) mod boards;
pub(in crate::shm) mod caches;
pub(in crate::shm) mod parts;
mod programs;
