//! The door for one-sided communication over networks: a transport whose hardware writes, reads and
//! changes the memory of peers without their help.
//!
//! In: memory that a process opens to its peers, and what others do to it by the name that it was given. Out:
//! [`Sink::sent`](crate::port::Sink::sent) once what was written is there,
//! [`Sink::landed`](crate::port::Sink::landed) once what was read is here. A bid for speed: who has no such transport
//! asks its peers by frames.

use crate::buffer::UserBuffer;
use crate::port::{Offer, PeerId, Token, Transport};

/// Names memory that this process has opened; its owner ends it by [`Rma::conceal`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Exposure(pub u64);

/// A place in the memory that a peer has opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// How that peer has named the memory. It travels, so it may be anything: a wrong one ends the
    /// connection to that peer and harms nobody else.
    pub memory: Offer,
    /// Bytes before the place.
    pub offset: u64,
}

/// What is done to eight bytes, at once for all who do such things to them by the same transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomic {
    /// Adds, modulo 2⁶⁴.
    Add(u64),
    /// Stores `new` if the bytes are `expected`.
    CompareSwap {
        /// What they have to be.
        expected: u64,
        /// What they become.
        new: u64,
    },
}

/// What the way to a peer can do to its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Whether there is [`Rma::get`].
    pub gets: bool,
    /// Whether there is [`Rma::change`].
    pub changes: bool,
}

/// Why an operation was not begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotBegun {
    /// There is no room now, or no connection: again after a poll.
    Full,
    /// The memory here cannot be registered; in a sentence with what to do.
    Never(String),
}

/// A transport that reaches the memory of peers by itself. Operations are done in any order, and
/// those of large messages between them; which are done is known after [`Rma::flush`].
pub trait Rma: Transport {
    /// What can be done to the memory of `peer`; `None` if nothing can, or before there is a connection.
    fn reach(&mut self, peer: PeerId) -> Option<Reach>;

    /// Opens memory to all peers, until [`Rma::conceal`]. The name travels to them.
    ///
    /// # Errors
    /// The memory cannot be registered; in a sentence with what to do.
    fn expose(&mut self, memory: UserBuffer, len: usize) -> Result<(Exposure, Offer), String>;

    /// Ends an exposure: what peers do to it after that fails. The program sees to it that none does.
    fn conceal(&mut self, exposure: Exposure);

    /// Writes to a peer's memory. The memory here is not written until the sink has heard
    /// that `token` was sent.
    ///
    /// # Errors
    /// Nothing was begun.
    fn put(
        &mut self,
        peer: PeerId,
        from: UserBuffer,
        len: usize,
        to: Place,
        token: Token,
    ) -> Result<(), NotBegun>;

    /// Reads a peer's memory. The memory here belongs to the transport until the sink has
    /// heard that `token` has landed.
    ///
    /// # Errors
    /// Nothing was begun.
    fn get(
        &mut self,
        peer: PeerId,
        into: UserBuffer,
        len: usize,
        from: Place,
        token: Token,
    ) -> Result<(), NotBegun>;

    /// Changes eight aligned bytes of a peer's memory; what was there before comes `into`, as by [`Rma::get`].
    ///
    /// # Errors
    /// Nothing was begun.
    fn change(
        &mut self,
        peer: PeerId,
        into: UserBuffer,
        at: Place,
        how: Atomic,
        token: Token,
    ) -> Result<(), NotBegun>;

    /// Whether all that was begun to the memory of `peer` is done there: what that peer is told after this finds it
    /// done.
    fn flush(&mut self, peer: PeerId) -> bool;
}
