//! The ways to one peer: its addresses, the most promising first, and at last a tunnel through another
//! network. When nothing is answered by the one in use for too long, others are tried, and one that answers
//! is used (fail-over). The best way is tried again now and then, and used again when it answers.
//!
//! In: how long an answer is due, which trial was answered, and by which way datagrams of the peer come.
//! Out: where to send, and what to try. Silence alone moves nothing: a rank that computes, or waits for a
//! core, answers by no way. The tunnel, for which a connection has to be made, is tried last.

use std::time::Duration;

use super::carrier::Address;

/// Between two trials passes so much time, or this part of the silence …
const TRIAL_GAP: Duration = Duration::from_millis(100);
const TRIAL_SHARE: u32 = 8;
/// … but not more than this: a rank that computes for long finds all of them in its buffer.
const TRIAL_GAP_MAX: Duration = Duration::from_secs(4);
/// Who has sent something for so long in vain believes what another way shows rather than the own choice.
const DOUBT: Duration = Duration::from_millis(100);

/// For how long an answer may be due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// Before other ways are tried.
    pub others: Duration,
    /// Before the tunnel is, if there is one.
    pub tunnel: Option<Duration>,
}

/// A way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route<A> {
    Address(A),
    Tunnel,
}

/// By what a datagram came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum From<S> {
    Address(S),
    Tunnel,
}

/// The ways to one peer.
pub(super) struct Routes<A> {
    list: Box<[A]>,
    /// The one in use: behind all addresses, the tunnel.
    at: u32,
    /// When another was last tried, and which while an answer is due.
    tried_at: Duration,
    tried: u32,
    /// The way by which the peer's newest datagram came.
    heard_by: u32,
}

impl<A> Default for Routes<A> {
    fn default() -> Routes<A> {
        Routes { list: Box::default(), at: 0, tried_at: Duration::ZERO, tried: 0, heard_by: 0 }
    }
}

impl<A: Address> Routes<A> {
    /// The ways by these addresses.
    pub(super) fn new(list: Vec<A>) -> Routes<A> {
        Routes { list: list.into(), ..Routes::default() }
    }

    /// Whether no address is known.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The way in use.
    #[inline]
    pub(super) fn current(&self) -> Option<Route<A>> {
        self.route(self.at)
    }

    fn route(&self, number: u32) -> Option<Route<A>> {
        match self.list.get(number as usize) {
            Some(address) => Some(Route::Address(*address)),
            None => (!self.list.is_empty()).then_some(Route::Tunnel),
        }
    }

    /// The number of the way that a datagram came by.
    #[inline]
    fn number(&self, from: From<A::Source>) -> Option<u32> {
        match from {
            From::Address(source) => {
                self.list.iter().position(|route| route.is_of(source)).map(|at| at as u32)
            }
            From::Tunnel => Some(self.list.len() as u32),
        }
    }

    /// Whether the way of this number is the one that a datagram came by.
    pub(super) fn is(&self, number: u8, from: From<A::Source>) -> bool {
        self.number(from) == Some(number.into())
    }

    /// The way by which a datagram came.
    pub(super) fn of(&self, from: From<A::Source>) -> Option<Route<A>> {
        self.number(from).and_then(|number| self.route(number))
    }

    /// Whether the best way is not the one in use.
    #[inline]
    pub(super) fn is_second_best(&self) -> bool {
        self.at != 0
    }

    /// Whether a datagram that came so may say something of the ways: it did not come by the best one, or
    /// that is not in use, or another one before did not, or others were tried.
    #[inline]
    pub(super) fn is_news(&self, from: From<A::Source>) -> bool {
        let is_best = match (self.list.first(), from) {
            (Some(best), From::Address(source)) => best.is_of(source),
            _ => false,
        };
        self.at | self.heard_by | self.tried != 0 || !is_best
    }

