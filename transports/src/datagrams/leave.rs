//! The end: everything was delivered before, and each peer is told that nothing more comes.

use super::peer::State;
use super::{Carrier, Datagrams};

impl<C: Carrier> Datagrams<C> {
    /// Takes leave of everybody with whom something was said.
    pub fn leave(&mut self) {
        for peer in self.peers.places() {
            if let Some(to) = self.peers.get(peer).filter(|to| to.state == State::Up) {
                to.link.leave();
                self.pump(peer);
            }
        }
    }

    /// Whether all know that. A peer that computes hears it later, and one that is gone never: the wait for
    /// this needs a bound.
    pub fn has_left(&self) -> bool {
        self.peers.met().all(|to| to.state != State::Up || to.link.has_left())
    }
}
