//! Messages on their way: short ones in a cell or in one piece (`send`, `receive`), eager ones of several pieces
//! (`stream`), and rendezvous through the ring (`bulk`).

mod bulk;
mod gather;
pub(in crate::shm) mod pieces;
mod receive;
mod send;
mod stream;