    /// What is said of the way to a rank where that is not the best one.
    pub(super) fn tell(&self, rank: u32) -> Option<String> {
        let best = self.list.first().filter(|_| self.is_second_best())?.name();
        let route = match self.current()? {
            Route::Address(route) => route.name(),
            Route::Tunnel => "TCP".to_owned(),
        };
        Some(format!("rank {rank} by {route}, since {best} does not answer"))
    }

    /// When another way is to be tried, where an answer by the one in use is due for so long.
    #[inline]
    pub(super) fn trial_at(
        &self,
        silence: Option<Duration>,
        now: Duration,
        limits: &Waits,
    ) -> Option<Duration> {
        let has_others = self.list.len() > 1 || limits.tunnel.is_some();
        let silence = silence.filter(|_| has_others);
        let gap = TRIAL_GAP.max(silence.unwrap_or_default() / TRIAL_SHARE).min(TRIAL_GAP_MAX);
        let next = self.tried_at + gap;
        match silence {
            _ if self.is_second_best() => Some(next),
            Some(silence) => Some(next.max((now + limits.others).saturating_sub(silence))),
            None => None,
        }
    }

    /// The way to try now: its number, and where it leads. While the one in use is silent all others have
    /// their turn, the tunnel after a time of its own; else the best one, if it is another.
    pub(super) fn next_trial(
        &mut self,
        silence: Option<Duration>,
        now: Duration,
        limits: &Waits,
    ) -> Option<(u8, Route<A>)> {
        if self.trial_at(silence, now, limits).is_none_or(|at| at > now) {
            return None;
        }
        self.tried_at = now;
        let silence = silence.unwrap_or_default();
        let has_tunnel = limits.tunnel.is_some_and(|after| silence >= after);
        let count = self.list.len() as u32 + u32::from(has_tunnel);
        let next = match silence < limits.others {
            true => 0,
            false => {
                (1..=count).map(|k| (self.tried + k) % count).find(|route| *route != self.at)?
            }
        };
        self.tried = next;
        Some((next as u8, self.route(next)?))
    }

    /// No answer is due by the way in use.
    pub(super) fn rest(&mut self) {
        self.tried = 0;
    }

    /// A trial of the way of this number was answered, while an answer by the one in use is due for so long.
    /// Whether it is in use from now on and was not before.
    pub(super) fn works(&mut self, number: u8, silence: Option<Duration>) -> bool {
        let number = u32::from(number);
        let is_dead = silence.is_some_and(|silence| silence >= DOUBT);
        let moves = number < self.at || number != self.at && is_dead;
        if moves {
            self.at = number;
        }
        moves
    }

    /// The kernel knows no way by the address in use: the next is. Whether there is one.
    pub(super) fn skip(&mut self, has_tunnel: bool) -> bool {
        let count = self.list.len() as u32 + u32::from(has_tunnel);
        let next = (self.at + 1) % count.max(1);
        std::mem::replace(&mut self.at, next) != next
    }

