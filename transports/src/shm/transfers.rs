//! Long messages that are under way between this process and a peer: how far they are.
//!
//! `bulk` and `stream` take them further; a peer has them for as long as it is there.

use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{Landing, Token};

/// A rendezvous to a peer through the ring.
pub(super) struct Outgoing {
    pub header: Header,
    pub source: Packer,
    pub token: Token,
    pub id: u64,
    pub begun: bool,
    pub moved: u64,
    /// Whether what fits goes through the exchange buffer.
    pub exchanged: bool,
}

/// One from a peer.
pub(super) struct Incoming {
    pub id: u64,
    pub token: Token,
    pub landing: Landing,
    pub left: u64,
    /// Whether some of it has come through the exchange buffer.
    pub exchanged: bool,
}

/// An eager message on its way in, of which the last cell has not come yet.
pub(super) struct Arriving {
    pub header: Header,
    pub offset: u64,
    pub len: u64,
    pub taken: u64,
    /// The receive's memory, if one was posted.
    pub landing: Option<(Unpacker, Token)>,
}

impl Arriving {
    /// Where the next fragment lies, and how many bytes have not come.
    pub(super) fn next(&self) -> (u64, u64) {
        (self.offset + self.taken, self.len - self.taken)
    }
}
