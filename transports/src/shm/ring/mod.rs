//! What lies in an arena for messages, and whose turn it is to use it: lanes of cells, slots for short bodies, the ring
//! of runs for longer ones, and the buffer that two processes exchange. Nothing here knows a peer.

pub(in crate::shm) mod exchange;
pub mod lane;
pub(in crate::shm) mod pool;
pub(in crate::shm) mod runs;
