//! Datagrams that go through another network, whose frames carry them, where they do not get there by
//! themselves. In order and once they come as always, since links see to that; whether the peer is there
//! at all is for that network to judge.

use std::time::Duration;

use mpi_core::port::{PeerId, Sink, Why};

use super::peer::State;
use super::ways::{From, Limits};
use super::Udp;

/// Bytes of a link's in a datagram that goes through a tunnel.
pub(super) const TUNNEL_BYTES: usize = 8 << 10;

/// An answer may be due for so long before other ways are tried, for each rank that shares a processor.
const OTHERS_AFTER: Duration = Duration::from_millis(200);
/// Where ranks share processors, the tunnel comes after so many times that.
const TUNNEL_TURNS: u32 = 2;
/// The tunnel's part of the patience, which its network has once more.
const TUNNEL_SHARE: u32 = 4;

impl Udp {
    /// So many ranks share a processor.
    pub fn set_share(&mut self, ranks: u32) {
        self.share = ranks.max(1);
    }

    /// Whether datagrams may go through another network, whose frames have at most so many bytes.
    pub fn set_tunnel(&mut self, frame_bytes_max: usize) {
        self.tunnels = frame_bytes_max >= TUNNEL_BYTES;
    }

    /// How long an answer may be due. For a tunnel a connection has to be made, and who waits for a core is silent
    /// too, the longer the more ranks share it.
    pub(super) fn limits(&self) -> Limits {
        let others = OTHERS_AFTER * self.share;
        let tunnel =
            (self.config.udp.patience / TUNNEL_SHARE).max(TUNNEL_TURNS * (others - OTHERS_AFTER));
        Limits { others, tunnel: self.tunnels.then_some(tunnel) }
    }

    /// The next datagram that is to go through the other network, and for whom.
    pub fn letter(&self) -> Option<(PeerId, &[u8])> {
        self.letters.front().map(|(peer, letter)| (*peer, &letter[..]))
    }

    /// That network has taken it.
    pub fn letter_sent(&mut self) {
        self.letters.pop_front();
    }

    /// A datagram came through the other network.
    pub fn take_letter<S: Sink>(&mut self, peer: PeerId, bytes: &[u8], sink: &mut S) {
        let now = self.now();
        if self.peer(peer).is_some() {
            self.counters.received += 1;
            self.hear(peer, bytes, From::Tunnel, now, sink);
            self.answer_all();
        }
    }

    /// The other network can no longer reach a peer, and says why. `None` if this one has said so before;
    /// else what is to be said, and nothing goes to that peer any more.
    pub fn part(&mut self, peer: PeerId, why: Why) -> Option<Why> {
        let Some(to) = self.peers.get(peer) else { return Some(why) };
        if to.state != State::Up {
            return None;
        }
        let is_flushed = to.link.is_flushed();
        self.forget(peer);
        Some(match why {
            Why::Lost(how) if !is_flushed => Why::Undelivered { how, hint: None },
            why => why,
        })
    }
}
