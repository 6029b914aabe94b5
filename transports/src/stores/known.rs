//! What is known of the two ways in which bodies are stored, string moves and vector moves, by what the latter are and
//! by length: both are timed, and which is better is tried again now and then. What goes past the caches costs its
//! reader more as well, which is not seen by its writer: beside such vectors the string move need not even be as good
//! to be taken.
//!
//! In: what a body took. Out: how the next one goes.

use std::cell::RefCell;

use super::{Ground, LONG_BYTES};
use crate::trials::{Cost, Rivals};

/// Lengths are told apart by powers of four, from [`LONG_BYTES`] on.
const CLASSES: usize = 4;
/// String moves are light if 64 KiB take at most so many nanoseconds and nothing else is better: a line that a far
/// cache holds costs little more than one that is near then. (Zen 5, 64 KiB stored for a far reader by ordinary
/// vectors 7.9 µs, past the caches 1.3, so 1.4, and copied out by it in 1.8, 2.3 and 1.8; the kernel fetches as much
/// in 6.)
const LIGHT_NANOS: u64 = 2500;

/// What goes past the caches costs its reader, who fetches it from memory, one part in so many of what it costs its
/// writer. (Two bare processes, far, exchange 64 KiB in 4.0 µs by string moves and in 4.5 past the caches, though the
/// latter store them in 1.3, not in 1.4.)
const SPARED: u64 = 4;

/// A trial is void if the better way took more than so many times as long at one end of it as at the other. (By
/// vectors a body takes twice as long behind string moves.)
const STEADY: u64 = 4;

/// A trial is lost with its first body if that takes so many times as long as the better way, and the next one is put
/// off: what the caches hold for the other way makes no such difference. (Zen 3, 64 KiB for a near reader: the dearer
/// ways take up to eight times as long, and two bodies in every trial would be a quarter of the first hundred
/// calls' time.)
const LOST: u64 = 4;

/// What is known of the two ways for bodies of about one length.
#[derive(Clone, Copy)]
struct Known {
    /// By string moves is the one way.
    ways: Rivals,
    /// What the next body is for, in a trial.
    step: Option<Step>,
    /// The way that is tried: by string moves or not.
    tried: bool,
    /// What the other way took before, and that one; nanoseconds for 64 KiB.
    took: [u64; 2],
}

/// A trial of the dearer way. What comes after a body of the other way finds the caches as that leaves them, so the
/// second one counts. (Zen 1, a copy of 512 KiB after its like: by vectors 19 µs, by string moves, which leave nothing
/// of it in the caches, 42; each after the other 40 and 30.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// The first body that way.
    First,
    /// The second one.
    Second,
    /// One that goes the better way again, as one did before the first: between both nothing else may have changed.
    After,
}

/// The same for all lengths.
type OfLengths = [Known; CLASSES];

const NOTHING: OfLengths = [Known::new(); CLASSES];

/// What string moves are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beside {
    /// Vectors that go to shared memory through the caches.
    Caches,
    /// Vectors that go past them.
    Past,
    /// Vectors from one place of the program's own memory to another.
    Own,
    /// Vectors from shared memory to the program's own.
    Out,
}

const KINDS: usize = 4;

thread_local! {
    /// What this thread has found out, by what string moves are compared with: it is the processor's, whoever
    /// reads it.
    static KNOWN: RefCell<[OfLengths; KINDS]> = const { RefCell::new([NOTHING; KINDS]) };
}

/// Whether storing costs little, although lines are dear to fetch if it is for a reader whose caches are far; `None` as
/// long as that is not known.
#[cfg(not(test))]
pub(crate) fn is_light(is_far: bool) -> Option<bool> {
    KNOWN.with_borrow(|known| {
        let beside = Beside::shared(is_far);
        let known = &known[beside as usize];
        let is_judged = known.iter().any(|known| known.ways.is_judged());
        is_judged.then(|| known.iter().any(|known| known.is_light(beside)))
    })
}

