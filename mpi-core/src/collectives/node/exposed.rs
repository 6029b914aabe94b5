//! Messages that stay where they are: the writer shows where one lies, and its readers fetch it there (decision 62).
//!
//! Who cannot fetch it refuses, and gets it in fragments, written for it alone. A reader does what each fragment
//! says, so nobody has to agree on anything beforehand.
//!
//! Enters: messages that may be fetched, and fragments that are exposed. Leaves: whether they have moved on.

use super::member::AtSegment;
use super::message::{Incoming, Outgoing, Protocol, whole_units};
use crate::datatype::Packer;
use crate::error::{ErrorClass, Result};
use crate::lost::failed_elsewhere;
use crate::node_memory::{Audience, Exposure, Fetched, Fragment, NodeMemory, Source};
use crate::port::Port;
use crate::tuning::LONG_BLOCK_BYTES;

impl Outgoing {
    /// Lets its readers fetch it, if that pays.
    pub(super) fn let_fetch<P: Port>(&mut self, at: &mut AtSegment<'_, P>) {
        if at.is_better_exposed(self.to, &self.source) {
            self.protocol = Protocol::Open;
        }
    }

    /// Shows where it lies, or looks whether all have it; whether so, and nothing if a fragment has to be written.
    #[inline(never)]
    pub(super) fn expose<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> Option<bool> {
        match &self.protocol {
            Protocol::Written | Protocol::Again(_) => None,
            Protocol::Open => {
                let run = self.source.as_contiguous();
                let exposed = run.is_some_and(|(place, len)| {
                    at.entry.port.memory_mut().expose_fragment(
                        at.member.segment,
                        self.to,
                        place,
                        len,
                    )
                });
                self.protocol = if exposed { Protocol::Exposed } else { Protocol::Written };
                exposed.then_some(true)
            }
            Protocol::Exposed => {
                let rank = match at.entry.port.memory_mut().exposure(at.member.segment, self.to) {
                    Exposure::Waits => return Some(false),
                    Exposure::Taken => {
                        self.done = true;
                        return Some(true);
                    }
                    Exposure::Refused(rank) => rank,
                };
                self.protocol = Protocol::Again(Box::new((self.source.clone(), self.to)));
                self.to = Audience::One(rank);
                self.most = whole_units(at.fragment_max(self.to), self.unit);
                None
            }
        }
    }

    /// One who could not fetch it has it now.
    #[cold]
    pub(super) fn go_on_exposing(&mut self) {
        if let Protocol::Again(again) = std::mem::replace(&mut self.protocol, Protocol::Exposed) {
            (self.source, self.to) = *again;
            self.done = false;
        }
    }
}

impl Incoming {
    /// Fetches a fragment, or reads from now on what is written. A failed writer's memory may change once it says so.
    #[inline(never)]
    pub(super) fn fetch<P: Port>(
        &mut self,
        at: &mut AtSegment<'_, P>,
        fragment: Fragment,
    ) -> Result<()> {
        let rank = self.from.rank();
        let fetched = at.entry.port.memory_mut().fetch_fragment(
            at.member.segment,
            self.from,
            &mut self.into,
            self.past,
        );
        if let Fetched::Whole(taken) = fetched {
            self.beyond += fragment.exposed.saturating_sub(taken);
            self.done = fragment.last;
        } else {
            self.from = Source::Private(rank);
        }
        match at.abort_class(rank) {
            Some(class) => Err(failed_elsewhere(rank, ErrorClass::from_wire(class))),
            None => Ok(()),
        }
    }
}

impl<P: Port> AtSegment<'_, P> {
    /// Whether readers should fetch a message.
    pub(super) fn is_better_exposed(&mut self, to: Audience, source: &Packer) -> bool {
        self.is_left(to, source)
            || self.entry.port.memory_mut().is_better_exposed(
                self.member.segment,
                to,
                source.remaining(),
            )
    }

    /// Whether they should copy it from where it lies.
    pub(super) fn is_left(&self, to: Audience, source: &Packer) -> bool {
        let run = source.as_contiguous();
        run.is_some_and(|(at, len)| {
            self.entry.port.memory().is_better_left(self.member.segment, to, at, len)
        })
    }

    /// Whether a writer waits until its only reader has copied what was exposed to it, which is sooner there than what
    /// is written. Nobody does where it has only begun to.
    pub(super) fn may_wait(&self) -> bool {
        self.member.size == 2 && !self.member.oversubscribed && !self.entry.pending.is_starting()
    }

    /// Lets the readers of a message fetch it if this process would only wait for them, or has long enough to wait: the
    /// only other member or, where ranks share processors, all.
    pub(super) fn offered(&mut self, mut message: Outgoing) -> Outgoing {
        let for_all = message.to == Audience::Everyone;
        let in_turn = self.member.order_counts() && !self.entry.pending.is_starting();
        let only = self.member.size == 2 && !self.member.oversubscribed;
        if self.may_wait() || in_turn && for_all || only && message.remaining() >= LONG_BLOCK_BYTES
        {
            message.let_fetch(self);
        }
        message
    }
}
