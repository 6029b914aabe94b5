//! Matching: which message goes to which receive (MPI-5.0 §3.5, decision 19).
//!
//! One [`Matcher`] serves one VCI. Receives without a message and messages without a receive go
//! in; the earliest partner comes out, in the standard's order: messages of one sender do not
//! overtake each other, and of the receives that fit a message the one posted first takes it.
//! What a receive or a message is, is the caller's business.

mod queue;

pub use queue::Place;
use queue::{Pattern, Queue};

use crate::constants::{ANY_SOURCE, ANY_TAG};

/// What decides whether a message and a receive belong together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Context id of the communicator.
    pub context: u64,
    /// Rank of the sender; in a receive it may be `MPI_ANY_SOURCE`.
    pub source: i32,
    /// Tag; in a receive it may be `MPI_ANY_TAG`.
    pub tag: i32,
}

/// Something that is looked up in a queue.
trait Matches {
    fn accepts(&self, entry: Envelope) -> bool;
    fn patterns(&self) -> impl Iterator<Item = Pattern>;
}

/// A receive, looking for a message.
struct Receive(Envelope);

/// A message, looking for a receive.
struct Message(Envelope);

#[inline]
fn fits(receive: Envelope, message: Envelope) -> bool {
    receive.context == message.context
        && (receive.source == message.source || receive.source == ANY_SOURCE)
        && (receive.tag == message.tag || receive.tag == ANY_TAG)
}

impl Receive {
    fn pattern(&self) -> Pattern {
        Pattern::new(self.0, self.0.source == ANY_SOURCE, self.0.tag == ANY_TAG)
    }
}

impl Matches for Receive {
    #[inline]
    fn accepts(&self, message: Envelope) -> bool {
        fits(self.0, message)
    }
    fn patterns(&self) -> impl Iterator<Item = Pattern> {
        std::iter::once(self.pattern())
    }
}

impl Matches for Message {
    #[inline]
    fn accepts(&self, receive: Envelope) -> bool {
        fits(receive, self.0)
    }
    fn patterns(&self) -> impl Iterator<Item = Pattern> {
        Pattern::all(self.0).into_iter()
    }
}

/// The posted receives `R` and unexpected messages `M` of one VCI.
pub struct Matcher<R, M> {
    /// A receive is found under the one pattern that it is.
    posted: Queue<R, 2>,
    /// A message is found under each pattern that a receive for it may have.
    unexpected: Queue<M, 5>,
}

impl<R, M> Default for Matcher<R, M> {
    fn default() -> Self {
        Matcher::new()
    }
}

impl<R, M> Matcher<R, M> {
    /// Two empty queues.
    pub fn new() -> Matcher<R, M> {
        Matcher {
            posted: Queue::new(|envelope| [Receive(envelope).pattern(); 2]),
            unexpected: Queue::new(|envelope| {
                let [exact, source, tag, both] = Pattern::all(envelope);
                [exact, exact, source, tag, both]
            }),
        }
    }

    /// Appends a receive, for which [`Matcher::take_unexpected`] found nothing.
    #[inline]
    pub fn post(&mut self, context: u64, source: i32, tag: i32, receive: R) -> Place {
        self.posted.push(Envelope { context, source, tag }, receive)
    }

    /// A message arrives: takes out the earliest posted receive that fits it.
    #[inline]
    pub fn arrive(&mut self, context: u64, source: i32, tag: i32) -> Option<R> {
        if self.posted.len() == 0 {
            return None;
        }
        let place = self.posted.find(&Message(Envelope { context, source, tag }))?;
        self.posted.remove(place)
    }

    /// The receive that [`Matcher::arrive`] would take out.
    #[inline]
    pub fn peek_posted(&mut self, context: u64, source: i32, tag: i32) -> Option<&R> {
        let place = self.posted.find(&Message(Envelope { context, source, tag }))?;
        self.posted.get(place)
    }

    /// Takes out a posted receive that no message has taken yet (`MPI_Cancel`).
    pub fn cancel(&mut self, place: Place) -> Option<R> {
        self.posted.remove(place)
    }

    /// Appends a message, for which [`Matcher::arrive`] found nothing.
    #[inline]
    pub fn add_unexpected(&mut self, context: u64, source: i32, tag: i32, message: M) -> Place {
        self.unexpected.push(Envelope { context, source, tag }, message)
    }

    /// Takes out the earliest message that fits a receive with these arguments.
    #[inline]
    pub fn take_unexpected(&mut self, context: u64, source: i32, tag: i32) -> Option<M> {
        if self.unexpected.len() == 0 {
            return None;
        }
        let place = self.unexpected.find(&Receive(Envelope { context, source, tag }))?;
        self.unexpected.remove(place)
    }

    /// The message that [`Matcher::take_unexpected`] would take out (`MPI_Probe`).
    #[inline]
    pub fn peek_unexpected(&mut self, context: u64, source: i32, tag: i32) -> Option<&M> {
        let place = self.unexpected.find(&Receive(Envelope { context, source, tag }))?;
        self.unexpected.get(place)
    }

    /// Whether no message of `source` is waiting in `context`: then a receive may take one
    /// straight from the wire. `source` may be `MPI_ANY_SOURCE`.
    #[inline]
    pub fn no_unexpected_for(&mut self, context: u64, source: i32) -> bool {
        self.unexpected.len() == 0
            || self.unexpected.find(&Receive(Envelope { context, source, tag: ANY_TAG })).is_none()
    }

    /// Whether no posted receive would take this message.
    #[inline]
    pub fn none_posted_for(&mut self, context: u64, source: i32, tag: i32) -> bool {
        self.posted.len() == 0 || self.peek_posted(context, source, tag).is_none()
    }

    /// Number of posted receives.
    #[inline]
    pub fn posted_len(&self) -> usize {
        self.posted.len()
    }

    /// Number of unexpected messages.
    #[inline]
    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    /// The posted receives in order.
    pub fn posted(&self) -> impl Iterator<Item = (Envelope, &R)> {
        self.posted.iter().map(|(_, envelope, receive)| (envelope, receive))
    }

    /// The unexpected messages in order.
    pub fn unexpected(&self) -> impl Iterator<Item = (Envelope, &M)> {
        self.unexpected.iter().map(|(_, envelope, message)| (envelope, message))
    }

    /// Takes out all unexpected messages that `which` chooses, in order.
    pub fn extract_unexpected(&mut self, mut which: impl FnMut(Envelope, &M) -> bool) -> Vec<M> {
        let chosen = self.unexpected.iter().filter(|(_, envelope, entry)| which(*envelope, entry));
        let places: Vec<Place> = chosen.map(|(place, _, _)| place).collect();
        places.into_iter().filter_map(|place| self.unexpected.remove(place)).collect()
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
