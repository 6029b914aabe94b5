//! Datagrams that go through another network, whose frames carry them, where they do not get there by
//! themselves. In order and once they come as always, since links see to that; whether the peer is there
//! at all is for that network to judge.

use std::time::Duration;

use mpi_core::port::{PeerId, Sink, Why};

use super::peer::State;
use super::routes::{From, Waits};
use super::{Carrier, Datagrams};
use crate::tcp::DATAGRAM_BYTES_MAX;

/// Bytes of a link's in a datagram that goes through a tunnel.
pub(super) const TUNNEL_BYTES: usize = DATAGRAM_BYTES_MAX;

/// An answer may be due for so long before other ways are tried, for each rank that shares a processor.
const OTHERS_AFTER: Duration = Duration::from_millis(200);
/// Where ranks share processors, the tunnel comes after so many times that.
const TUNNEL_TURNS: u32 = 2;
/// The tunnel's part of the patience, which its network has once more.
const TUNNEL_SHARE: u32 = 4;

impl<C: Carrier> Datagrams<C> {
    /// So many ranks share a processor.
    pub fn set_share(&mut self, ranks: u32) {
        self.share = ranks.max(1);
    }

    /// Datagrams may go through another network.
    pub fn set_tunnel(&mut self) {
        self.tunnels = true;
    }

    /// How long an answer may be due. For a tunnel a connection has to be made, and who waits for a core is silent
    /// too, the longer the more ranks share it.
    pub(super) fn waits(&self) -> Waits {
        let others = OTHERS_AFTER * self.share;
        let tunnel =
            (self.limits.patience / TUNNEL_SHARE).max(TUNNEL_TURNS * (others - OTHERS_AFTER));
        Waits { others, tunnel: self.tunnels.then_some(tunnel) }
    }

    /// Gives each datagram that is to go through the other network to `take`, which says whether it is dealt with;
    /// else it is given again.
    pub fn send_tunnelled(&mut self, mut take: impl FnMut(PeerId, &[u8]) -> bool) {
        self.tunnelled.retain(|(peer, bytes)| !take(*peer, bytes));
        self.has_new_tunnelled = false;
    }

    /// A datagram is to go through the other network.
    pub(super) fn write_tunnelled(&mut self, peer: PeerId, bytes: Vec<u8>) {
        self.tunnelled.push((peer, bytes));
        self.has_new_tunnelled = true;
    }

    /// Peers whom the other network gave up and who are there, as this one has heard since: told once.
    pub fn spared(&mut self) -> Vec<PeerId> {
        std::mem::take(&mut self.spared)
    }

    /// A datagram came through the other network.
    pub fn take_tunnelled<S: Sink>(&mut self, peer: PeerId, bytes: &[u8], sink: &mut S) {
        let now = self.now();
        if self.peer(peer).is_some() {
            self.counters.received += 1;
            self.hear(peer, bytes, From::Tunnel, now, sink);
            self.answer_all();
        }
    }

    /// The other network can no longer reach a peer, and says why. What is to be said of that: nothing if this
    /// network has said it before, or has heard of the peer lately; else nothing goes to it any more.
    pub fn part(&mut self, peer: PeerId, why: Why) -> Option<Why> {
        let (now, patience) = (self.now(), self.limits.patience);
        self.tunnelled.retain(|(one, _)| *one != peer);
        let Some(to) = self.peers.get(peer) else { return Some(why) };
        if to.state != State::Up {
            return None;
        }
        let heard_at = to.link.heard_at();
        if why != Why::Finalized && heard_at.is_some_and(|at| now.saturating_sub(at) < patience) {
            self.spared.push(peer);
            return None;
        }
        let since = match heard_at {
            Some(at) => format!("nothing has come from it for {:.1?}", now.saturating_sub(at)),
            None => "nothing has come from it".to_owned(),
        };
        let (from, rank, is_flushed) = (self.me.rank, to.rank, to.link.is_flushed());
        self.give_up(peer);
        let with = |how| {
            format!("rank {from} cannot reach rank {rank} by {}: {since}; and {how}", C::NAME)
        };
        Some(match why {
            Why::Finalized => Why::Finalized,
            Why::Lost(how) if is_flushed => Why::Lost(with(how)),
            Why::Lost(how) => Why::Undelivered { how: with(how), hint: None },
            Why::Undelivered { how, hint } => Why::Undelivered { how: with(how), hint },
        })
    }
}
