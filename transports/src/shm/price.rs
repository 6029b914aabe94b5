//! Whether the kernel moves bytes cheaply: where ranks share processors, and where two exchange more than their caches
//! hold, that decides whether long messages of boards are fetched out of their writers' memory (decisions 62, 81).
//!
//! There all moves are the processors' work. Through a ring a byte is copied twice, once at least from one
//! cache to another, and a writer with something for each copies one message after the other; fetched, it is
//! copied once, by all readers side by side, but the kernel has to find the pages. Within one cache 64 KiB
//! take 5.5 to 6.6 µs so and 4.4 in two copies on an Intel Xeon, and 8 and 3.3 on a Zen 4. Where everybody writes
//! to everybody fetching is better by far on the former and not on the latter; what one writes to each is fetched
//! sooner on both.
//!
//! In: nothing. Out: the judgement, measured once, when it is first asked for.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mpi_core::buffer::RawBytes;
use mpi_core::room::Room;

use crate::sys::cma;

/// Bytes that are moved to find out.
const BYTES: usize = 64 << 10;
/// How often: the first time meets new pages, and any may be interrupted.
const TRIALS: u32 = 3;

/// How many times as long as two copies the kernel may take where all processors are busy moving, and where it
/// lets others help one that writes alone.
const LOW: u32 = 2;
const BEARABLE: u32 = 4;

/// How much of what the kernel takes storing may take where far readers are stored for. Past the caches and by the
/// kernel, 64 KiB: Zen 1 2.4 to 3.8 µs and 6.5 to 14, and the ring takes half the time; Zen 5 1.3 and 6, the same; Xeon
/// 4.8 and 6, and the ring is as good or worse.
const STORED: (u128, u128) = (2, 3);

/// What is known: how long the kernel takes, and two copies.
#[derive(Default)]
pub(super) struct Price {
    measured: Option<(Duration, Duration)>,
}

impl Price {
    /// What a test wants it to be, in times of two copies.
    #[cfg(test)]
    pub(super) fn known(times: u32) -> Price {
        let copies = Duration::from_micros(1);
        Price { measured: Some((copies * times, copies)) }
    }

    /// Whether fetching is worth its price where everybody writes.
    pub(super) fn is_low(&mut self) -> bool {
        self.is_at_most(LOW)
    }

    /// Whether it is where one writes alone.
    pub(super) fn is_bearable(&mut self) -> bool {
        self.is_at_most(BEARABLE)
    }

    /// Whether bytes are better stored for a far reader, 64 KiB in so many nanoseconds, than fetched by it, if it
    /// copies them out while the next ones are stored.
    pub(super) fn is_above_storing(&mut self, nanos: u64) -> bool {
        let (kernel, _) = self.measured();
        u128::from(nanos) * STORED.1 <= kernel.as_nanos() * STORED.0
    }

    fn is_at_most(&mut self, times: u32) -> bool {
        let (kernel, copies) = self.measured();
        kernel <= copies * times
    }

    fn measured(&mut self) -> (Duration, Duration) {
        *self.measured.get_or_insert_with(|| {
            let refused = (Duration::MAX, Duration::ZERO);
            let (kernel, copies) = measure().unwrap_or(refused);
            tracing::info!(?kernel, ?copies, "{BYTES} bytes by the kernel, and in two copies");
            (kernel, copies)
        })
    }
}

/// How long the kernel takes, and two copies; nothing if it refuses.
fn measure() -> Option<(Duration, Duration)> {
    let (mut from, mut between, mut to) = (Room::default(), Room::default(), Room::default());
    let [from, between, to] = [&mut from, &mut between, &mut to].map(|room| room.of(BYTES));
    let own = i32::try_from(std::process::id()).ok()?;
    let (mut kernel, mut copies) = (Duration::MAX, Duration::MAX);
    for _ in 0..TRIALS {
        let begin = Instant::now();
        // SAFETY: the memory has as many bytes.
        unsafe { cma::read_exact(own, from.addr() as u64, to, BYTES) }.ok()?;
        kernel = kernel.min(begin.elapsed());
        let begin = Instant::now();
        // SAFETY: as above.
        unsafe {
            RawBytes::new(black_box(from), BYTES).copy_to(between);
            RawBytes::new(black_box(between), BYTES).copy_to(black_box(to));
        }
        copies = copies.min(begin.elapsed());
    }
    Some((kernel, copies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_alone_bears_a_higher_price() {
        let verdicts = |times| (Price::known(times).is_low(), Price::known(times).is_bearable());
        assert_eq!([1, 3, 9].map(verdicts), [(true, true), (false, true), (false, false)]);
    }

    #[test]
    fn storing_is_better_if_it_is_quick_beside_the_kernel() {
        let is_above = |nanos| Price::known(6).is_above_storing(nanos);
        assert_eq!([0, 4000, 4001, u64::MAX].map(is_above), [true, true, false, false]);
    }

    #[test]
    fn it_is_measured_once() {
        let mut price = Price::default();
        assert_eq!(price.is_low(), price.is_low());
        assert!(price.measured.is_some() && (!price.is_low() || price.is_bearable()));
    }
}
