//! Whether a peer's cache is near: which way of writing a buffer that it will read is cheaper.
//!
//! Processors that share a last-level cache take a line from each other in a few nanoseconds,
//! others in 30; the difference is the processors' and changes when the system moves a process.
//! So an ordinary copy is timed now and then, and a peer that proves far gets streamed ones.

use std::time::{Duration, Instant};

use crate::copy;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;

/// A line that takes longer than this to overwrite lies in a far cache, the clock's and the
/// fence's own time included. Measured here, the mean of a trial: near half of them below 4 to
/// 9 ns and nine tenths below 15, far half of them above 24 to 30.
const NEAR_LINE: Duration = Duration::from_nanos(18);
/// The longest that a part counts for: a page touched for the first time, or an interrupt,
/// delays one of them.
const PART_MOST: Duration = Duration::from_nanos(500);
/// Copies from one trial to the next: a trial costs about a microsecond, and a process that is
/// moved is found out within a few megabytes.
const COPIES_PER_TRIAL: u32 = 256;
/// The same while the trials do not agree.
const COPIES_IN_DOUBT: u32 = 16;
/// Trials by which one verdict must lead to be believed. One in fifty errs.
const LEAD: i8 = 2;
/// Shorter copies are never streamed, and never a trial.
const LONG_BYTES: usize = TRIAL_BYTES;
/// A trial is made of so many parts.
const TRIAL_PARTS: usize = 4;
/// Bytes of a part.
const PART_BYTES: usize = 1024;
/// Bytes of a trial.
const TRIAL_BYTES: usize = TRIAL_PARTS * PART_BYTES;

/// What is known of the way to one peer.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    is_far: bool,
    /// By how many trials far leads, or near if negative; at most [`LEAD`].
    lead: i8,
    until_trial: u32,
}

impl Reach {
    /// Copies all of `bytes` to `to`, where the peer will read them.
    ///
    /// # Safety
    /// As [`copy::streamed`].
    #[inline]
    pub(super) unsafe fn copy(&mut self, mut bytes: RawBytes<'_>, mut to: *mut u8) {
        if self.is_trial_due(bytes.len()) {
            // SAFETY: by the caller's promise; the parts are within what is long.
            unsafe {
                self.judge(to, |tile| bytes.take(PART_BYTES).copy_to(tile));
            }
            to = to.wrapping_add(TRIAL_BYTES);
        }
        // SAFETY: by the caller's promise, both; parts are whole lines.
        unsafe {
            if self.is_far && bytes.len() >= LONG_BYTES {
                copy::streamed(bytes, to);
            } else {
                bytes.copy_to(to);
            }
        }
    }

    /// Copies up to `room` bytes of a message to `to`, and returns how many.
    ///
    /// # Safety
    /// As [`copy::pack_streamed`].
    pub(crate) unsafe fn pack(&mut self, source: &mut Packer, to: *mut u8, room: usize) -> usize {
        let len = source.remaining().min(room as u64) as usize;
        let mut done = 0;
        if self.is_trial_due(len) {
            // SAFETY: by the caller's promise; the parts are within what is long.
            unsafe {
                self.judge(to, |tile| {
                    source.pack_into(tile, PART_BYTES);
                });
            }
            done = TRIAL_BYTES;
        }
        // SAFETY: by the caller's promise, both; parts are whole lines.
        done + unsafe {
            let (to, room) = (to.wrapping_add(done), room - done);
            if self.is_far && len >= LONG_BYTES {
                copy::pack_streamed(source, to, room)
            } else {
                source.pack_into(to, room)
            }
        }
    }

    /// Whether a copy of `len` bytes is to be timed.
    #[inline]
    fn is_trial_due(&mut self, len: usize) -> bool {
        if len < LONG_BYTES {
            return false;
        }
        self.until_trial = self.until_trial.saturating_sub(1);
        self.until_trial == 0
    }

