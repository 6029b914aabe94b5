//! Messages on their way: short (`send`, `receive`), eager in several fragments (`stream`), rendezvous in the ring
//! (`bulk`).

mod bulk;
pub(in crate::shm) mod fragments;
mod gather;
mod receive;
mod send;
mod stream;
