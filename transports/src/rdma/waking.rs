//! When to look: what ends a sleep, and how thoroughly the next poll looks.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::Rdma;
use super::fabric::Fabric;

/// Rings are not heard of by who sleeps: where there are any, it looks again after so long.
const RING_REST: Duration = Duration::from_millis(1);

impl<F: Fabric> Rdma<F> {
    /// What becomes readable when there is news, once [`Rdma::look_soon`] was called; `None` where who sleeps has
    /// to look again after [`Rdma::put_off`].
    pub fn news(&self) -> Option<BorrowedFd<'_>> {
        self.channel.fabric.news()
    }

    /// How long the next poll can be put off if no news comes; `None` when for ever.
    pub fn put_off(&self) -> Option<Duration> {
        if self.is_awake || !self.channel.events.is_empty() || !self.leavers.is_empty() {
            return Some(Duration::ZERO);
        }
        let is_blind = !self.channel.rings.is_empty()
            || !self.channel.pending.is_empty()
            || self.channel.fabric.news().is_none();
        let rest = is_blind.then_some(RING_REST);
        rest.into_iter().chain(self.channel.fabric.put_off()).min()
    }

    /// Whether the next poll has something to do beyond looking for news.
    #[inline]
    pub fn is_restless(&self) -> bool {
        self.channel.events.len()
            | self.channel.pending.len()
            | self.channel.rings.len()
            | self.leavers.len()
            != 0
    }

    /// Every poll looks at everything: it costs no call of the kernel.
    pub fn look_around(&mut self) {}

    /// As [`Rdma::look_around`].
    pub fn look_at_once(&mut self) {}

    /// The process is about to sleep: the fabric is to wake it.
    pub fn look_soon(&mut self) {
        self.is_awake = !self.channel.fabric.arm();
    }
}
