//! Whether a peer's cache is near: which way of writing a buffer that it will read is cheaper.
//!
//! Processors that share a last-level cache take a line from each other in 20 nanoseconds, others in
//! 100 and more; the difference is the processors' and changes when the system moves a process. So the
//! load of a count that the peer has written since the last look is timed now and then, and a peer
//! that proves far gets streamed copies. (How long it takes to overwrite a line of a buffer does not
//! tell: in a buffer as large as its cache the peer has given the line back by then.)
//!
//! Enters: how long looks took. Leaves: the copies, made one way or the other.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::copy;
use crate::stores::{self, Ground, LONG_BYTES};
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;

/// A look that takes so much longer than one at a line that is here fetches that line from a far cache. Looks of two
/// ranks of a Zen 1 at a line that is here, near and far, by the clock: 50 ns, 70 to 100, and 150 to 250.
const FAR_BEYOND: Duration = Duration::from_nanos(70);
/// Looks to find out what one takes by the clock at a line that is here: any may be interrupted.
const LOOKS_HERE: u32 = 8;
/// Bytes of long copies from one trial to the next: it costs two looks at the clock, and a process that is moved is
/// found out within a few megabytes. (Guests are, by their hosts. With a trial every 256 copies, whatever their length,
/// two ranks that had become far took 120 µs for an exchange of 256 KiB until the last of a hundred, and not 50.)
const BYTES_PER_TRIAL: u32 = 1 << 20;
/// The same while the trials do not agree.
const BYTES_IN_DOUBT: u32 = 16 << 10;
/// Trials by which one verdict must lead to be believed. One in fifty errs.
const LEAD: i8 = 2;

/// What is known of the way to one peer.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    is_far: bool,
    /// By how many trials far leads, or near if negative; at most [`LEAD`].
    lead: i8,
    /// Bytes of long copies until a look is timed.
    until_trial: u32,
    /// A verdict was believed before.
    settled: bool,
}

impl Default for Reach {
    /// Nothing is known: every look is a trial, so that short messages tell what the first long one needs.
    fn default() -> Reach {
        Reach { is_far: false, lead: 0, until_trial: 0, settled: false }
    }
}

impl Reach {
    /// What a test wants to be known, for good.
    #[cfg(test)]
    pub(crate) fn proved(is_near: bool) -> Reach {
        let lead = if is_near { -LEAD } else { LEAD };
        Reach { is_far: !is_near, lead, until_trial: u32::MAX, settled: true }
    }

    /// Copies all of `bytes` to `to`, where the peer will read them.
    ///
    /// # Safety
    /// As [`copy::streamed`].
    #[inline]
    pub(super) unsafe fn copy(&mut self, bytes: RawBytes<'_>, to: *mut u8) {
        let len = bytes.len();
        // SAFETY: by the caller's promise, both.
        unsafe {
            match len < LONG_BYTES {
                true => bytes.copy_to(to),
                false => stores::store(bytes, to, self.goes_past(len)),
            }
        }
    }

    /// Copies up to `room` bytes of a message to `to`, and returns how many.
    ///
    /// # Safety
    /// As [`copy::pack_streamed`].
    pub(crate) unsafe fn pack(&mut self, source: &mut Packer, to: *mut u8, room: usize) -> usize {
        let len = source.remaining().min(room as u64) as usize;
        // SAFETY: by the caller's promise, both.
        unsafe {
            match len < LONG_BYTES {
                true => source.pack_into(to, room),
                false => stores::pack(source, to, room, self.goes_past(len), Ground::Known),
            }
        }
    }

    /// Whether the peer proved far, and is not known to be stored for at little cost.
    pub(crate) fn is_dear(&self) -> bool {
        self.is_far && !stores::is_quick()
    }

    /// Whether the peer proved near or far.
    pub(crate) fn has_proved(&self) -> bool {
        self.settled
    }

    /// Whether the peer proved far.
    pub(crate) fn is_far(&self) -> bool {
        self.is_far
    }

    /// Whether the peer proved near, and has not proved far since: one look that errs is no reason to go another way.
    /// (Two near ranks of a Zen 3, where one in twenty does, all-gather, as long as all trials agree, and so: 256 KiB
    /// 35 and 28 µs, 512 KiB 74 and 53, 1 MiB 175 and 109.)
    #[inline]
    pub(crate) fn is_near(&self) -> bool {
        self.settled && !self.is_far
    }

    /// Whether a buffer costs little: the peer proved near, or it proved far and far lines cost little more.
    #[inline]
    pub(crate) fn is_cheap(&self) -> bool {
        self.is_near() || self.is_far && stores::is_light(true) == Some(true)
    }

    /// Whether the peer proved far, and nobody has stored enough for such a one to know what that costs.
    pub(crate) fn is_to_be_timed(&self) -> bool {
        self.is_far && stores::is_light(true).is_none()
    }

