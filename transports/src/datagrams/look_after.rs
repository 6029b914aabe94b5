//! Whose time has come: each peer is noted for it (see `watch`), and looked at then.

use std::time::Duration;

use mpi_core::port::PeerId;

use super::peer::State;
use super::{Carrier, Datagrams};

/// A link on which nothing has happened for so long gives memory back.
const QUIET: Duration = Duration::from_secs(1);

impl<C: Carrier> Datagrams<C> {
    /// Notes when a peer wants to be looked at.
    #[inline]
    pub(super) fn note(&mut self, peer: PeerId, now: Duration) {
        let waits = self.waits();
        // Who waits for room is woken by that.
        let Some(to) = self.peers.get(peer).filter(|to| !to.is_blocked) else { return };
        let quiet_at = to.used_at + QUIET;
        // What a busy link may need again is kept for a while.
        let lasts = Some(quiet_at).filter(|at| *at > now);
        let silence = to.link.silence(now);
        let trial = to.routes.trial_at(silence, now, &waits);
        let tries = to.state == State::Up && (silence.is_some() || lasts.is_some());
        let trial = trial.filter(|_| tries);
        // Who was stopped has its time already.
        let wake = to.link.wake_at().filter(|_| !to.is_stopped);
        let Some(at) = [wake.or(lasts), trial].into_iter().flatten().min() else {
            return to.link.trim(now);
        };
        let is_new = !std::mem::replace(&mut to.is_watched, true);
        self.watch.note(peer, at, is_new);
    }

    /// Looks after the peers whose time has come.
    #[cold]
    pub(super) fn look_after(&mut self, now: Duration) {
        for peer in self.watch.take(now) {
            let Some(to) = self.peers.get(peer) else { continue };
            to.is_watched = false;
            if to.state == State::Down {
                continue;
            }
            self.try_others(peer, now);
            let is_due = self.peers.get(peer).is_some_and(|to| {
                std::mem::take(&mut to.is_stopped) || to.link.wake_at().is_some_and(|at| at <= now)
            });
            match is_due {
                true => self.pump_at(peer, now),
                false => self.note(peer, now),
            }
        }
    }

    /// Tries another way, where the one in use is silent or not the best.
    fn try_others(&mut self, peer: PeerId, now: Duration) {
        let waits = self.waits();
        let Some(to) = self.peers.get(peer).filter(|to| to.state == State::Up) else { return };
        if let Some((number, route)) = to.routes.next_trial(to.link.silence(now), now, &waits) {
            self.send_aside(peer, route, |link| link.next_trial(now, number));
        }
    }
}
