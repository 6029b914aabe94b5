//! Which way is cheaper for a long message from a peer: across, from memory to memory, or through
//! buffers that both share.
//!
//! Across, a byte is moved once, by the kernel, and each end moves half of them; through a buffer it
//! is moved twice, once by each end. Which costs less is the machine's: where a line takes 20 ns from
//! one processor's cache to the other's, the kernel's price for finding pages decides for the buffer,
//! and where it takes 100 ns the second move is dearer (decision 61). Where the memory lies that the
//! program uses decides too. So the receiver times what it moves itself, for each length by powers of
//! two, is told by some cells how long the sender took for a piece, and now and then lets a message
//! come the way that seems dearer.
//!
//! In: lengths, and how long moves took. Out: the way, and what the peer is told.

use std::time::Instant;

use crate::trials::{CLASSES, Rivals, class};

/// Shorter messages are not worth a system call at each end.
pub(super) const ACROSS_BYTES: u64 = 32 << 10;
/// What a message that goes across costs besides, in nanoseconds: the announcement, the call for
/// help and the end of it go from one processor to the other.
const HANDSHAKE_NANOS: u64 = 500;
/// One in so many pieces that come through a buffer is timed: the clock takes 40 ns of some 1000.
const TIMED: u32 = 4;

/// What is known of the two ways from one peer.
#[derive(Debug)]
pub(super) struct Ways {
    /// Of messages by length, no shorter than [`ACROSS_BYTES`]: across is the one way.
    classes: [Rivals; CLASSES],
    pieces: u32,
}

/// Whether across is the way: the better one, or the one that less is known of.
fn prefers_across(class: &Rivals, len: u64) -> bool {
    let Rivals { one: across, other: through, .. } = class;
    match class.is_judged() {
        true => across.of(len / 2) + HANDSHAKE_NANOS <= through.of(len),
        false => !across.is_known(),
    }
}

/// Whether a peer that was told so much wants a message of `len` bytes announced.
#[inline]
pub(super) fn is_wanted(told: u64, len: u64) -> bool {
    len >= ACROSS_BYTES && told & 1 << class(len) == 0
}

impl Ways {
    /// Nothing is known.
    pub(super) fn new() -> Ways {
        Ways { classes: [Rivals::new(); CLASSES], pieces: 0 }
    }

    /// Whether the announced message of `len` bytes is to come across; counts it.
    pub(super) fn goes_across(&mut self, len: u64) -> bool {
        if len < ACROSS_BYTES {
            return false;
        }
        let class = &mut self.classes[class(len)];
        let better = prefers_across(class, len);
        class.choose(better)
    }

    /// Counts a message of `len` bytes that came without being announced; whether such messages are
    /// any concern here.
    #[inline]
    pub(super) fn count_eager(&mut self, len: u64) -> bool {
        let counts = len >= ACROSS_BYTES;
        if counts {
            self.classes[class(len)].pass();
        }
        counts
    }

    /// What the peer is told: a bit for each length that it need not announce. Nothing is told by 0,
    /// with which memory begins.
    pub(super) fn told(&self) -> u64 {
        let eager = |(at, class): (usize, &Rivals)| {
            let is_judged = class.is_judged() && !class.is_due();
            u64::from(is_judged && !prefers_across(class, ACROSS_BYTES << at)) << at
        };
        self.classes.iter().enumerate().map(eager).sum()
    }

    /// This end has moved `bytes` of a message of `len` bytes across, in so many nanoseconds.
    pub(super) fn learn_across(&mut self, len: u64, bytes: u64, nanos: u64) {
        if bytes > 0 {
            self.classes[class(len)].one.learn(nanos, bytes);
        }
    }

    /// This end begins to move a piece into a buffer, of a message of `len` bytes: since when, if that
    /// is to be timed.
    #[inline]
    pub(super) fn begin_piece(&mut self, len: u64) -> Option<Instant> {
        if len < ACROSS_BYTES {
            return None;
        }
        self.pieces = self.pieces.wrapping_add(1);
        self.pieces.is_multiple_of(TIMED).then(Instant::now)
    }

