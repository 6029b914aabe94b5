//! Whether a peer's cache is near: which way of writing a buffer that it will read is cheaper.
//!
//! Processors that share a last-level cache take a line from each other in a few nanoseconds,
//! others in 30; the difference is the processors' and changes when the system moves a process.
//! So an ordinary copy is timed now and then, and a peer that proves far gets streamed ones.

use std::time::{Duration, Instant};

use crate::copy;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;

/// A line that takes longer than this to overwrite lies in a far cache. Measured here: 3 ns
/// near, 28 to 33 far.
const NEAR_LINE: Duration = Duration::from_nanos(10);
/// Copies from one trial to the next.
const COPIES_PER_TRIAL: u32 = 64;
/// Shorter copies are never streamed.
const LONG_BYTES: usize = 2048;
/// A trial on a peer believed far is at most this long.
const TRIAL_BYTES: usize = 8 << 10;

/// What is known of the way to one peer.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    is_far: bool,
    until_trial: u32,
}

/// How the next copy is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Plain,
    Streamed,
    Trial,
}

impl Reach {
    /// Copies all of `bytes` to `to`, where the peer will read them.
    ///
    /// # Safety
    /// As [`copy::streamed`].
    #[inline]
    pub(super) unsafe fn copy(&mut self, bytes: RawBytes<'_>, to: *mut u8) {
        let len = bytes.len();
        // SAFETY: by the caller's promise, all three.
        unsafe {
            match self.way(len) {
                Way::Plain => bytes.copy_to(to),
                Way::Streamed => copy::streamed(bytes, to),
                Way::Trial => self.judge(len, || bytes.copy_to(to)),
            }
        }
    }

    /// Copies up to `room` bytes of a message to `to`, and returns how many.
    ///
    /// # Safety
    /// As [`copy::pack_streamed`].
    pub(crate) unsafe fn pack(&mut self, source: &mut Packer, to: *mut u8, room: usize) -> usize {
        let len = source.remaining().min(room as u64) as usize;
        // SAFETY: by the caller's promise, all three.
        unsafe {
            match self.way(len) {
                Way::Streamed => copy::pack_streamed(source, to, room),
                Way::Trial if source.as_contiguous().is_some() => {
                    self.judge(len, || source.pack_into(to, room))
                }
                Way::Plain | Way::Trial => source.pack_into(to, room),
            }
        }
    }

    /// How a copy of `len` bytes is to be made.
    #[inline]
    fn way(&mut self, len: usize) -> Way {
        if len < LONG_BYTES {
            return Way::Plain;
        }
        self.until_trial = self.until_trial.saturating_sub(1);
        match (self.until_trial, self.is_far) {
            (0, false) => Way::Trial,
            (0, true) if len <= TRIAL_BYTES => Way::Trial,
            (_, true) => Way::Streamed,
            (_, false) => Way::Plain,
        }
    }

    /// Makes an ordinary copy of `len` bytes and sees how long it takes until all is written.
    #[cold]
    fn judge<T>(&mut self, len: usize, copy: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let answer = copy();
        copy::drain();
        self.learn(start.elapsed(), len);
        answer
    }

    fn learn(&mut self, took: Duration, len: usize) {
        self.is_far = took > NEAR_LINE * (len / 64) as u32;
        self.until_trial = COPIES_PER_TRIAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_peer_is_streamed_to_and_tried_again() {
        let mut reach = Reach::default();
        assert_eq!((reach.way(100), reach.way(4096)), (Way::Plain, Way::Trial));
        reach.learn(Duration::from_micros(2), 4096);
        let streamed = (0..1000).take_while(|_| reach.way(4096) == Way::Streamed).count();
        assert_eq!(streamed as u32, COPIES_PER_TRIAL - 1);
        assert_eq!(reach.way(TRIAL_BYTES + 1), Way::Streamed, "a long copy is no trial");
        reach.learn(Duration::from_nanos(200), 4096);
        let plain = (0..1000).take_while(|_| reach.way(1 << 20) == Way::Plain).count();
        assert_eq!(plain as u32, COPIES_PER_TRIAL - 1);
    }
}
