//! Whose time has come: peers whose links want to be looked at at some time, though nothing comes.

use std::time::Duration;

use mpi_core::port::PeerId;

use super::Udp;

/// A link on which nothing has happened for so long gives memory back.
const QUIET: Duration = Duration::from_secs(1);

/// Peers, and when the first of them wants to be looked at.
#[derive(Default)]
pub(super) struct Watch {
    peers: Vec<PeerId>,
    next_at: Option<Duration>,
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
        self.next_at
    }

    /// Whether that time has come.
    #[inline]
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.next_at.is_some_and(|at| at <= now)
    }

    /// All of them, who have to be noted anew.
    pub(super) fn take(&mut self) -> Vec<PeerId> {
        self.next_at = None;
        std::mem::take(&mut self.peers)
    }
}

impl Udp {
    /// Looks after the peers whose time has come.
    #[cold]
    pub(super) fn look_after(&mut self, now: Duration) {
        for peer in self.watch.take() {
            let Some(to) = self.peers.get(peer) else { continue };
            to.is_watched = false;
            match to.link.wake_at() {
                None => self.rest(peer, now),
                Some(at) if at > now => {
                    to.is_watched = true;
                    self.watch.note(peer, at, true);
                }
                Some(_) => {
                    self.look_for_a_way(peer, now);
                    self.pump(peer);
                }
            }
        }
    }

    /// Takes another way where one has been silent for too long.
    fn look_for_a_way(&mut self, peer: PeerId, now: Duration) {
        let Some(to) = self.peers.get(peer) else { return };
        let Some(silence) = to.link.silence(now) else { return };
        if to.ways.move_on(silence, now) {
            to.link.change_path();
            self.counters.moves += 1;
            self.take_path(peer);
        }
    }

    /// Nothing more is to be done for a peer now: if that lasts, its memory is of use elsewhere.
    fn rest(&mut self, peer: PeerId, now: Duration) {
        let Some(to) = self.peers.get(peer) else { return };
        if now.saturating_sub(to.used_at) >= QUIET {
            to.link.trim(now);
        } else {
            to.is_watched = true;
            self.watch.note(peer, to.used_at + QUIET, true);
        }
    }
}
