//! Whether the kernel moves bytes cheaply: where ranks share processors, that decides whether long messages
//! of boards are fetched out of their writers' memory (decision 62).
//!
//! There all moves are the processors' work. Through a ring a byte is copied twice, once at least from one
//! cache to another, and a writer with something for each copies one message after the other; fetched, it is
//! copied once, by all readers side by side, but the kernel has to find the pages. Within one cache 64 KiB
//! take 5.5 to 6.6 µs so and 4.4 in two copies on an Intel Xeon, where fetching is better by far, and 8 and
//! 3.3 on a Zen 4, where it is not.
//!
//! In: nothing. Out: the judgement, made once, when it is first asked for.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::sys::cma;

/// Bytes that are moved to find out.
const BYTES: usize = 64 << 10;
/// How often: the first time meets new pages, and any may be interrupted.
const TRIALS: u32 = 6;

/// What is known.
#[derive(Default)]
pub(super) struct Price {
    is_low: Option<bool>,
}

impl Price {
    /// What a test wants it to be.
    #[cfg(test)]
    pub(super) fn known(is_low: bool) -> Price {
        Price { is_low: Some(is_low) }
    }

    /// Whether fetching is worth its price.
    pub(super) fn is_low(&mut self) -> bool {
        *self.is_low.get_or_insert_with(|| {
            let Some((kernel, copies)) = measure() else { return false };
            tracing::info!(?kernel, ?copies, "{BYTES} bytes by the kernel, and in two copies");
            is_low(kernel, copies)
        })
    }
}

/// Whether the kernel takes at most twice as long as two copies.
fn is_low(kernel: Duration, copies: Duration) -> bool {
    kernel <= copies * 2
}

/// How long the kernel takes, and two copies; nothing if it refuses.
fn measure() -> Option<(Duration, Duration)> {
    let from = vec![1u8; BYTES];
    let (mut between, mut to) = (vec![0u8; BYTES], vec![0u8; BYTES]);
    let own = i32::try_from(std::process::id()).ok()?;
    let (mut kernel, mut copies) = (Duration::MAX, Duration::MAX);
    for _ in 0..TRIALS {
        let begin = Instant::now();
        // SAFETY: the memory has as many bytes.
        unsafe { cma::read_exact(own, from.as_ptr().addr() as u64, to.as_mut_ptr(), BYTES) }
            .ok()?;
        kernel = kernel.min(begin.elapsed());
        let begin = Instant::now();
        between.copy_from_slice(black_box(&from));
        to.copy_from_slice(black_box(&between));
        black_box(&to);
        copies = copies.min(begin.elapsed());
    }
    Some((kernel, copies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_copies_about_as_fast_as_a_program_is_cheap() {
        let us = |tenths: u64| Duration::from_nanos(100 * tenths);
        assert!(is_low(us(55), us(44)));
        assert!(!is_low(us(80), us(33)));
    }

    #[test]
    fn it_is_measured_once() {
        let mut price = Price::known(true);
        assert!(price.is_low());
        price = Price::default();
        assert_eq!(price.is_low(), price.is_low());
        assert!(price.is_low.is_some());
    }
}
