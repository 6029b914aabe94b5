//! The ways to one peer: its addresses, the most promising first, and at last a tunnel through another
//! network. One is in use until nothing is answered by it for too long; then the next has its turn
//! (fail-over). The best way is tried again now and then, and used again when it works.
//!
//! In: how long an answer is due, and by which way datagrams of the peer come. Out: where to send. A rank
//! that computes answers by no way, so each move waits twice as long as the one before it, and the tunnel,
//! for which a connection has to be made, has its turn last.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// An answer may be due for so long before another address is tried; twice as long after each try.
const PATIENCE: Duration = Duration::from_millis(200);
/// That doubles so often.
const DOUBLED_MAX: u32 = 5;
/// The best way is tried so often while another is in use.
const TRIAL_GAP: Duration = Duration::from_millis(250);
/// Who has sent something for so long in vain believes what comes by another way rather than the own choice.
const DOUBT: Duration = Duration::from_millis(100);

/// A way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Address(SocketAddr),
    Tunnel,
}

/// By what a datagram came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum From {
    Address(IpAddr),
    Tunnel,
}

/// The ways to one peer.
#[derive(Default)]
pub(super) struct Ways {
    list: Box<[SocketAddr]>,
    /// The one in use: behind all addresses, the tunnel.
    at: u32,
    /// Moves since something was answered, and when the last was.
    moves: u32,
    moved_at: Duration,
    /// When the best way was tried last.
    tried_at: Duration,
}

impl Ways {
    /// The ways by these addresses.
    pub(super) fn new(list: Vec<SocketAddr>) -> Ways {
        Ways { list: list.into(), ..Ways::default() }
    }

    /// Whether no address is known.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The way in use.
    #[inline]
    pub(super) fn current(&self) -> Option<Way> {
        match self.list.get(self.at as usize) {
            Some(address) => Some(Way::Address(*address)),
            None => (!self.list.is_empty()).then_some(Way::Tunnel),
        }
    }

    /// Whether the best way is not the one in use.
    #[inline]
    pub(super) fn is_second_best(&self) -> bool {
        self.at != 0
    }

    /// When the best way is to be tried, if it is not in use.
    pub(super) fn trial_at(&self) -> Option<Duration> {
        self.is_second_best().then(|| self.moved_at.max(self.tried_at) + TRIAL_GAP)
    }

    /// The best way is tried now: where that is.
    pub(super) fn begin_trial(&mut self, now: Duration) -> Option<SocketAddr> {
        self.tried_at = now;
        self.list.first().copied()
    }

    /// The best way works again.
    pub(super) fn go_back(&mut self, now: Duration) {
        (self.at, self.moves, self.moved_at) = (0, 0, now);
    }

    /// What is said of the way to a rank where that is not the best one.
    pub(super) fn tell(&self, rank: u32) -> Option<String> {
        let best = self.list.first().filter(|_| self.is_second_best())?.ip();
        let way = match self.current()? {
            Way::Address(way) => way.ip().to_string(),
            Way::Tunnel => "TCP".to_owned(),
        };
        Some(format!("rank {rank} by {way}, since {best} does not answer"))
    }

    /// Whether another way was taken since something was answered.
    #[inline]
    pub(super) fn is_unsettled(&self) -> bool {
        self.moves > 0
    }

    /// Whether this is not the way in use, or that is not the best one.
    #[inline]
    pub(super) fn is_other(&self, from: From) -> bool {
        let first = self.list.first().map(SocketAddr::ip);
        self.at != 0 || first.is_none_or(|first| from != From::Address(first))
    }

    /// Something was answered by the way in use.
    #[inline]
    pub(super) fn answered(&mut self) {
        self.moves = 0;
    }

    /// An answer is due for so long. Whether that is too long and another way is in use now: the tunnel, if
    /// there is one, after a time of its own.
    pub(super) fn move_on(
        &mut self,
        silence: Duration,
        now: Duration,
        tunnel: Option<Duration>,
    ) -> bool {
        let waited = silence.min(now.saturating_sub(self.moved_at));
        let count = self.list.len() as u32;
        let next = if tunnel.is_some_and(|after| silence >= after) {
            count
        } else if self.at < count {
            (self.at + 1) % count
        } else {
            // Whoever judges the tunnel tells when nobody is there.
            self.at
        };
        let patience = PATIENCE * (1 << self.moves.min(DOUBLED_MAX));
        let patience = tunnel.map_or(patience, |after| patience.min(after));
        if next == self.at || waited < patience {
            return false;
        }
        self.take(next, now);
        true
    }

