//! Messages that are under way between this process and a peer: how far they are. A peer has them for as long as it is
//! there; `bulk` and `ahead` take them further.

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{Landing, Token};

use super::envelope::Envelope;
use super::pool::Buffer;

/// A large message on its way to a peer, through buffers.
pub(super) struct Leaving {
    pub id: u64,
    pub header: Header,
    pub source: Packer,
    pub token: Token,
    pub total: u64,
}

/// One on its way from a peer.
pub(super) struct Arriving {
    pub id: u64,
    pub total: u64,
    pub at: u64,
    pub landing: Landing,
    pub token: Token,
}

/// A message that waits for its turn.
pub(super) struct Ahead {
    pub envelope: Envelope,
    pub buffer: Buffer,
    pub len: usize,
}
