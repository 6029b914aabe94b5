//! How often the network is looked at while shared memory delivers.
//!
//! A look at sockets is a call of the kernel and costs as much as several messages through shared
//! memory. So as long as those come, the network gets a look after an eighth of the time that it
//! has been silent, at most [`NETWORK_GAP_TICKS`]: what comes over it waits hardly longer than it is used
//! to, and a network that nobody uses costs next to nothing. As soon as some polls in a row find
//! nothing in shared memory, every poll looks: the network counts them, since they follow each other
//! where somebody waits, and looks at the sockets without news at some of them. Where the program
//! computes between two polls (`MPI_Test` now and then) the clock says which poll is to look at all.
//!
//! In: a number that changes when shared memory delivers, and the clock. Out: whether to look.

use mpi_core::tuning::{
    CLOCK_GAP_TICKS, EMPTY_POLLS_MOST, NETWORK_GAP_TICKS, WAITS_PER_CLOCK, WAITS_PER_CLOCK_MOST,
};

/// What a poll is to do about the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// Nothing.
    No,
    /// Poll it only if it has something to do beyond looking for news.
    IfRestless,
    /// What a poll of it does by itself.
    Yes,
    /// The same, and look at all sockets: the last time may be long ago.
    AtOnce,
    /// Look at all sockets, none of which counts as busy: the last time is long ago.
    Around,
}

/// When the network was looked at, and how long it has been silent.
#[derive(Default)]
pub(super) struct Pace {
    /// What shared memory had heard at the last poll.
    heard: u32,
    /// Polls since that changed.
    empty: u32,
    /// Polls until the clock is looked at, and how many there were between the last two times.
    left: u32,
    stride: u32,
    /// The same for polls that find nothing in a row.
    empty_left: u32,
    /// Something has moved on the network since the clock was last looked at.
    fresh: bool,
    /// When that was last so, when the clock was looked at, when the last look was, and the time to
    /// the next.
    news: u64,
    read: u64,
    looked: u64,
    gap: u64,
}

impl Pace {
    /// What this poll is to do.
    #[inline]
    pub(super) fn next(&mut self, heard: u32, clock: impl FnOnce() -> u64) -> Look {
        if heard != self.heard {
            self.heard = heard;
            self.empty = 0;
        } else if self.empty >= EMPTY_POLLS_MOST {
            return self.in_silence(clock);
        } else {
            self.empty += 1;
        }
        self.left = self.left.saturating_sub(1);
        if self.left > 0 && !self.fresh { Look::No } else { self.by_clock(clock()) }
    }

    /// What a poll does after others that found nothing.
    #[inline]
    fn in_silence(&mut self, clock: impl FnOnce() -> u64) -> Look {
        if self.empty_left > 0 {
            self.empty_left -= 1;
            return Look::Yes;
        }
        self.empty_left = WAITS_PER_CLOCK - 1;
        let now = clock();
        if now.wrapping_sub(self.looked) < NETWORK_GAP_TICKS {
            return Look::Yes;
        }
        self.looked = now;
        Look::AtOnce
    }

    #[inline(never)]
    fn by_clock(&mut self, now: u64) -> Look {
        if std::mem::take(&mut self.fresh) {
            self.news = now;
        } else if now.wrapping_sub(self.looked) < self.gap {
            let is_quick = now.wrapping_sub(self.read) < CLOCK_GAP_TICKS;
            let longer = if is_quick { self.stride * 2 } else { 0 };
            self.stride = longer.clamp(WAITS_PER_CLOCK, WAITS_PER_CLOCK_MOST);
            self.left = if self.gap == NETWORK_GAP_TICKS { self.stride } else { 0 };
            self.read = now;
            return Look::IfRestless;
        }
        (self.looked, self.read, self.left) = (now, now, 0);
        self.gap = (now.wrapping_sub(self.news) / 8).min(NETWORK_GAP_TICKS);
        if self.gap == NETWORK_GAP_TICKS { Look::Around } else { Look::Yes }
    }

    /// Something has moved on the network.
    #[inline]
    pub(super) fn note_news(&mut self) {
        self.fresh = true;
        self.note_pause();
    }

    /// The next poll may come late: who polled does not wait. It looks at the clock.
    #[inline]
    pub(super) fn note_pause(&mut self) {
        self.empty_left = 0;
    }

