//! Whether pieces are better written past the caches or through them: both are timed to find out.
//!
//! In: lengths of pieces, and what they take. Out: how the next one goes.

use std::time::Instant;

/// Bytes from one piece that is timed to the next: four pieces of 64 KiB, and short ones are not for the clock's sake.
pub(crate) const BYTES_PER_LOOK: usize = 256 << 10;
/// So many pieces are timed until one goes the way that seems dearer: past the caches, or through them, where
/// whatever is near again loses more.
const LOOKS_THROUGH: u32 = 128;
const LOOKS_PAST: u32 = 16;

/// What a way took lately: nanoseconds for 64 KiB, smoothed.
#[derive(Clone, Copy, Default, Debug)]
struct Lately(Option<u64>);

/// What is known of the two ways.
#[derive(Debug, Default)]
pub(crate) struct Past {
    ordinary: Lately,
    past: Lately,
    /// Bytes until a piece is timed.
    until_look: usize,
    /// Pieces that will be timed until one goes the other way.
    until_trial: u32,
    /// The last piece went the other way, and so does the next one, which is timed: the first finds caches as the
    /// better way left them.
    is_trial: bool,
}

/// How a piece goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Course {
    past: bool,
    timed: bool,
}

impl Past {
    /// Nothing is known, and the first pieces, which may meet new pages, are to teach nothing.
    pub(crate) fn behind_new_pages() -> Past {
        Past { until_look: BYTES_PER_LOOK, ..Past::default() }
    }

    /// Whether what goes past the caches costs less, as far as is known.
    pub(crate) fn is_better(&self) -> bool {
        self.past.is_well_below(self.ordinary)
    }

    /// Has the next piece, of `len` bytes, written past the caches or not, as it is told.
    #[inline]
    pub(crate) fn write(&mut self, len: usize, write: impl FnOnce(bool)) {
        let Course { past, timed } = self.next(len);
        let begin = timed.then(Instant::now);
        write(past);
        if let Some(begin) = begin {
            self.learn(past, begin.elapsed().as_nanos() as u64, len);
        }
    }

    /// Whether both ways have been timed.
    pub(crate) fn is_judged(&self) -> bool {
        !self.ordinary.is_unknown() && !self.past.is_unknown()
    }

    /// Counts a piece of `len` bytes, and says how it goes.
    fn next(&mut self, len: usize) -> Course {
        let better = self.is_better();
        if std::mem::take(&mut self.is_trial) {
            return Course { past: !better, timed: true };
        }
        self.until_look = self.until_look.saturating_sub(len);
        if self.until_look > 0 {
            return Course { past: better, timed: false };
        }
        if !self.is_judged() {
            return Course { past: !self.ordinary.is_unknown(), timed: true };
        }
        self.until_look = BYTES_PER_LOOK;
        self.is_trial = self.until_trial == 0;
        self.until_trial = match self.until_trial {
            0 if better => LOOKS_PAST,
            0 => LOOKS_THROUGH,
            looks => looks - 1,
        };
        Course { past: better != self.is_trial, timed: !self.is_trial }
    }

    /// A piece of `len` bytes took so long. If pieces go past the caches from now on, that is doubted soon.
    fn learn(&mut self, past: bool, nanos: u64, len: usize) {
        if past { &mut self.past } else { &mut self.ordinary }.learn(nanos, len);
        if self.is_better() {
            self.until_trial = self.until_trial.min(LOOKS_PAST);
        }
    }
}

impl Lately {
    /// So many bytes have taken so long.
    fn learn(&mut self, nanos: u64, bytes: usize) {
        let now = (nanos << 16) / bytes as u64;
        self.0 = Some(match self.0 {
            // What is far off is an interrupt's time, of which nothing makes less.
            Some(before) if now > before => (3 * before + now.min(4 * before + 1000)) / 4,
            _ => now,
        });
    }

    /// Whether nothing has been learnt.
    fn is_unknown(self) -> bool {
        self.0.is_none()
    }

    /// Whether it is less than the other by enough to be no chance.
    fn is_well_below(self, other: Lately) -> bool {
        match (self.0, other.0) {
            (Some(this), Some(other)) => this + this / 8 < other,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 64 << 10;
    /// What both ways take to store as much for a near reader and for a far one, ordinary and past the caches.
    const NEAR: [u64; 2] = [2000, 4900];
    const FAR: [u64; 2] = [12_000, 4500];

    /// How many of so many pieces go past the caches, where the ways take so long.
    fn run(ways: &mut Past, pieces: usize, [ordinary, past]: [u64; 2]) -> usize {
        let one = |_: &usize| {
            let course = ways.next(LEN);
            if course.timed {
                ways.learn(course.past, if course.past { past } else { ordinary }, LEN);
            }
            course.past
        };
        (0..pieces).filter(one).count()
    }

    #[test]
    fn pieces_go_the_cheaper_way_but_for_few() {
        let mut ways = Past::default();
        assert_eq!(run(&mut ways, 2, NEAR), 1, "one of each at first");
        let past = run(&mut ways, 10_000, NEAR);
        assert!((10..=50).contains(&past), "{past}");
        let mut ways = Past::default();
        run(&mut ways, 2, FAR);
        let ordinary = 10_000 - run(&mut ways, 10_000, FAR);
        assert!((100..=320).contains(&ordinary), "{ordinary}");
    }

    #[test]
    fn the_machine_may_change_at_any_time() {
        for before in [3, 50, 500, 5000] {
            let mut ways = Past::default();
            run(&mut ways, before, NEAR);
            assert!(run(&mut ways, 200, FAR) > 170, "{before} pieces for a near reader");
            run(&mut ways, before, FAR);
            let past = run(&mut ways, 200, NEAR);
            assert!(past < 80, "{past} of 200 after {before} pieces for a far reader");
        }
    }

    #[test]
    fn an_interrupt_is_soon_got_over() {
        let mut ways = Past::default();
        run(&mut ways, 1000, NEAR);
        ways.learn(false, 1_000_000, LEN);
        assert!(run(&mut ways, 40, NEAR) <= 20);
        let mut ways = Past::default();
        run(&mut ways, 1000, FAR);
        ways.learn(true, 1_000_000, LEN);
        assert!(run(&mut ways, 40, FAR) >= 20);
    }

    #[test]
    fn short_pieces_are_not_timed_as_often() {
        let mut ways = Past::default();
        run(&mut ways, 2, NEAR);
        let timed = (0..6400).filter(|_| ways.next(4096).timed).count();
        assert!((95..=101).contains(&timed), "{timed}");
    }

    #[test]
    fn the_first_pieces_teach_nothing_where_pages_are_new() {
        let mut ways = Past::behind_new_pages();
        assert_eq!((0..3).filter(|_| ways.next(LEN).timed).count(), 0);
        assert_eq!(run(&mut ways, 2, FAR), 1);
        assert!(ways.is_judged() && ways.is_better());
    }

    #[test]
    fn a_cost_is_well_below_another_if_it_is_so_by_an_eighth() {
        let (mut one, mut other) = (Lately::default(), Lately::default());
        assert!(one.is_unknown() && !one.is_well_below(other));
        one.learn(2000, 32 << 10);
        assert!(!one.is_unknown() && !one.is_well_below(other));
        other.learn(950, 16 << 10);
        assert!(!other.is_well_below(one));
        other.learn(800, 16 << 10);
        assert!(other.is_well_below(one) && !one.is_well_below(other));
        other.learn(1 << 40, 16 << 10);
        assert!(!other.is_well_below(one));
    }
}