/// Whether storing for a reader whose caches are far is known to cost little, be it by string moves or past the caches.
#[cfg(not(test))]
pub(crate) fn is_quick() -> bool {
    far_nanos().is_some_and(|nanos| nanos <= LIGHT_NANOS)
}

/// Nanoseconds that it takes at best to store 64 KiB for such a reader, if that is known.
#[cfg(not(test))]
pub(crate) fn far_nanos() -> Option<u64> {
    KNOWN.with_borrow(|known| {
        known[Beside::Past as usize].iter().filter_map(Known::best_nanos).min()
    })
}

/// Counts a body of `len` bytes; whether it is stored by string moves, and whether that is timed.
#[inline]
pub(super) fn choose(beside: Beside, len: usize, ground: Ground) -> (bool, bool) {
    let choose = |known: &mut Known| match ground {
        Ground::Known => known.choose(beside),
        Ground::New => (known.ways.is_judged() && known.is_string_better(beside), false),
    };
    KNOWN.with_borrow_mut(|known| choose(&mut known[beside as usize][class(len)]))
}

/// Says what it took to store a body of `len` bytes.
pub(super) fn learn(beside: Beside, by_string: bool, nanos: u64, len: usize) {
    KNOWN.with_borrow_mut(|known| {
        known[beside as usize][class(len)].learn(beside, by_string, nanos, len as u64);
    });
}

/// What is known of the two ways for bodies of `len` bytes.
#[cfg(test)]
pub(super) fn ways(beside: Beside, len: usize) -> Rivals {
    KNOWN.with_borrow(|known| known[beside as usize][class(len)].ways)
}

impl Beside {
    pub(super) fn shared(past: bool) -> Beside {
        if past { Beside::Past } else { Beside::Caches }
    }

    /// Whether string moves that cost so much are to be taken, where vectors cost that.
    fn prefers_string(self, string: u64, vector: u64) -> bool {
        string <= vector + self.spared(vector)
    }

    /// What the reader is spared by string moves, where vectors cost their writer so much.
    fn spared(self, vector: u64) -> u64 {
        match self {
            Beside::Past => vector / SPARED,
            Beside::Caches | Beside::Own | Beside::Out => 0,
        }
    }
}

/// The class of so many bytes.
fn class(len: usize) -> usize {
    ((len.max(LONG_BYTES) / LONG_BYTES).ilog2() as usize / 2).min(CLASSES - 1)
}

impl Known {
    const fn new() -> Known {
        Known { ways: Rivals::new(), step: None, tried: false, took: [0; 2] }
    }

    /// Counts a body; whether it is stored by string moves, and whether that is timed: as trials of the dearer
    /// way are.
    fn choose(&mut self, beside: Beside) -> (bool, bool) {
        if !self.ways.is_judged() {
            // One after the other, for the same reason; string moves last, since the first bodies meet new pages.
            return (self.ways.other.is_known(), true);
        }
        let (way, timed, next) = match self.step {
            Some(Step::First) => (self.tried, true, Some(Step::Second)),
            Some(Step::Second) => (self.tried, true, Some(Step::After)),
            Some(Step::After) => (!self.tried, true, None),
            None => {
                let better = self.is_string_better(beside);
                self.tried = !better;
                let tries = self.ways.choose(better) == self.tried;
                (better, tries, tries.then_some(Step::First))
            }
        };
        self.step = next;
        (way, timed)
    }

    /// Nanoseconds for 64 KiB by string moves and by vectors.
    fn nanos(&self) -> [u64; 2] {
        [self.ways.one, self.ways.other].map(|way| way.of(1 << 16))
    }

    /// Whether string moves are to be taken.
    fn is_string_better(&self, beside: Beside) -> bool {
        let [string, vector] = self.nanos();
        beside.prefers_string(string, vector)
    }

    fn is_light(&self, beside: Beside) -> bool {
        self.ways.is_judged() && self.is_string_better(beside) && self.nanos()[0] <= LIGHT_NANOS
    }

