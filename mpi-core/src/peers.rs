//! The peers of a process and what it keeps for each: message numbers, credit, frames that wait.
//!
//! The table grows; nothing is indexed by a rank of `MPI_COMM_WORLD`, since spawned and connected
//! jobs come later. An entry is small and its queues allocate only when used.

use std::collections::VecDeque;

use crate::buffer::RawBytes;
use crate::credit::Credit;
use crate::header::Header;
use crate::port::{Body, Full, PeerId, Port, Why};

/// A frame that found no room and waits for it, with its own copy of the body.
struct Waiting {
    header: Header,
    body: Box<[u8]>,
}

/// A message that arrived before its predecessors (over another path).
pub(crate) struct Early {
    pub(crate) header: Header,
    pub(crate) body: Box<[u8]>,
}

/// What a process keeps for one peer.
#[derive(Default)]
pub(crate) struct Peer {
    next_out: u16,
    next_in: u16,
    pub(crate) credit: Credit,
    waiting: VecDeque<Waiting>,
    early: Vec<Early>,
    down: Option<Why>,
    /// It is down or has frames that wait: what each message asks, as one word.
    blocked: bool,
}

/// What is to be done with a message frame by its number.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// It is the next one.
    Deliver,
    /// A predecessor is missing.
    Keep,
    /// It was delivered before.
    Double,
}

impl Peer {
    /// The number of the next message to this peer.
    #[inline]
    pub(crate) fn number_out(&mut self) -> u16 {
        let number = self.next_out;
        self.next_out = number.wrapping_add(1);
        number
    }

    /// Where a message with this number stands; counts it when it is the next.
    #[inline]
    pub(crate) fn order_in(&mut self, sequence: u16) -> Order {
        if sequence == self.next_in {
            self.next_in = sequence.wrapping_add(1);
            Order::Deliver
        } else if sequence.wrapping_sub(self.next_in) < 1 << 15 {
            Order::Keep
        } else {
            Order::Double
        }
    }

    /// The number that the next message to this peer will have.
    #[inline]
    pub(crate) fn next_out(&self) -> u16 {
        self.next_out
    }

    /// The numbers of the next message to this peer and of the next one from it.
    pub(crate) fn numbers(&self) -> (u16, u16) {
        (self.next_out, self.next_in)
    }

    /// The number of the next message from this peer, if none that follows it is here already.
    #[inline]
    pub(crate) fn expected(&self) -> Option<u16> {
        self.early.is_empty().then_some(self.next_in)
    }

    /// Whether a message with this number is next, and none that follows is here already.
    #[inline]
    pub(crate) fn is_next(&self, sequence: u16) -> bool {
        sequence == self.next_in && self.early.is_empty()
    }

    /// Counts the message that [`Peer::is_next`].
    #[inline]
    pub(crate) fn count_in(&mut self) {
        self.next_in = self.next_in.wrapping_add(1);
    }

    /// Whether a message may go to the port now: the peer lives and nothing is before it.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.blocked
    }

    /// Keeps a message whose predecessors are missing; doubles are dropped.
    pub(crate) fn keep_early(&mut self, header: Header, body: RawBytes<'_>) {
        if !self.early.iter().any(|early| early.header.sequence == header.sequence) {
            self.early.push(Early { header, body: body.to_vec().into() });
        }
    }

    /// The kept message that is next, if it is here; counts it.
    #[inline]
    pub(crate) fn next_early(&mut self) -> Option<Early> {
        if self.early.is_empty() {
            return None;
        }
        let at = self.early.iter().position(|early| early.header.sequence == self.next_in)?;
        self.next_in = self.next_in.wrapping_add(1);
        Some(self.early.swap_remove(at))
    }

    /// Whether a frame may go to the port now without overtaking another.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of the bodies that wait.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting.iter().map(|frame| frame.body.len() as u64).sum()
    }

    /// Puts a frame behind those that wait.
    pub(crate) fn wait(&mut self, header: Header, body: Box<[u8]>) {
        self.waiting.push_back(Waiting { header, body });
        self.blocked = true;
    }

    /// Hands waiting frames to the port until it refuses one; whether none is left.
    pub(crate) fn flush<P: Port>(&mut self, peer: PeerId, port: &mut P) -> bool {
        while let Some(frame) = self.waiting.front_mut() {
            frame.header.credit = self.credit.report();
            let body = Body::Bytes(RawBytes::from(&*frame.body));
            match port.send(peer, &frame.header, body) {
                Ok(()) => self.waiting.pop_front(),
                Err(Full) => return false,
            };
        }
        self.blocked = self.down.is_some();
        true
    }

    /// Why nothing goes there or comes from there any more, if so.
    #[inline]
    pub(crate) fn down(&self) -> Option<&Why> {
        self.down.as_ref()
    }

    /// Forgets all frames for a peer that is gone; whether there was any.
    pub(crate) fn drop_waiting(&mut self) -> bool {
        let dropped = !self.waiting.is_empty();
        self.waiting.clear();
        self.blocked = self.down.is_some();
        dropped
    }

    /// Nothing goes there or comes from there any more.
    pub(crate) fn close(&mut self, why: Why) {
        self.down = Some(why);
        self.blocked = true;
    }
}
