//! Whether a program waits by calls that do not wait: a loop of `MPI_Test`, `MPI_Iprobe` and their
//! like, which find nothing one after the other (MPI-5.0 §3.7.3, §3.8.1).
//!
//! In: when such a call found nothing. Out: whether it belongs to a loop. Between looks of a loop next
//! to nothing happens; a program that looks now and then while it computes needs its processor.

use mpi_core::tuning::LOOP_GAP_TICKS;

/// When a look last found nothing.
#[derive(Default)]
pub(super) struct Passing {
    last: u64,
}

impl Passing {
    /// A look found nothing at `now`; whether that goes on from the one before.
    #[inline]
    pub(super) fn is_loop(&mut self, now: u64) -> bool {
        now.wrapping_sub(std::mem::replace(&mut self.last, now)) < LOOP_GAP_TICKS
    }

    /// Others have had the processor until `now`, which counts for nothing.
    #[inline]
    pub(super) fn goes_on(&mut self, now: u64) {
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_follow_each_other_are_a_loop() {
        let mut passing = Passing::default();
        let begin = 1 << 40;
        assert!(!passing.is_loop(begin));
        assert!(passing.is_loop(begin + LOOP_GAP_TICKS - 1));
        // Others compute for long meanwhile.
        passing.goes_on(begin + 100 * LOOP_GAP_TICKS);
        assert!(passing.is_loop(begin + 100 * LOOP_GAP_TICKS + 1));
    }

    #[test]
    fn looks_between_pieces_of_work_are_none() {
        let mut passing = Passing::default();
        assert!((1..100).all(|n| !passing.is_loop((1 << 40) + n * LOOP_GAP_TICKS)));
    }
}
