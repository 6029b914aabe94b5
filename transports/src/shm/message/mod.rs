//! Messages on their way: short (`send`, `receive`), eager in several pieces (`stream`), rendezvous in the ring
//! (`bulk`).

mod bulk;
mod gather;
pub(in crate::shm) mod pieces;
mod receive;
mod send;
mod stream;