    /// This end has taken a piece of `bytes` out of a buffer, which it began at `begun` and the other
    /// end has put there in `theirs` nanoseconds, of a message of `len` bytes. Both work at the same
    /// time, so the slower one decides.
    #[inline]
    pub(super) fn end_piece(&mut self, begun: Option<Instant>, theirs: u64, len: u64, bytes: u64) {
        if let Some(begun) = begun.filter(|_| len >= ACROSS_BYTES) {
            let own = begun.elapsed().as_nanos() as u64;
            self.learn_through(len, bytes, own.max(theirs.min(u32::MAX.into())));
        }
    }

    fn learn_through(&mut self, len: u64, bytes: u64, nanos: u64) {
        if bytes > 0 {
            self.classes[class(len)].other.learn(nanos, bytes);
        }
    }
}

/// How long a piece took that was begun then, for the cell that tells of it; 0 if it was not timed.
#[inline]
pub(super) fn time_of(begun: Option<Instant>) -> u64 {
    begun.map_or(0, |begun| (begun.elapsed().as_nanos() as u64).max(1))
}

/// The clock, for a piece whose cell tells how long the other end took.
#[inline]
pub(super) fn timer(theirs: u64) -> Option<Instant> {
    (theirs > 0).then(Instant::now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trials::TRIAL_FIRST;

    const LEN: u64 = 64 << 10;

    /// Messages of one length at these prices a 64 KiB: which went across.
    fn run(ways: &mut Ways, messages: usize, across: u64, through: u64) -> Vec<bool> {
        let one = |_| {
            let goes = ways.goes_across(LEN);
            match goes {
                true => ways.learn_across(LEN, LEN / 2, across / 2),
                false => ways.learn_through(LEN, LEN / 4, through / 4),
            }
            goes
        };
        (0..messages).map(one).collect()
    }

    #[test]
    fn both_ways_are_tried_and_the_cheaper_one_is_taken() {
        for (across, through, expected) in [(6000, 7000, true), (6000, 2200, false)] {
            let mut ways = Ways::new();
            let first = run(&mut ways, 6, across, through);
            assert_eq!(first, [true, true, true, false, false, false]);
            let then = run(&mut ways, 10_000, across, through);
            let others = then.iter().filter(|goes| **goes != expected).count();
            assert!((5..20).contains(&others), "{others} trials");
            assert_eq!(is_wanted(ways.told(), LEN), expected);
        }
    }

    #[test]
    fn what_was_cheaper_once_is_found_out_when_it_changes() {
        let mut ways = Ways::new();
        run(&mut ways, 100, 6000, 2200);
        let later = run(&mut ways, 2000, 6000, 30_000);
        assert!(later[1900..].iter().filter(|across| !**across).count() <= 1);
        let later = run(&mut ways, 20_000, 6000, 2200);
        assert!(later[19_990..].iter().filter(|across| **across).count() <= 1);
    }

    #[test]
    fn eager_messages_bring_the_next_trial_nearer() {
        let mut ways = Ways::new();
        run(&mut ways, 6, 6000, 2200);
        assert!(!is_wanted(ways.told(), LEN));
        assert!((0..TRIAL_FIRST).all(|_| ways.count_eager(LEN)));
        assert!(is_wanted(ways.told(), LEN), "the trial is announced");
        assert!(ways.goes_across(LEN));
        assert!(!is_wanted(ways.told(), LEN) && !ways.goes_across(LEN));
    }

    #[test]
    fn short_messages_are_nobodys_concern_and_long_ones_are_of_one_kind() {
        let mut ways = Ways::new();
        assert!(
            !ways.goes_across(ACROSS_BYTES - 1) && ways.begin_piece(ACROSS_BYTES - 1).is_none()
        );
        assert!(!is_wanted(0, ACROSS_BYTES - 1) && is_wanted(0, ACROSS_BYTES));
        assert_eq!((class(0), class(LEN), class(4 << 20), class(u64::MAX)), (0, 1, 7, 7));
        ways.learn_through(u64::MAX, 0, 1);
        assert!(ways.goes_across(u64::MAX));
    }
}
