//! Peers whose links want to be looked at at some time, though nothing comes, and when that is.

use std::time::Duration;

use mpi_core::port::PeerId;

/// Between two looks at all passes so much time for each of them, so that many do not take all of it.
const REST: Duration = Duration::from_nanos(500);

/// Peers, and when the first of them wants to be looked at.
#[derive(Default)]
pub(super) struct Watch {
    peers: Vec<PeerId>,
    next_at: Option<Duration>,
    /// They were all looked at lately: not again before this time.
    rest_until: Duration,
}

impl Watch {
    /// A peer is to be looked at at this time; `is_new` unless it is among them already.
    #[inline]
    pub(super) fn note(&mut self, peer: PeerId, at: Duration, is_new: bool) {
        if is_new {
            self.peers.push(peer);
        }
        self.next_at = Some(self.next_at.map_or(at, |next| next.min(at)));
    }

    /// When somebody is to be looked at.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Duration> {
        self.next_at.map(|at| at.max(self.rest_until))
    }

    /// Whether that time has come.
    #[inline]
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.next_at().is_some_and(|at| at <= now)
    }

    /// All of them, who have to be noted anew.
    pub(super) fn take(&mut self, now: Duration) -> Vec<PeerId> {
        self.next_at = None;
        self.rest_until = now + REST * self.peers.len() as u32;
        std::mem::take(&mut self.peers)
    }
}
