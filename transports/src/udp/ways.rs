//! The ways to one peer: its addresses, the most promising first. One is in use until nothing is answered
//! by it for too long; then the next has its turn (fail-over between cables).
//!
//! In: how long an answer is due, and by which way datagrams of the peer come. Out: where to send. A rank
//! that computes answers by no way, so each move waits twice as long as the one before it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// An answer may be due for so long before another way is tried; twice as long after each try.
const PATIENCE: Duration = Duration::from_millis(200);
/// That doubles so often.
const DOUBLED_MAX: u32 = 5;

/// The ways to one peer.
#[derive(Default)]
pub(super) struct Ways {
    list: Box<[SocketAddr]>,
    /// The one in use.
    at: u32,
    /// Moves since something was answered, and when the last was.
    moves: u32,
    moved_at: Duration,
}

impl Ways {
    /// The ways by these addresses.
    pub(super) fn new(list: Vec<SocketAddr>) -> Ways {
        Ways { list: list.into(), ..Ways::default() }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Where to send.
    #[inline]
    pub(super) fn current(&self) -> Option<SocketAddr> {
        self.list.get(self.at as usize).copied()
    }

    /// Whether the best way is not the one in use.
    pub(super) fn is_second_best(&self) -> bool {
        self.at != 0
    }

    /// The best way: it is used again once it works.
    pub(super) fn best(&self) -> Option<SocketAddr> {
        self.list.first().copied()
    }

    /// The best way works again.
    pub(super) fn go_back(&mut self, now: Duration) {
        (self.at, self.moves, self.moved_at) = (0, 0, now);
    }

    /// Something was answered.
    #[inline]
    pub(super) fn answered(&mut self) {
        self.moves = 0;
    }

    /// An answer is due for so long. Whether that is too long and another way is in use now.
    pub(super) fn move_on(&mut self, silence: Duration, now: Duration) -> bool {
        let patience = PATIENCE * (1 << self.moves.min(DOUBLED_MAX));
        let waited = silence.min(now.saturating_sub(self.moved_at));
        if self.list.len() < 2 || waited < patience {
            return false;
        }
        self.turn(now);
        true
    }

    /// The kernel knows no way by the address in use.
    pub(super) fn turn(&mut self, now: Duration) {
        self.moves += 1;
        self.moved_at = now;
        self.at = (self.at + 1) % (self.list.len().max(1) as u32);
    }

    /// A new datagram of the peer came from this address. Whether it is one of another way, which is in
    /// use now: by that the peer is reached, as far as it can tell.
    pub(super) fn follow(&mut self, from: IpAddr, now: Duration) -> bool {
        let is_current = self.current().is_none_or(|way| way.ip() == from);
        let other = self.list.iter().position(|way| way.ip() == from);
        let Some(other) = other.filter(|_| !is_current) else { return false };
        (self.at, self.moved_at) = (other as u32, now);
        true
    }

    /// Whether a datagram from this address came by the way in use.
    #[inline]
    pub(super) fn is_current(&self, from: IpAddr) -> bool {
        self.current().is_some_and(|way| way.ip() == from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways() -> Ways {
        Ways::new(["10.0.0.1:7", "10.0.1.1:7"].map(|way| way.parse().unwrap()).into())
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn each_move_waits_twice_as_long() {
        let (mut ways, mut now, mut last) = (ways(), Duration::ZERO, Duration::ZERO);
        let mut waits = Vec::new();
        while waits.len() < 8 {
            now += MS;
            if ways.move_on(now, now) {
                waits.push((now - last).as_millis());
                last = now;
            }
        }
        assert_eq!(waits, [200, 400, 800, 1600, 3200, 6400, 6400, 6400]);
        ways.answered();
        assert!(!ways.move_on(199 * MS, now + 300 * MS));
        assert!(ways.move_on(200 * MS, now + 300 * MS));
    }

    #[test]
    fn the_peer_is_followed_and_strangers_are_not() {
        let mut ways = ways();
        let [second, nobody]: [IpAddr; 2] = ["10.0.1.1", "10.9.9.9"].map(|ip| ip.parse().unwrap());
        assert!(!ways.follow(nobody, MS));
        assert!(ways.follow(second, MS) && ways.is_second_best() && ways.is_current(second));
        assert!(!ways.follow(second, MS));
        ways.go_back(MS);
        assert!(!ways.is_second_best());
    }

    #[test]
    fn one_way_alone_is_kept() {
        let mut ways = Ways::new(vec!["10.0.0.1:7".parse().unwrap()]);
        assert!(!ways.move_on(Duration::from_secs(9), Duration::from_secs(9)));
        ways.turn(MS);
        assert!(ways.current().is_some());
    }
}
