//! Messages (MPI-5.0 chapter 3): what a send or receive is given, and what of a message has arrived.
//!
//! [`rendezvous`] is the handshake of large ones, [`partitioned`] what there is of one that is sent in parts.
//! [`vci`](crate::vci) sends, matches and receives them, [`messages`](crate::messages) has the calls.

pub(crate) mod partitioned;
pub(crate) mod rendezvous;

use crate::buffer::UserBuffer;
use crate::constants::{ANY_TAG, Special, TAG_UB};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{CommHandle, DatatypeHandle, MessageHandle, RequestHandle};
use crate::terms::PeerId;
use partitioned::Channel;
use rendezvous::Rts;

/// `MPI_MESSAGE_NO_PROC`.
pub const MESSAGE_NO_PROC: MessageHandle = MessageHandle::from_raw(0x129);

/// The arguments that all sends and receives have in common.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Address of the first element.
    pub buf: UserBuffer,
    /// Number of elements.
    pub count: i64,
    /// Their type.
    pub datatype: DatatypeHandle,
    /// Destination, or source.
    pub rank: i32,
    /// Tag.
    pub tag: i32,
    /// Communicator.
    pub comm: CommHandle,
}

/// Send modes (MPI-5.0 §3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The library decides whether to buffer.
    Standard,
    /// Complete as soon as the message is copied.
    Buffered,
    /// Complete only when the receive has started.
    Synchronous,
    /// The receive has been posted already; treated as standard, which §3.4 allows.
    Ready,
}

/// A message that has arrived and no receive has taken.
pub(crate) struct Arrived {
    pub(crate) peer: PeerId,
    pub(crate) source: i32,
    pub(crate) tag: i32,
    pub(crate) content: Content,
}

/// What of an arrived message is here.
pub(crate) enum Content {
    /// All its bytes.
    Whole(Box<[u8]>),
    /// Its announcement.
    Announced(Rts),
    /// Nothing: its sender failed with this class.
    Failed(ErrorClass),
    /// Nothing: it tells where the partitions of a send are to be received.
    Channel(Channel),
}

impl Arrived {
    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match &self.content {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::Announced(rts) => rts.len,
            Content::Failed(_) | Content::Channel(_) => 0,
        }
    }
}

/// What a call to one of `MPI_I…` leaves: complete already, or a request.
pub(crate) enum Begun {
    /// The operation is complete.
    Complete,
    /// Progress will complete it.
    Pending(RequestHandle),
}

/// `count` of a send or receive.
#[inline]
pub(crate) fn check_count(count: i64) -> Result<()> {
    if count < 0 {
        crate::fail!(COUNT, "count", "is {count}, but a count cannot be negative");
    }
    Ok(())
}

#[cold]
pub(crate) fn bad_tag(tag: i32) -> Error {
    let what = match tag {
        ANY_TAG => ", which only a receive takes".to_owned(),
        _ => format!(", but tags are 0 to {TAG_UB}"),
    };
    Error::special(ErrorClass::TAG, "tag", Special::Tag(tag), what)
}
