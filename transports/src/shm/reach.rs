//! Whether a peer's cache is near: which way of writing a buffer that it will read is cheaper.
//!
//! Processors that share a last-level cache take a line from each other in a few nanoseconds,
//! others in 30; the difference is the processors' and changes when the system moves a process.
//! So ordinary copies are timed, and a peer that proves far gets streamed ones, with an ordinary
//! one now and then to see whether it came nearer.

use std::time::{Duration, Instant};

use super::stream;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;

/// A line that takes longer than this to overwrite lies in a far cache. Measured here: 3 ns
/// near, 28 to 33 far.
const NEAR_LINE: Duration = Duration::from_nanos(10);
/// Streamed copies from one trial of an ordinary one to the next.
const STREAMED_PER_TRIAL: u32 = 64;
/// Shorter copies are not worth a look at the clock, and never streamed.
const TIMED_BYTES: usize = 2048;
/// What is tried on a peer believed far is at most this long.
const TRIAL_BYTES: usize = 8 << 10;

/// What is known of the way to one peer.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Streamed copies left until the next trial; 0 while the peer is near.
    streamed: u32,
}

impl Reach {
    /// Copies all of `bytes` to `to`, where the peer will read them.
    ///
    /// # Safety
    /// As [`stream::copy`].
    #[inline]
    pub(super) unsafe fn copy(&mut self, bytes: RawBytes<'_>, to: *mut u8) {
        let len = bytes.len();
        if len < TIMED_BYTES {
            // SAFETY: by the caller's promise.
            unsafe { bytes.copy_to(to) }
        } else if self.streams(len) {
            // SAFETY: by the caller's promise.
            unsafe { stream::copy(bytes, to) }
        } else {
            let start = Instant::now();
            // SAFETY: by the caller's promise.
            unsafe { stream::plain(bytes, to) };
            self.judge(start.elapsed(), len);
        }
    }

    /// Copies up to `room` bytes of a message to `to`, and returns how many.
    ///
    /// # Safety
    /// As [`stream::pack`].
    pub(super) unsafe fn pack(&mut self, source: &mut Packer, to: *mut u8, room: usize) -> usize {
        let len = source.remaining().min(room as u64) as usize;
        if len < TIMED_BYTES || source.as_contiguous().is_none() || self.streams(len) {
            // SAFETY: by the caller's promise.
            return unsafe { stream::pack(source, to, room) };
        }
        let start = Instant::now();
        // SAFETY: by the caller's promise.
        let n = unsafe { stream::pack_plain(source, to, room) };
        self.judge(start.elapsed(), n);
        n
    }

    /// Whether the next copy, of `len` bytes, is to be streamed.
    fn streams(&mut self, len: usize) -> bool {
        match self.streamed {
            0 => false,
            1 if len <= TRIAL_BYTES => false,
            1 => true,
            _ => {
                self.streamed -= 1;
                true
            }
        }
    }

    fn judge(&mut self, took: Duration, len: usize) {
        let is_far = took > NEAR_LINE * (len / 64) as u32;
        self.streamed = if is_far { STREAMED_PER_TRIAL } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_peer_is_streamed_to_and_tried_again() {
        let mut reach = Reach::default();
        assert!(!reach.streams(4096));
        reach.judge(Duration::from_micros(2), 4096);
        let streamed = (0..1000).take_while(|_| reach.streams(4096)).count();
        assert_eq!(streamed as u32, STREAMED_PER_TRIAL - 1);
        assert!(reach.streams(TRIAL_BYTES + 1), "a long copy is no trial");
        reach.judge(Duration::from_nanos(200), 4096);
        assert!(!reach.streams(4096) && !reach.streams(1 << 20));
    }
}