    /// Copies the first parts of a message to `to` the ordinary way, and sees how long each
    /// takes until all is written. `fill` brings the next part into the nearest cache before, so
    /// that what the reading of it costs does not count.
    ///
    /// # Safety
    /// `to` is writable for `TRIAL_BYTES`; `fill` writes `PART_BYTES`.
    #[cold]
    unsafe fn judge(&mut self, to: *mut u8, mut fill: impl FnMut(*mut u8)) {
        let mut tile = [0u8; PART_BYTES];
        let parts = (0..TRIAL_PARTS).map(|part| {
            fill(tile.as_mut_ptr());
            copy::drain();
            let start = Instant::now();
            // SAFETY: by the caller's promise.
            unsafe { RawBytes::from(&tile[..]).copy_to(to.wrapping_add(part * PART_BYTES)) };
            copy::drain();
            start.elapsed().min(PART_MOST)
        });
        let all = parts.sum();
        self.learn(all);
    }

    /// Draws the conclusion from the time of all parts of a trial.
    fn learn(&mut self, all: Duration) {
        let is_far = all > NEAR_LINE * (TRIAL_BYTES / 64) as u32;
        self.lead = (self.lead + if is_far { 1 } else { -1 }).clamp(-LEAD, LEAD);
        let sure = self.lead.abs() == LEAD;
        if sure {
            self.is_far = self.lead > 0;
        }
        self.until_trial = if sure { COPIES_PER_TRIAL } else { COPIES_IN_DOUBT };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pattern;
    use mpi_core::buffer::UserBuffer;

    #[test]
    fn trials_come_round_and_decide() {
        let mut reach = Reach::default();
        assert!(!reach.is_trial_due(LONG_BYTES - 1) && reach.is_trial_due(LONG_BYTES));
        let (near, far) = (Duration::from_nanos(600), Duration::from_nanos(1600));
        let trials = [
            (far, false, COPIES_IN_DOUBT),
            (far, true, COPIES_PER_TRIAL),
            (near, true, COPIES_IN_DOUBT),
            (far, true, COPIES_PER_TRIAL),
            (near, true, COPIES_IN_DOUBT),
            (near, true, COPIES_IN_DOUBT),
            (near, true, COPIES_IN_DOUBT),
            (near, false, COPIES_PER_TRIAL),
            (near, false, COPIES_PER_TRIAL),
        ];
        for (all, is_far, copies) in trials {
            reach.learn(all);
            assert_eq!(reach.is_far, is_far);
            let quiet = (0..1000).take_while(|_| !reach.is_trial_due(1 << 20)).count();
            assert_eq!(quiet as u32, copies - 1);
        }
    }

    #[repr(align(64))]
    struct Room([u8; 20_000]);

    #[test]
    fn all_is_copied_whatever_is_believed() {
        for (len, until_trial, is_far) in (0..4).flat_map(|n| {
            [1, 63, 4095, 4096, 4097, 8192, 19_999].map(|len| (len, n / 2 % 2 + 1, n % 2 == 0))
        }) {
            let bytes = pattern(len as u64, len);
            let mut room = Room([0xee; 20_000]);
            let user = UserBuffer(bytes.as_ptr().cast_mut());
            for packed in [false, true] {
                let mut reach = Reach { is_far, lead: 0, until_trial };
                room.0.fill(0xee);
                let to = room.0.as_mut_ptr();
                // SAFETY: the room is as long as the longest message and begins on a line.
                unsafe {
                    if packed {
                        let mut packer = Packer::contiguous(user, len as u64);
                        assert_eq!(reach.pack(&mut packer, to, 20_000), len);
                    } else {
                        reach.copy(RawBytes::from(&bytes[..]), to);
                    }
                }
                assert!(room.0[..len] == bytes);
                assert!(room.0[len..].iter().all(|byte| *byte == 0xee));
            }
        }
    }
}
