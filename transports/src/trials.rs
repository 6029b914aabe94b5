//! Which of two ways of doing the same costs less here and now: both are timed, the better one is taken, and now
//! and then the other one, since what is better changes when the system moves a process.
//!
//! In: how long something took, by length. Out: which way it goes next.

/// Lengths are told apart by powers of two, from this one on and up to 4 MiB.
const FIRST_POWER: u32 = 15;
pub(crate) const CLASSES: usize = 8;
/// Measurements of a way before it is judged: the first may have met new pages.
const SAMPLES: u8 = 3;
/// Times from one trial of the dearer way to the next, at first and at most.
pub(crate) const TRIAL_FIRST: u16 = 32;
const TRIAL_MOST: u16 = 1024;
/// Times to the next one if the last has shown that the judgement may be wrong.
const TRIAL_SOON: u16 = 8;

/// The class of so many bytes; all shorter ones are in the first.
pub(crate) fn class(len: u64) -> usize {
    (len.max(1 << FIRST_POWER).ilog2() - FIRST_POWER).min(CLASSES as u32 - 1) as usize
}

/// What 64 KiB cost one way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    nanos: u32,
    samples: u8,
}

impl Cost {
    /// So many bytes took so many nanoseconds.
    pub(crate) fn learn(&mut self, nanos: u64, bytes: u64) {
        let now = ((nanos << 16) / bytes.max(1)).min(u32::MAX.into()) as u32;
        self.nanos = match self.samples {
            0 => now,
            1..SAMPLES => self.nanos.min(now),
            // Interrupts, faults and what else was in the caches only add to what a way costs.
            _ if now < self.nanos => self.nanos.midpoint(now),
            _ => (self.nanos / 4 * 3).saturating_add(now.min(self.nanos.saturating_mul(4)) / 4),
        };
        self.samples = self.samples.saturating_add(1);
    }

    pub(crate) fn is_known(self) -> bool {
        self.samples >= SAMPLES
    }

    /// Nanoseconds for so many bytes.
    pub(crate) fn of(self, bytes: u64) -> u64 {
        (u64::from(self.nanos) * bytes) >> 16
    }
}

/// Two ways for bytes of about one length, and when the dearer one is tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rivals {
    pub one: Cost,
    pub other: Cost,
    until_trial: u16,
    interval: u16,
}

impl Rivals {
    /// Nothing is known.
    pub(crate) const fn new() -> Rivals {
        let unknown = Cost { nanos: 0, samples: 0 };
        Rivals { one: unknown, other: unknown, until_trial: TRIAL_FIRST, interval: TRIAL_FIRST }
    }

    /// Whether enough is known of both.
    pub(crate) fn is_judged(&self) -> bool {
        self.one.is_known() && self.other.is_known()
    }

    /// Whether a trial of the dearer one is due.
    pub(crate) fn is_due(&self) -> bool {
        self.is_judged() && self.until_trial == 0
    }

    /// Whether to go the one way, which is the better one or is not; counts it.
    pub(crate) fn choose(&mut self, one_is_better: bool) -> bool {
        let tried = self.is_due();
        if tried {
            self.put_off();
        }
        if self.is_judged() {
            self.until_trial -= 1;
        }
        one_is_better != tried
    }

    /// The last trial went better than what is taken for the better way: the next one comes soon.
    pub(crate) fn doubt(&mut self) {
        self.interval = TRIAL_SOON;
        self.until_trial = TRIAL_SOON;
    }

    /// The next trial comes after twice as many as were waited for the last one.
    pub(crate) fn put_off(&mut self) {
        self.interval = (self.interval * 2).min(TRIAL_MOST);
        self.until_trial = self.interval;
    }

    /// Counts something of this length that went its way without a choice.
    pub(crate) fn pass(&mut self) {
        self.until_trial = self.until_trial.saturating_sub(1);
    }
}