    /// Whether storing in a buffer costs little beside what the peer does to take it out, since string moves do not
    /// fetch its lines. As long as that is not known, it is to be found out.
    pub(crate) fn is_light(&self) -> bool {
        self.is_cheap() && stores::is_light(self.is_far).unwrap_or(true)
    }

    /// Counts a copy of `len` bytes; whether it goes past the cache.
    #[inline]
    pub(crate) fn goes_past(&mut self, len: usize) -> bool {
        let is_long = len >= LONG_BYTES;
        if is_long {
            self.until_trial =
                self.until_trial.saturating_sub(u32::try_from(len).unwrap_or(u32::MAX));
        }
        self.is_far && is_long
    }

    /// Looks at a count that the peer writes, and sees how long that takes if it is time to. `load`
    /// returns the count, and whether it has changed since the last look: the line of one that has
    /// not may be here still.
    ///
    /// Most looks are not timed, so the processor expects one that is not, and begins its load before
    /// it finds out that it errs. By the time that the clock has been read the line is here then, and a
    /// far peer looks near (20 to 55 in 100 trials did). So nothing is loaded ahead there, nor ahead of the clock by
    /// a guess about what comes before the look (up to two looks of three did still in some runs).
    #[inline]
    pub(crate) fn look<T>(&mut self, load: impl FnOnce() -> (T, bool)) -> T {
        if self.until_trial > 0 {
            copy::finish_loads();
            return load().0;
        }
        let ((count, has_changed), time) = timed(load);
        if has_changed {
            self.learn(time > look_here() + FAR_BEYOND);
        }
        count
    }

    /// Draws the conclusion from a look at a line that was far or was not.
    #[cold]
    fn learn(&mut self, was_far: bool) {
        self.lead = (self.lead + if was_far { 1 } else { -1 }).clamp(-LEAD, LEAD);
        let sure = self.lead.abs() == LEAD;
        if sure {
            self.is_far = self.lead > 0;
        }
        self.settled |= sure;
        self.until_trial = match (sure, self.settled) {
            (true, _) => BYTES_PER_TRIAL,
            (false, true) => BYTES_IN_DOUBT,
            (false, false) => 0,
        };
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
    *HERE.get_or_init(|| (0..LOOKS_HERE).map(look).min().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pattern;
    use mpi_core::buffer::UserBuffer;

    #[test]
    fn trials_come_round_and_decide() {
        let mut reach = Reach::default();
        assert!(!reach.goes_past(LONG_BYTES));
        let (near, far) = (false, true);
        let trials = [
            (far, false, 0),
            (far, true, BYTES_PER_TRIAL),
            (near, true, BYTES_IN_DOUBT),
            (far, true, BYTES_PER_TRIAL),
            (near, true, BYTES_IN_DOUBT),
            (near, true, BYTES_IN_DOUBT),
            (near, true, BYTES_IN_DOUBT),
            (near, false, BYTES_PER_TRIAL),
            (near, false, BYTES_PER_TRIAL),
            (far, false, BYTES_IN_DOUBT),
            (near, false, BYTES_PER_TRIAL),
        ];
        for (turn, (was_far, is_far, bytes)) in trials.into_iter().enumerate() {
            assert_eq!(reach.until_trial, 0);
            reach.learn(was_far);
            assert_eq!(reach.is_far, is_far);
            assert_eq!(reach.is_near(), turn > 0 && !is_far, "one look that errs is no reason");
            assert!(!reach.goes_past(LONG_BYTES - 1));
            assert_eq!(reach.until_trial, bytes);
            let copies = bytes as usize / LONG_BYTES;
            (0..copies).for_each(|_| assert_eq!(reach.goes_past(LONG_BYTES), is_far));
        }
    }

    #[test]
    fn only_news_are_a_trial_and_only_when_one_is_due() {
        let mut reach = Reach::default();
        assert_eq!(reach.look(|| (7, false)), 7);
        assert_eq!((reach.lead, reach.until_trial), (0, 0));
        let far = || std::thread::sleep(2 * (look_here() + FAR_BEYOND));
        reach.look(|| (far(), true));
        assert_eq!((reach.lead, reach.until_trial), (1, 0));
        reach.look(|| (far(), true));
        assert!(reach.is_far && reach.until_trial == BYTES_PER_TRIAL);
        reach.look(|| (far(), true));
        assert_eq!(reach.until_trial, BYTES_PER_TRIAL);
    }

    #[repr(align(64))]
    struct Room([u8; 20_000]);

    #[test]
    fn all_is_copied_whatever_is_believed() {
        for (len, is_far) in [true, false]
            .into_iter()
            .flat_map(|is_far| [1, 63, 4095, 4096, 4097, 8192, 19_999].map(|len| (len, is_far)))
        {
            let bytes = pattern(len as u64, len);
            let mut room = Room([0xee; 20_000]);
            let user = UserBuffer(bytes.as_ptr().cast_mut());
            for packed in [false, true] {
                let mut reach = Reach { is_far, ..Reach::default() };
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