    /// Nanoseconds for 64 KiB by the better way.
    fn best_nanos(&self) -> Option<u64> {
        self.ways.is_judged().then(|| self.nanos().into_iter().min())?
    }

    /// The body that was chosen last took so long.
    fn learn(&mut self, beside: Beside, by_string: bool, nanos: u64, bytes: u64) {
        let took = (nanos << 16) / bytes.max(1);
        match self.step {
            _ if !self.ways.is_judged() => self.way(by_string).learn(nanos, bytes),
            Some(Step::First) => self.took[0] = took,
            Some(Step::Second) if took <= LOST.saturating_mul(self.took[0]) => {}
            Some(Step::Second) => self.lose(took),
            Some(Step::After) => self.took[1] = took,
            None => self.conclude(beside, took),
        }
    }

    /// Ends a trial whose first body took so long.
    fn lose(&mut self, tried: u64) {
        self.step = None;
        self.learn_both(self.took[0], tried);
        self.ways.put_off();
    }

    /// Learns from a trial, after which the better way takes so long.
    fn conclude(&mut self, beside: Beside, after: u64) {
        let [before, tried] = self.took;
        if before.max(after) > STEADY.saturating_mul(before.min(after)) {
            return;
        }
        self.learn_both(before, tried);
        let (string, vector) = if self.tried { (tried, before) } else { (before, tried) };
        if beside.prefers_string(string, vector) == self.tried {
            self.ways.doubt();
        }
    }

    /// The better way took so long, and the one that is tried so long.
    fn learn_both(&mut self, better: u64, tried: u64) {
        self.way(!self.tried).learn(better, 1 << 16);
        self.way(self.tried).learn(tried, 1 << 16);
    }

