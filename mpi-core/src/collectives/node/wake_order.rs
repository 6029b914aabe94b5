//! A barrier after which the process goes on first that has something for the others, and that one last which takes
//! something of all: [`Lead`] says who that is.

use super::member::AtSegment;
use super::work::WaitFor;
use crate::coll::lead::{Lead, Order};
use crate::error::Result;
use crate::node_memory::{Audience, Source};
use crate::port::Port;

impl<P: Port> AtSegment<'_, P> {
    /// `MPI_BARRIER`: everyone tells everyone, or one that goes on first.
    pub(super) fn meet_on_segment(&mut self) -> Result<()> {
        let order = match self.member.order_counts() && !self.entry.pending.is_starting() {
            true => self.lead(Lead::meet)?,
            false => Order::default(),
        };
        if let Some(first) = order.first {
            self.meet_through(first)?;
        } else {
            self.write_signal(Audience::Everyone)?;
            for rank in self.member.others() {
                self.read_signal(Source::Public(rank), WaitFor::Each(Source::Public))?;
            }
        }
        if order.last {
            self.entry.port.yield_processor();
        }
        Ok(())
    }

    /// `first` hears all and tells all, and so goes on first. It takes a turn more than where everyone tells everyone.
    fn meet_through(&mut self, first: u32) -> Result<()> {
        if self.member.rank != first {
            self.write_signal(Audience::One(first))?;
            self.read_signal(Source::Public(first), WaitFor::Answer)?;
            // What it gives is mostly there by now.
            self.ask_for_fragment(Source::Public(first));
            self.ask_for_fragment(Source::Private(first));
            return Ok(());
        }
        for rank in self.member.others() {
            self.read_signal(Source::Private(rank), WaitFor::Each(Source::Private))?;
        }
        self.write_signal(Audience::Everyone)
    }

    /// The call that runs gives something of this root's to all, or begins to.
    #[inline]
    pub(super) fn gives(&mut self, root: u32) -> Result<()> {
        if self.member.order_counts() {
            self.lead(|lead, number| lead.give(number, root))?;
        }
        Ok(())
    }

    /// The call that runs takes something of everyone to this process, who need not have it come first.
    #[inline]
    pub(super) fn takes(&mut self) -> Result<()> {
        if self.member.order_counts() {
            self.lead(Lead::take)?;
        }
        Ok(())
    }

    /// Tells the record of what leads of the call that runs.
    fn lead<T>(&mut self, tell: impl FnOnce(&mut Lead, u32) -> T) -> Result<T> {
        let number = self.running()?;
        Ok(tell(&mut self.entry.comm_mut(self.member.comm)?.lead, number))
    }

    /// The number of the call that runs, which has been counted.
    fn running(&self) -> Result<u32> {
        Ok(self.entry.comm(self.member.comm)?.collective_number.wrapping_sub(1) & i32::MAX as u32)
    }
}
