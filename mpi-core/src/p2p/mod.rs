//! Point-to-point communication (MPI-5.0 chapter 3).
//!
//! [`send`] decides between eager and rendezvous, [`receive`] posts and matches, [`fast`] is the
//! fast path of small messages past both, [`expected`] what it takes, [`ahead`] what it does while nothing
//! comes, [`probe`] looks, [`exchange`] does both at once,
//! [`rendezvous`] is the handshake of large messages, [`credit`] bounds unexpected data,
//! [`buffered`] keeps the buffers of `MPI_Bsend`, [`persistent`] starts the same operation again, and
//! [`partitioned`] sends parts of a message as they become ready.

mod ahead;
pub mod buffered;
mod cancel;
pub(crate) mod credit;
pub mod exchange;
pub mod expected;
mod fast;
mod fetch;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod receive;
pub(crate) mod rendezvous;
pub mod send;

use std::ops::{Deref, DerefMut};

use crate::buffer::UserBuffer;
use crate::entry::Entry;
use crate::error::ErrorClass;
use crate::handle::{CommHandle, DatatypeHandle, MessageHandle};
use crate::port::{PeerId, Port};
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

/// What a call does with messages: sends, receives and probes. It is a borrow of the call.
pub struct Messages<'a, P: Port>(Entry<'a, P>);

impl<P: Port> Entry<'_, P> {
    /// What this call does with messages.
    #[inline(always)]
    pub fn messages(&mut self) -> Messages<'_, P> {
        Messages(self.reborrow())
    }
}

impl<'a, P: Port> Deref for Messages<'a, P> {
    type Target = Entry<'a, P>;

    #[inline(always)]
    fn deref(&self) -> &Entry<'a, P> {
        &self.0
    }
}

impl<'a, P: Port> DerefMut for Messages<'a, P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Entry<'a, P> {
        &mut self.0
    }
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
    Pending(crate::handle::RequestHandle),
}