    /// A datagram came so that is newer than all others, with which the peer does not only try the way.
    /// Whether that way is in use now and was not before. A peer is followed only when it takes another way,
    /// since its old one may work in its direction alone, or when it `asks` one who awaits nothing and so does
    /// not find out that answers are lost: the `senior` of the two chooses, and the other
    /// follows, as one does whose own choice is not answered.
    pub(super) fn heard(
        &mut self,
        from: From<A::Source>,
        silence: Option<Duration>,
        is_senior: bool,
        asks: bool,
    ) -> bool {
        let Some(number) = self.number(from) else { return false };
        let is_sure = is_senior && silence.is_some_and(|silence| silence < DOUBT);
        if number != self.at && is_sure {
            return false;
        }
        let stays = std::mem::replace(&mut self.heard_by, number) == number;
        let misses_answers = asks && silence.is_none();
        if number == self.at || stays && !misses_answers {
            return false;
        }
        self.at = number;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn routes() -> Routes<SocketAddr> {
        Routes::new(["10.0.0.1:7", "10.0.1.1:7"].map(|route| route.parse().unwrap()).into())
    }

    const MS: Duration = Duration::from_millis(1);
    const ALONE: Waits = Waits { others: Duration::from_millis(200), tunnel: None };
    const TUNNEL: Waits = Waits { tunnel: Some(Duration::from_millis(2500)), ..ALONE };

    /// Numbers of the ways tried where nothing is ever answered, and when.
    fn trials(routes: &mut Routes<SocketAddr>, limits: &Waits) -> Vec<(u64, u8)> {
        let (mut now, mut all) = (Duration::ZERO, Vec::new());
        while now < 60_000 * MS {
            now += MS;
            let due = routes.trial_at(Some(now), now, limits).is_some_and(|at| at <= now);
            let trial = routes.next_trial(Some(now), now, limits);
            assert!(due || trial.is_none());
            all.extend(trial.map(|(number, _)| (now.as_millis() as u64, number)));
        }
        all
    }

    #[test]
    fn others_are_tried_while_one_is_silent_the_tunnel_last_and_all_ever_less() {
        let mut routes = routes();
        let all = trials(&mut routes, &TUNNEL);
        assert_eq!(all[0], (200, 1));
        assert!(all.iter().all(|(at, number)| *number == 1 || *number == 2 && *at >= 2500));
        assert!(all.iter().any(|(_, number)| *number == 2));
        let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(gaps.is_sorted() && gaps.last() == Some(&4000), "{gaps:?}");
        assert!(!routes.is_second_best(), "silence alone moves nothing");
    }

    #[test]
    fn what_answers_is_used_if_the_one_in_use_does_not() {
        let mut routes = routes();
        assert!(!routes.works(1, None) && !routes.works(1, Some(DOUBT - MS)));
        assert!(routes.works(1, Some(DOUBT)) && routes.is_second_best());
        // Now the best one is tried, though the other one works.
        assert_eq!(routes.trial_at(None, 500 * MS, &ALONE), Some(TRIAL_GAP));
        assert_eq!(routes.next_trial(None, 500 * MS, &ALONE).map(|(number, _)| number), Some(0));
        assert_eq!(routes.next_trial(None, 501 * MS, &ALONE), None);
        assert!(routes.works(0, None) && !routes.is_second_best());
        assert_eq!(routes.trial_at(None, 900 * MS, &TUNNEL), None);
    }

    #[test]
    fn one_route_alone_is_kept() {
        let mut routes = Routes::<SocketAddr>::new(vec!["10.0.0.1:7".parse().unwrap()]);
        assert!(trials(&mut routes, &ALONE).is_empty() && !routes.skip(false));
        assert!(matches!(routes.current(), Some(Route::Address(_))));
        let mut routes = Routes::<SocketAddr>::new(vec!["10.0.0.1:7".parse().unwrap()]);
        let all = trials(&mut routes, &TUNNEL);
        assert!(!all.is_empty() && all.iter().all(|(at, number)| *number == 1 && *at >= 2500));
        assert!(routes.skip(true) && routes.current() == Some(Route::Tunnel));
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
            let mut routes = routes();
            assert_eq!(routes.heard(from, silence, is_senior, false), follows);
            assert_eq!(routes.is_second_best(), follows);
            let nowhere = From::Address("10.9.9.9".parse().unwrap());
            assert!(!routes.heard(nowhere, None, false, false));
            // Who stays where it was is not followed, unless it asks.
            routes.heard(from, None, false, false);
            routes.at = 0;
            assert!(
                !routes.heard(from, None, false, false)
                    && !routes.heard(from, Some(MS), false, true)
            );
            assert!(routes.heard(from, None, false, true) && routes.is_second_best());
            assert!(routes.heard(From::Tunnel, None, false, false));
            assert_eq!(routes.current(), Some(Route::Tunnel));
        }
    }
}
