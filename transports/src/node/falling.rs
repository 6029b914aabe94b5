//! Peers that a network does not reach although both ends have opened it: the next network that both have is used.
//!
//! In: what networks tell of peers with which nothing was exchanged. Out: another way to them, and what was handed
//! over for them goes there; or their loss. Each end decides by itself, at its own time: what one end sends goes by one
//! network from the first frame to the last, so that its order holds whatever the other does.

use mpi_core::port::{PeerId, Transport};

use super::LocalPort;
use super::nets::{Closed, Route};
use super::network::Network;
use crate::rdma::{Bulk, Unreached};

impl LocalPort {
    /// Looks whether a network has given up a peer, or has waited for one long enough.
    #[inline]
    pub(super) fn look_at_unreached(&mut self) {
        for network in [Network::Rc, Network::Ofi] {
            while let Some(net) = self.nets.as_mut().and_then(|nets| nets.get_mut(network)) {
                if let Some(unreached) = net.unreached() {
                    self.fall(network, unreached);
                } else if let Some(peer) = net.late() {
                    self.withdraw(network, peer);
                } else {
                    break;
                }
            }
        }
    }

    /// A network does not reach a peer: finds another one for it, which takes what was handed over.
    #[cold]
    #[inline(never)]
    pub(super) fn fall(&mut self, network: Network, unreached: Unreached) {
        let Unreached { peer, how, bulk } = unreached;
        self.close(Closed { peer, network, how: how.clone() });
        let lost = match self.nets.as_ref().map(|nets| nets.route(peer)) {
            Some(Route::Network(route)) if route == network => self.take_another_route(peer, bulk),
            // Whoever first sends something there finds another.
            Some(Route::Undecided) if self.routes_left(peer) == 0 => Err(how),
            _ => Ok(()),
        };
        if let Err(how) = lost
            && let Some(net) = self.nets.as_mut().and_then(|nets| nets.get_mut(network))
        {
            net.lose(peer, &how);
        }
    }

    /// Finds another way to a peer, which takes what was handed over for it.
    fn take_another_route(&mut self, peer: PeerId, bulk: Vec<Bulk>) -> Result<(), String> {
        let route = self.find_route(peer)?;
        if let Some(nets) = &mut self.nets {
            nets.routes[peer.0 as usize].0 = route;
        }
        for one in bulk {
            self.send_bulk(peer, &one.header, one.source, one.token, None);
        }
        Ok(())
    }

    /// A network has waited for a peer for long: another one is used if there is one, else it goes on waiting, since
    /// the peer may only be busy.
    #[cold]
    #[inline(never)]
    fn withdraw(&mut self, network: Network, peer: PeerId) {
        // It is not closed yet, and so one of them.
        if self.routes_left(peer) > 1
            && let Some(net) = self.nets.as_mut().and_then(|nets| nets.get_mut(network))
            && let Some(unreached) = net.withdraw(peer)
        {
            self.fall(network, unreached);
        }
    }

    /// Notes that a network does not lead to a peer.
    pub(super) fn close(&mut self, closed: Closed) {
        if let Some(nets) = &mut self.nets {
            nets.closed.push(closed);
        }
    }

    /// Tells that a peer is reached by a network which is not the best that both have.
    pub(super) fn tell_fall(&self, peer: PeerId, network: Network) {
        let own = self.me_name.rank;
        if let Some(nets) = &self.nets
            && let Some(closed) = nets.closed.iter().rfind(|one| one.peer == peer)
        {
            tracing::warn!(
                "rank {own} {}; what goes there goes by {} instead",
                nets.tell_closed(closed),
                network.name()
            );
        }
    }
}
