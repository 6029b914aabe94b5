//! Who moves a long message that its reader is shown, the reader alone or both ends a part of it each; and who reduces
//! what two show each other, both everything or each one half.
//!
//! Together they are never more than twice as quick, and have to meet for that, by system calls; and what the
//! writer puts into the reader's memory comes out of the reader's cache first. Two ranks of a Zen 4 move 64 KiB of a
//! broadcast in 5.2 µs together and in 1.6 alone, 1 MiB in 47 and 23, whether their caches are near or far; two
//! far ranks of a Xeon in 6.0 and 3.3, and in 47 and more than 100. Halves of a reduction are fetched from where they
//! have just been written, over lines that were fetched before: that Zen 4 needs 7 ns for each such line, 29 where
//! caches are far. So each reader finds out.
//!
//! In: how long what was moved took. Out: who moves what comes next.

use std::time::Duration;

use crate::trials::{CLASSES, Rivals, class};

/// One in so many is timed once both are known: the clock takes 60 ns of some 2000.
const TIMED: u32 = 4;

/// What is known of messages from one peer, by length: alone is the one way.
#[derive(Debug)]
pub(super) struct Movers {
    /// Of those that only the kernel reaches, and of those in memory that is mapped here.
    classes: [[Rivals; CLASSES]; 2],
    /// Of vectors that are reduced: everything is the one way.
    sums: [Rivals; CLASSES],
    fetches: u32,
}

impl Movers {
    /// Nothing is known.
    pub(super) fn new() -> Movers {
        Movers {
            classes: [[Rivals::new(); CLASSES]; 2],
            sums: [Rivals::new(); CLASSES],
            fetches: 0,
        }
    }

    fn class(&mut self, mapped: bool, len: u64) -> &mut Rivals {
        &mut self.classes[usize::from(mapped)][class(len)]
    }

    /// Whether the reader is to fetch the next message of `len` bytes alone.
    pub(super) fn is_alone(&mut self, mapped: bool, len: u64) -> bool {
        let rivals = self.class(mapped, len);
        is_one_better(rivals, len) != rivals.is_due()
    }

    /// The same; counts it, and whether it is to be timed.
    pub(super) fn choose(&mut self, mapped: bool, len: u64) -> (bool, bool) {
        self.fetches = self.fetches.wrapping_add(1);
        let is_timed = self.fetches.is_multiple_of(TIMED);
        let rivals = self.class(mapped, len);
        let is_timed = is_timed || rivals.is_due() || !rivals.is_judged();
        let better = is_one_better(rivals, len);
        (rivals.choose(better), is_timed)
    }

    /// One of `len` bytes took so long.
    pub(super) fn learn(&mut self, mapped: bool, alone: bool, len: u64, nanos: u64) {
        let Rivals { one, other, .. } = self.class(mapped, len);
        if alone { one } else { other }.learn(nanos, len);
    }

    /// Whether vectors of `len` bytes are to be reduced by halves; counts them. Both ends have to agree, and
    /// count the same ones.
    pub(super) fn divides(&mut self, len: u64) -> bool {
        let rivals = &mut self.sums[class(len)];
        let better = is_one_better(rivals, len);
        !rivals.choose(better)
    }

    /// Such took so long.
    pub(super) fn learn_sum(&mut self, halves: bool, len: u64, took: Duration) {
        let Rivals { one, other, .. } = &mut self.sums[class(len)];
        if halves { other } else { one }.learn(took.as_nanos() as u64, len);
    }
}

/// Whether the one way is quicker, or not known yet.
fn is_one_better(rivals: &Rivals, len: u64) -> bool {
    match rivals.is_judged() {
        true => rivals.one.of(len) <= rivals.other.of(len),
        false => !rivals.one.is_known(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 128 << 10;

    /// How many of so many messages the reader fetches alone, if they take so long alone and together.
    fn alone_of(movers: &mut Movers, messages: usize, alone: u64, both: u64) -> usize {
        let one = |_: &usize| {
            let expected = movers.is_alone(true, LEN);
            let (is_alone, timed) = movers.choose(true, LEN);
            assert_eq!(is_alone, expected);
            if timed {
                movers.learn(true, is_alone, LEN, if is_alone { alone } else { both });
            }
            is_alone
        };
        (0..messages).filter(one).count()
    }

    #[test]
    fn the_quicker_one_moves_most_and_what_changes_is_noticed() {
        let mut movers = Movers::new();
        assert_eq!(alone_of(&mut movers, 6, 3000, 7000), 3, "both are tried");
        assert!((980..1000).contains(&alone_of(&mut movers, 1000, 3000, 7000)));
        alone_of(&mut movers, 5000, 30_000, 7000);
        assert!(alone_of(&mut movers, 1000, 30_000, 7000) < 20);
        alone_of(&mut movers, 20_000, 3000, 7000);
        assert!(alone_of(&mut movers, 1000, 3000, 7000) > 980);
    }

    #[test]
    fn both_ends_of_a_reduction_try_halves_and_come_to_the_quicker_way() {
        let mut ends = [Movers::new(), Movers::new()];
        let mut reduce = |halves_take: u64| {
            let wanted = ends.each_mut().map(|movers| movers.divides(LEN));
            let halves = wanted == [true, true];
            let took = Duration::from_nanos(if halves { halves_take } else { 20_000 });
            ends.iter_mut().for_each(|movers| movers.learn_sum(halves, LEN, took));
            halves
        };
        assert_eq!((0..6).filter(|_| reduce(60_000)).count(), 3);
        assert!((0..1000).filter(|_| reduce(60_000)).count() < 20);
        assert!((0..20_000).filter(|_| reduce(10_000)).count() > 10_000);
        assert!((0..1000).filter(|_| reduce(10_000)).count() > 980);
    }

    #[test]
    fn what_is_mapped_and_what_is_not_are_told_apart_and_so_are_lengths() {
        let mut movers = Movers::new();
        alone_of(&mut movers, 6, 9000, 7000);
        assert!(!movers.is_alone(true, LEN));
        assert!(movers.is_alone(false, LEN) && movers.is_alone(true, 2 * LEN));
    }
}
