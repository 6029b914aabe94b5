//! What is known of the two ways in which bodies are stored, string moves and vector moves, by what the latter are and
//! by length: both are timed, and which is better is tried again now and then. What goes past the caches costs its
//! reader more as well, which is not seen by its writer: beside such vectors the string move need not even be as good
//! to be taken.
//!
//! In: what a body took. Out: how the next one goes.

use std::cell::RefCell;

use super::{Ground, LONG_BYTES};
use crate::trials::Rivals;

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

/// What is known of the two ways for bodies of about one length.
#[derive(Clone, Copy)]
struct Known {
    /// By string moves is the one way.
    ways: Rivals,
    /// The dearer way has just been tried, and what comes next goes the other one, by string moves or not, so that
    /// both are known of about the same moment.
    answer: Option<bool>,
    /// What the trial took, until that has gone; nanoseconds for 64 KiB.
    trial: Option<u64>,
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
    /// Vectors from the program's own memory to where others go on with what they store.
    On,
}

const KINDS: usize = 5;

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
    KNOWN.with_borrow(|known| known[Beside::Past as usize].iter().any(Known::is_quick))
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
            Beside::Caches | Beside::Own | Beside::Out | Beside::On => 0,
        }
    }
}

/// The class of so many bytes.
fn class(len: usize) -> usize {
    ((len.max(LONG_BYTES) / LONG_BYTES).ilog2() as usize / 2).min(CLASSES - 1)
}

impl Known {
    const fn new() -> Known {
        Known { ways: Rivals::new(), answer: None, trial: None }
    }

    /// Counts a body; whether it is stored by string moves, and whether that is timed: as trials of the dearer
    /// way are, and what comes after each.
    fn choose(&mut self, beside: Beside) -> (bool, bool) {
        if let Some(by_string) = self.answer.take() {
            return (by_string, true);
        }
        if !self.ways.is_judged() {
            return (self.ways.is_one_next(), true);
        }
        let (better, tries) = (self.is_string_better(beside), self.ways.is_due());
        self.answer = tries.then_some(better);
        (self.ways.choose(better), tries)
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

    fn is_quick(&self) -> bool {
        self.ways.is_judged() && self.nanos().iter().any(|nanos| *nanos <= LIGHT_NANOS)
    }

    fn learn(&mut self, beside: Beside, by_string: bool, nanos: u64, bytes: u64) {
        let ways = &mut self.ways;
        if by_string { &mut ways.one } else { &mut ways.other }.learn(nanos, bytes);
        let took = (nanos << 16) / bytes.max(1);
        let Some(trial) = self.trial.take() else {
            self.trial = self.answer.map(|_| took);
            return;
        };
        let (string, vector) = if by_string { (took, trial) } else { (trial, took) };
        if beside.prefers_string(string, vector) != by_string {
            self.ways.doubt();
        }
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

    #[test]
    fn the_better_way_is_taken_but_for_trials() {
        let mut known = Known::new();
        let mut run = |bodies: usize, string: u64, vector: u64| {
            let one = |_: &usize| {
                let (by_string, timed) = known.choose(Beside::Caches);
                if timed {
                    known.learn(
                        Beside::Caches,
                        by_string,
                        if by_string { string } else { vector },
                        1 << 16,
                    );
                }
                by_string
            };
            (0..bodies).filter(one).count()
        };
        assert_eq!(run(6, 500, 1000), 3, "three of each at first");
        assert!(run(1000, 500, 1000) > 970);
        run(4000, 2000, 1000);
        assert!(run(1000, 2000, 1000) < 30);
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
            assert!(dear + cheap <= 6, "{dear} and {cheap} of {wave} by vectors");
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
            assert_eq!(known.is_quick(), string.min(vector) <= LIGHT_NANOS);
            known.is_light(beside)
        };
        let (quick, slow) = (LIGHT_NANOS, LIGHT_NANOS + 1);
        for beside in [Beside::Caches, Beside::Past] {
            assert!(known(quick, slow, beside) && known(quick, quick, beside));
            assert!(!known(slow, 2 * slow, beside) && !known(quick, quick / 2, beside));
            let nothing = Known::new();
            assert!(!nothing.is_light(beside) && !nothing.is_quick(), "nothing is known");
        }
        assert!(known(1400, 1300, Beside::Past), "its reader is spared more");
        assert!(!known(1400, 1300, Beside::Caches));
    }
}