    /// The kernel knows no way by the address in use: the next has its turn. Whether there is one.
    pub(super) fn skip(&mut self, now: Duration, has_tunnel: bool) -> bool {
        let count = self.list.len() as u32 + u32::from(has_tunnel);
        let next = (self.at + 1) % count.max(1);
        let is_other = next != self.at;
        self.take(next, now);
        is_other
    }

    fn take(&mut self, next: u32, now: Duration) {
        self.moves += 1;
        (self.at, self.moved_at) = (next, now);
    }

    /// The place of the way that a datagram came by.
    #[inline]
    fn place(&self, from: From) -> Option<u32> {
        match from {
            From::Address(ip) => {
                self.list.iter().position(|way| way.ip() == ip).map(|at| at as u32)
            }
            From::Tunnel => Some(self.list.len() as u32),
        }
    }

    /// A datagram came by this way that is newer than all others, with which the peer does not only try the
    /// way. Whether that way is in use now and was not before: the `senior` of the two chooses, and the other
    /// follows, as one does whose own choice is not answered.
    #[inline]
    pub(super) fn heard(
        &mut self,
        from: From,
        silence: Option<Duration>,
        is_senior: bool,
        now: Duration,
    ) -> bool {
        let Some(place) = self.place(from) else { return false };
        if place == self.at {
            return false;
        }
        if is_senior && silence.is_some_and(|silence| silence < DOUBT) {
            return false;
        }
        (self.at, self.moved_at) = (place, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways() -> Ways {
        Ways::new(["10.0.0.1:7", "10.0.1.1:7"].map(|way| way.parse().unwrap()).into())
    }

    const MS: Duration = Duration::from_millis(1);

    /// Milliseconds between the moves where nothing is ever answered.
    fn waits(mut ways: Ways, tunnel: Option<Duration>) -> (Vec<u128>, Ways) {
        let (mut now, mut last, mut waits) = (Duration::ZERO, Duration::ZERO, Vec::new());
        while now < 30_000 * MS {
            now += MS;
            if ways.move_on(now, now, tunnel) {
                waits.push((now - last).as_millis());
                last = now;
            }
        }
        (waits, ways)
    }

    #[test]
    fn each_move_waits_twice_as_long() {
        let (waits, mut ways) = waits(ways(), None);
        assert_eq!(waits, [200, 400, 800, 1600, 3200, 6400, 6400, 6400]);
        let now = 31_000 * MS;
        ways.answered();
        assert!(!ways.move_on(199 * MS, now, None));
        assert!(ways.move_on(200 * MS, now, None));
    }

    #[test]
    fn the_tunnel_comes_last_and_stays() {
        let (waits, ways) = waits(ways(), Some(2500 * MS));
        assert_eq!(waits, [200, 400, 800, 1600]);
        assert_eq!(ways.current(), Some(Way::Tunnel));
        let one = Ways::new(vec!["10.0.0.1:7".parse().unwrap()]);
        let (waits, ways) = self::waits(one, Some(2500 * MS));
        assert_eq!((waits, ways.current()), (vec![2500], Some(Way::Tunnel)));
    }

    #[test]
    fn one_way_alone_is_kept() {
        let (waits, mut ways) = waits(Ways::new(vec!["10.0.0.1:7".parse().unwrap()]), None);
        assert!(waits.is_empty() && !ways.skip(MS, false));
        assert!(matches!(ways.current(), Some(Way::Address(_))));
    }

    #[test]
    fn the_senior_is_followed_and_so_is_who_is_answered() {
        let from = From::Address("10.0.1.1".parse().unwrap());
        for (is_senior, silence, follows) in [
            (false, Some(MS), true),
            (false, None, true),
            (true, Some(MS), false),
            (true, Some(DOUBT), true),
            (true, None, true),
        ] {
            let mut ways = ways();
            assert_eq!(ways.heard(from, silence, is_senior, MS), follows);
            assert_eq!(ways.is_second_best(), follows);
            assert!(!ways.heard(From::Address("10.9.9.9".parse().unwrap()), None, false, MS));
            assert!(ways.heard(From::Tunnel, None, false, MS));
            assert_eq!(ways.current(), Some(Way::Tunnel));
        }
    }

    #[test]
    fn the_best_way_is_tried_while_another_is_in_use() {
        let mut ways = ways();
        assert_eq!(ways.trial_at(), None);
        assert!(ways.move_on(200 * MS, 200 * MS, None));
        assert_eq!(ways.trial_at(), Some(200 * MS + TRIAL_GAP));
        assert_eq!(ways.begin_trial(500 * MS), "10.0.0.1:7".parse().ok());
        assert_eq!(ways.trial_at(), Some(500 * MS + TRIAL_GAP));
        ways.go_back(600 * MS);
        assert_eq!((ways.trial_at(), ways.is_second_best()), (None, false));
    }
}
