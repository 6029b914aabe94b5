//! Time for who asks at every turn: by the processor's counter, which the kernel's clock sets again and again.
//!
//! Where the kernel trusts the counter too, its clock costs little more. But on many virtual machines it asks a device
//! instead, and each question is a system call that takes as long as a short message does.
//!
//! In: a counter and the kernel's clock. Out: time since the beginning, which never goes back.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A count that grows with time and costs less than a look at anything else: its unit is that of the processor's
/// counter of time.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// A count that grows with time, in nanoseconds.
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// [`ticks`], where that costs less than the kernel's clock.
#[inline]
pub(crate) fn cheap_ticks() -> Option<u64> {
    cfg!(target_arch = "x86_64").then(ticks)
}

/// The kernel's clock is asked after so many ticks. A counter that jumps, since
/// the process is on another processor now, leads the time ahead by no more than that; one that stands still while the
/// process sleeps is not asked before the kernel ([`Clock::distrust`]).
const TRUSTED: u64 = 1 << 18;
/// Nanoseconds that a tick may take: whatever takes another time is no counter of time.
const PACES: std::ops::Range<f64> = 0.1..10.0;

/// A clock.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    set: Cell<Set>,
    /// The time that was told last.
    told: Cell<u64>,
}

/// How a clock was set.
#[derive(Clone, Copy, Default, Debug)]
struct Set {
    /// The kernel's time, in nanoseconds from the start, and the ticks at that time.
    at: u64,
    ticks: u64,
    /// Nanoseconds that a tick takes, if that is known.
    pace: Option<f64>,
}

impl Clock {
    /// A clock that begins at this time of the kernel's.
    pub(crate) fn new(start: Instant) -> Clock {
        Clock { start, set: Cell::default(), told: Cell::new(0) }
    }

    /// Time since the beginning. `ticks` is a count at this moment, if there is one that is cheap; `kernel` asks the
    /// kernel.
    #[inline]
    pub(crate) fn now(&self, ticks: Option<u64>, kernel: impl FnOnce() -> Instant) -> Duration {
        let set = self.set.get();
        let nanos = match (ticks.map(|ticks| ticks.wrapping_sub(set.ticks)), set.pace) {
            (Some(passed), Some(pace)) if passed < TRUSTED => {
                set.at + (passed as f64 * pace) as u64
            }
            _ => self.ask(ticks, kernel()),
        };
        // What it was ahead of the kernel is waited for.
        let nanos = nanos.max(self.told.get());
        self.told.set(nanos);
        Duration::from_nanos(nanos)
    }

    /// The process is about to sleep, and its counter may: the kernel is asked next.
    pub(crate) fn distrust(&self) {
        self.set.set(Set { pace: None, ..self.set.get() });
    }

    /// The kernel's time, by which the clock is set.
    #[cold]
    fn ask(&self, ticks: Option<u64>, kernel: Instant) -> u64 {
        let at = kernel.saturating_duration_since(self.start).as_nanos() as u64;
        let Some(ticks) = ticks else { return at };
        let set = self.set.get();
        let passed = ticks.wrapping_sub(set.ticks);
        // A pace is measured over as long as it is trusted, or longer.
        if set.ticks == 0 || passed >= TRUSTED {
            let pace = (at - set.at.min(at)) as f64 / passed as f64;
            let pace = Some(pace).filter(|pace| set.ticks != 0 && PACES.contains(pace));
            self.set.set(Set { at, ticks, pace });
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A kernel's clock and a counter, and how often the former was asked.
    struct Machine {
        start: Instant,
        nanos: u64,
        ticks: u64,
        asked: u32,
    }

    impl Machine {
        fn new() -> Machine {
            Machine { start: Instant::now(), nanos: 0, ticks: 1 << 60, asked: 0 }
        }

        fn read(&mut self, clock: &Clock) -> u64 {
            let (now, asked) = (self.start + Duration::from_nanos(self.nanos), &mut self.asked);
            let told = clock.now(Some(self.ticks), || {
                *asked += 1;
                now
            });
            told.as_nanos() as u64
        }

        fn pass(&mut self, nanos: u64, ticks: u64) {
            self.nanos += nanos;
            self.ticks = self.ticks.wrapping_add(ticks);
        }
    }

    #[test]
    fn the_kernel_is_asked_once_in_so_many_ticks() {
        let mut machine = Machine::new();
        let clock = Clock::new(machine.start);
        while machine.ticks - (1 << 60) <= TRUSTED {
            assert_eq!(machine.read(&clock), machine.nanos, "it is not known how fast ticks are");
            machine.pass(100, 260);
        }
        machine.asked = 0;
        for _ in 0..100_000 {
            let off = machine.read(&clock).abs_diff(machine.nanos);
            assert!(off <= 1, "{off} ns");
            machine.pass(100, 260);
        }
        assert!(u64::from(machine.asked) <= 1 + 100_000 * 260 / TRUSTED, "{}", machine.asked);
    }

    #[test]
    fn without_a_cheap_count_the_kernel_tells_the_time() {
        let start = Instant::now();
        let clock = Clock::new(start);
        for micros in 0..100 {
            let time = Duration::from_micros(micros);
            assert_eq!(clock.now(None, || start + time), time);
        }
    }

    proptest! {
        /// Whatever the counter does, time does not go back, and is ahead by no more than a span of trust at the
        /// slowest pace; behind a sleep it is right, or waited for.
        #[test]
        fn time_never_goes_back_nor_far_ahead(
            steps in prop::collection::vec((0u64..1 << 20, prop_oneof![0u64..1 << 20, any::<u64>()]), 1..300),
        ) {
            let mut machine = Machine::new();
            let clock = Clock::new(machine.start);
            let (mut last, most) = (0, TRUSTED * PACES.end as u64);
            for (nanos, ticks) in steps {
                machine.pass(nanos, ticks);
                let told = machine.read(&clock);
                prop_assert!(told >= last && told <= machine.nanos + most);
                last = told;
            }
            clock.distrust();
            machine.pass(most, 0);
            prop_assert_eq!(machine.read(&clock), machine.nanos.max(last));
        }
    }
}