    fn way(&mut self, by_string: bool) -> &mut Cost {
        if by_string { &mut self.ways.one } else { &mut self.ways.other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_apart_by_powers_of_four() {
        let classes = [4096, 16_383, 16_384, 65_535, 65_536, 1 << 18, 1 << 24].map(class);
        assert_eq!(classes, [0, 0, 1, 1, 2, 3, 3]);
    }

    /// How many of so many bodies of 64 KiB go by string moves, where both ways take so long.
    fn by_string_of(known: &mut Known, bodies: usize, string: u64, vector: u64) -> usize {
        let one = |_: &usize| {
            let (by_string, timed) = known.choose(Beside::Caches);
            if timed {
                let nanos = if by_string { string } else { vector };
                known.learn(Beside::Caches, by_string, nanos, 1 << 16);
            }
            by_string
        };
        (0..bodies).filter(one).count()
    }

    #[test]
    fn the_better_way_is_taken_but_for_trials() {
        let known = &mut Known::new();
        assert_eq!(by_string_of(known, 6, 500, 1000), 3, "three of each at first");
        assert!(by_string_of(known, 1000, 500, 1000) > 970);
        by_string_of(known, 4000, 2000, 1000);
        assert!(by_string_of(known, 1000, 2000, 1000) < 30);
    }

    #[test]
    fn what_is_far_dearer_is_tried_by_few_bodies_and_still_found_out_when_it_changes() {
        for before in [100, 1000, 10_000] {
            let known = &mut Known::new();
            by_string_of(known, 6, 500, 4000);
            let tried = before - by_string_of(known, before, 500, 4000);
            assert!((1..=2 + before / 500).contains(&tried), "{tried} of {before} by vectors");
            by_string_of(known, 1200, 4000, 500);
            assert!(by_string_of(known, 1000, 4000, 500) < 10, "{before} bodies before");
        }
    }

    /// Times change under way: pages are known after the first rounds, and others make use of the caches. What is
    /// dearer at any moment is not taken for cheaper since it was tried at another one.
    #[test]
    fn what_was_learned_at_different_times_is_not_compared() {
        let mut known = Known::new();
        let mut body = |faults: u64| {
            let (by_string, timed) = known.choose(Beside::Caches);
            if timed {
                let nanos = if by_string { 1500 } else { 2000 } + faults;
                known.learn(Beside::Caches, by_string, nanos, 1 << 16);
            }
            by_string
        };
        // In waves of every length, each of which begins dear and ends cheap, and as suddenly the other way round.
        for wave in [20, 100, 150, 300, 700] {
            let dear = (0..wave).filter(|_| !body(9000)).count();
            let cheap = (0..wave).filter(|_| !body(0)).count();
            assert!(dear + cheap <= 12, "{dear} and {cheap} of {wave} by vectors");
        }
    }

    /// As the constants of [`Step`] have it: string moves took the judgement in as long as each vector move was timed
    /// behind them, and seemed cheaper themselves than they are one after the other.
    #[test]
    fn what_a_way_leaves_in_the_caches_is_held_against_no_other() {
        for begins_dear in [false, true] {
            let (mut known, mut last) = (Known::new(), true);
            let mut vectors = |bodies: usize, dear: bool| {
                let one = |_: &usize| {
                    let (by_string, timed) = known.choose(Beside::Own);
                    let nanos = match (by_string, last) {
                        (false, false) if dear => 60_000,
                        (false, false) => 19_000,
                        (false, true) => 40_000,
                        (true, false) => 30_000,
                        (true, true) => 42_000,
                    };
                    last = by_string;
                    if timed {
                        known.learn(Beside::Own, by_string, nanos, 1 << 16);
                    }
                    !by_string
                };
                (0..bodies).filter(one).count()
            };
            vectors(10, begins_dear);
            vectors(1000, false);
            assert!(vectors(1000, false) > 950);
        }
    }

    /// How many of so many bodies go by vectors, which cost 2000, beside string moves that seemed dear at first.
    fn by_vectors_of(beside: Beside, bodies: usize, string: u64) -> usize {
        let mut known = Known::new();
        let mut body = |string: u64| {
            let (by_string, timed) = known.choose(beside);
            if timed {
                let nanos = if by_string { string } else { 2000 };
                known.learn(beside, by_string, nanos, 1 << 16);
            }
            by_string
        };
        for _ in 0..6 {
            body(20_000);
        }
        (0..bodies).filter(|_| !body(string)).count()
    }

    #[test]
    fn a_wrong_judgement_does_not_last() {
        let wrong = by_vectors_of(Beside::Caches, 1000, 1500);
        assert!((32..100).contains(&wrong), "{wrong} of 1000 by vectors");
    }

    #[test]
    fn what_costs_readers_less_is_not_doubted_for_what_it_costs_the_writer() {
        let [once, twice] = [1000, 5000].map(|bodies| by_vectors_of(Beside::Past, bodies, 2200));
        assert!(twice - once < 10, "{once} by vectors, and then {twice}");
    }

    #[test]
    fn storing_is_light_if_it_is_quick_and_nothing_else_is_quicker() {
        let known = |string, vector, beside| {
            let mut known = Known::new();
            for _ in 0..3 {
                known.learn(beside, true, string, 1 << 16);
                known.learn(beside, false, vector, 1 << 16);
            }
            assert_eq!(known.best_nanos(), Some(string.min(vector)));
            known.is_light(beside)
        };
        let (quick, slow) = (LIGHT_NANOS, LIGHT_NANOS + 1);
        for beside in [Beside::Caches, Beside::Past] {
            assert!(known(quick, slow, beside) && known(quick, quick, beside));
            assert!(!known(slow, 2 * slow, beside) && !known(quick, quick / 2, beside));
            let nothing = Known::new();
            assert!(
                !nothing.is_light(beside) && nothing.best_nanos().is_none(),
                "nothing is known"
            );
        }
        assert!(known(1400, 1300, Beside::Past), "its reader is spared more");
        assert!(!known(1400, 1300, Beside::Caches));
    }
}
