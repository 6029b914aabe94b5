//! Where the caches of a peer are, which decides how it is written to.
//!
//! Processors that share a last-level cache take a line from each other much sooner than others do. Guests of a host
//! cannot read that from their machine's topology, so the first loads of a count that the peer has written are timed
//! until one verdict leads by three, and never after. A peer with another cache gets non-temporal stores.
//!
//! Enters: how long the first looks took. Leaves: the class of the peer, and copies.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::copy;
use crate::profile::Class;
use crate::stores;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;
use mpi_core::tuning::{FAR_BEYOND, LONG_STORE_BYTES, LOOK_TRIALS, REACH_LEAD};

/// What is known of the way to one peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// By how many looks "another cache" leads, or "the same" if negative; at most [`REACH_LEAD`].
    lead: i8,
}

impl Reach {
    /// What a test wants to be known.
    #[cfg(test)]
    pub(crate) fn proved(is_near: bool) -> Reach {
        Reach { lead: if is_near { -REACH_LEAD } else { REACH_LEAD } }
    }

    /// Copies all of `bytes` to `to`, where the peer will read them.
    ///
    /// # Safety
    /// As [`copy::streamed`].
    #[inline]
    pub(crate) unsafe fn copy(&self, bytes: RawBytes<'_>, to: *mut u8) {
        // SAFETY: by the caller's promise, both.
        unsafe {
            match bytes.len() < LONG_STORE_BYTES {
                true => bytes.copy_to(to),
                false => stores::store(bytes, to, self.is_far()),
            }
        }
    }

    /// Copies up to `room` bytes of a message to `to`, and returns how many.
    ///
    /// # Safety
    /// As [`copy::pack_streamed`].
    pub(crate) unsafe fn pack(&self, source: &mut Packer, to: *mut u8, room: usize) -> usize {
        let len = source.remaining().min(room as u64) as usize;
        // SAFETY: by the caller's promise, both.
        unsafe {
            match len < LONG_STORE_BYTES {
                true => source.pack_into(to, room),
                false => stores::pack(source, to, room, self.is_far()),
            }
        }
    }

    /// Where the peer's caches are; it shares this process's as long as nothing else is known.
    pub(crate) fn class(&self) -> Class {
        if self.is_far() { Class::OtherCache } else { Class::SameCache }
    }

    /// Whether it is known.
    #[inline]
    pub(crate) fn has_proved(&self) -> bool {
        self.lead.abs() == REACH_LEAD
    }

    /// Whether the peer has another cache.
    #[inline]
    pub(crate) fn is_far(&self) -> bool {
        self.lead == REACH_LEAD
    }

    /// Looks at a count that the peer writes, and sees how long that takes as long as that is of use. `load` returns
    /// the count, and whether it has changed since the last look: the line of one that has not may be here still.
    ///
    /// Nothing is loaded ahead of the clock, nor of the look by a guess: else the line is here by the time it is read.
    #[inline]
    pub(crate) fn look<T>(&mut self, load: impl FnOnce() -> (T, bool)) -> T {
        if self.has_proved() {
            copy::finish_loads();
            return load().0;
        }
        let ((count, has_changed), time) = timed(load);
        if has_changed {
            self.learn(time > look_here() + FAR_BEYOND);
        }
        count
    }

    /// A look was at a line of another cache or was not.
    #[cold]
    fn learn(&mut self, was_far: bool) {
        self.lead = (self.lead + if was_far { 1 } else { -1 }).clamp(-REACH_LEAD, REACH_LEAD);
    }
}

/// What a look shows, and what it takes by the clock: it begins when the clock has been read.
fn timed<T>(load: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    copy::finish_loads();
    let shown = load();
    (shown, start.elapsed())
}

/// What a look takes at a line that is here.
fn look_here() -> Duration {
    static HERE: OnceLock<Duration> = OnceLock::new();
    let line = AtomicU64::new(0);
    let look = |_| timed(|| line.load(Ordering::Acquire)).1;
    *HERE.get_or_init(|| (0..LOOK_TRIALS).map(look).min().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pattern;
    use mpi_core::buffer::UserBuffer;

    #[test]
    fn the_first_verdict_that_leads_is_believed_for_good() {
        let mut reach = Reach::default();
        assert_eq!((reach.class(), reach.has_proved()), (Class::SameCache, false));
        let far = || std::thread::sleep(2 * (look_here() + FAR_BEYOND));
        reach.look(|| (far(), false));
        assert_eq!(reach.lead, 0, "what has not changed teaches nothing");
        (0..REACH_LEAD).for_each(|_| reach.look(|| (far(), true)));
        assert!(reach.is_far() && reach.has_proved());
        (0..10).for_each(|_| _ = reach.look(|| (0, true)));
        assert_eq!(reach.class(), Class::OtherCache);
    }

    #[repr(align(64))]
    struct Room([u8; 20_000]);

    #[test]
    fn all_is_copied_whatever_is_believed() {
        for (len, is_near) in [true, false]
            .into_iter()
            .flat_map(|is_near| [1, 63, 4095, 4096, 4097, 8192, 19_999].map(|len| (len, is_near)))
        {
            let bytes = pattern(len as u64, len);
            let mut room = Room([0xee; 20_000]);
            let user = UserBuffer(bytes.as_ptr().cast_mut());
            for packed in [false, true] {
                let reach = Reach::proved(is_near);
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