    /// Every poll looks until shared memory delivers again.
    pub(super) fn hurry(&mut self) {
        self.empty = EMPTY_POLLS_MOST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_due(look: Look) -> bool {
        matches!(look, Look::Yes | Look::AtOnce | Look::Around)
    }

    /// The time between two looks at the clock at most, where the gap is the longest.
    fn slack(step: u64) -> u64 {
        (u64::from(WAITS_PER_CLOCK) * step).max(2 * CLOCK_GAP_TICKS) + step
    }

    /// Polls each `step` ticks while shared memory delivers at each; the ticks between two looks.
    fn gaps(pace: &mut Pace, now: &mut u64, step: u64, polls: u32) -> Vec<u64> {
        let (mut gaps, mut last) = (Vec::new(), *now);
        for heard in 1..=polls {
            *now += step;
            if is_due(pace.next(heard, || *now)) {
                gaps.push(*now - last);
                last = *now;
            }
        }
        gaps
    }

    #[test]
    fn a_network_long_silent_is_looked_at_rarely_and_thoroughly() {
        const STEP: u64 = NETWORK_GAP_TICKS >> 6;
        let (mut pace, mut now) = (Pace::default(), 1 << 40);
        let gaps = gaps(&mut pace, &mut now, STEP, 10_000);
        let longest = NETWORK_GAP_TICKS + slack(STEP);
        assert!(
            gaps[1..].iter().all(|gap| (NETWORK_GAP_TICKS..=longest).contains(gap)),
            "{gaps:?}"
        );
        assert!(gaps.len() > 100);
        let around = (0..1000).map(|k| pace.next(k, || now + u64::from(k) * NETWORK_GAP_TICKS));
        assert!(around.into_iter().all(|look| look != Look::Yes));
    }

    #[test]
    fn polls_that_find_nothing_all_look_until_something_comes() {
        let mut pace = Pace::default();
        let now = 1 << 40;
        pace.next(1, || now);
        let looks: Vec<Look> = (0..20).map(|_| pace.next(1, || now + 1)).collect();
        assert!(!looks[..EMPTY_POLLS_MOST as usize].iter().any(|look| is_due(*look)), "{looks:?}");
        assert!(
            looks[EMPTY_POLLS_MOST as usize..].iter().all(|look| *look == Look::Yes),
            "{looks:?}"
        );
        assert!(!is_due(pace.next(2, || now + 2)));
        pace.hurry();
        assert_eq!(pace.next(2, || now + 3), Look::Yes);
    }

    #[test]
    fn polls_that_come_late_all_look_at_once() {
        let (mut pace, mut now) = (Pace::default(), 1 << 40);
        // They follow each other, which costs neither looks nor times of day.
        let mut clocks = 0;
        let mut spin = |pace: &mut Pace| {
            now += 1;
            pace.next(0, || {
                clocks += 1;
                now
            })
        };
        let looks: Vec<Look> = (0..1000).map(|_| spin(&mut pace)).collect();
        assert!(looks.iter().filter(|look| **look == Look::AtOnce).count() <= 1, "{looks:?}");
        assert!(clocks <= EMPTY_POLLS_MOST + 1000 / WAITS_PER_CLOCK + 1, "{clocks}");
        // The program computes between two calls that find nothing, or bring something.
        for turn in 0..100 {
            if turn % 2 == 0 {
                pace.note_pause()
            } else {
                pace.note_news()
            }
            now += NETWORK_GAP_TICKS;
            assert_eq!(pace.next(0, || now), Look::AtOnce);
        }
        // Nobody says so: still one of a few looks.
        let looks = (0..WAITS_PER_CLOCK)
            .map(|turn| pace.next(0, || now + NETWORK_GAP_TICKS + u64::from(turn)));
        assert_eq!(looks.filter(|look| *look == Look::AtOnce).count(), 1);
    }

    proptest! {
        /// What comes over the network waits for an eighth of the silence before it, and the time
        /// of a poll: or of a few, after a long silence.
        #[test]
        fn a_wait_is_short_beside_the_silence_before(step in 1u64..1 << 14, polls in 1u32..5000) {
            let (mut pace, mut now) = (Pace::default(), 1u64 << 40);
            gaps(&mut pace, &mut now, step, 100);
            pace.note_news();
            let begin = now;
            let mut last = now;
            for heard in 1..polls {
                now += step;
                if is_due(pace.next(heard, || now)) {
                    let silence = last - begin;
                    let slack = if silence / 8 >= NETWORK_GAP_TICKS { slack(step) } else { 2 * step };
                    let longest = (silence / 8).min(NETWORK_GAP_TICKS) + slack;
                    prop_assert!(now - last <= longest, "{} after {silence}", now - last);
                    last = now;
                }
            }
        }
    }
}
