//! A long message moved by both ends: how it is divided, and who takes which part.
//!
//! Both count in one word how many parts are taken. The receiver takes them from the front and the
//! sender from the back, so a count is enough: as long as it is below the number of parts, the next
//! one from either side is nobody's yet. An end that has other things to do takes fewer, or none.

use crate::sync::{AtomicU64, Ordering};

/// Parts that are worth their system calls, where there are few.
const PART_FIRST: u64 = 128 << 10;
/// A message is divided into so many, unless they would be shorter or longer than that.
const PARTS: u64 = 4;
/// The longest part: what an end that comes late has to wait for.
const PART_MOST: u64 = 1 << 20;
/// Parts are whole pages long.
const WHOLE: u64 = 4 << 10;

/// The parts of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Division {
    len: u64,
    part: u64,
}

impl Division {
    /// The parts of a message of `len` bytes.
    pub(super) fn of(len: u64) -> Division {
        let part = (len / PARTS).max(PART_FIRST.min(len.div_ceil(2))).min(PART_MOST);
        Division { len, part: part.max(1).next_multiple_of(WHOLE) }
    }

    /// How many parts there are, which fit the counting word or are too many.
    pub(super) fn parts(&self) -> Option<u32> {
        u32::try_from(self.len.div_ceil(self.part)).ok()
    }

    /// Where part number `i` begins, and its length.
    pub(super) fn front(&self, i: u32) -> (u64, usize) {
        let from = u64::from(i) * self.part;
        (from, (self.len - from).min(self.part) as usize)
    }
}

/// The word in which both ends count: the number of the transfer above, parts taken below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claims(*const AtomicU64);

// SAFETY: the word is in shared memory that any thread may use.
unsafe impl Send for Claims {}

impl Claims {
    /// The word at `at`.
    ///
    /// # Safety
    /// It stays mapped as long as this is used, and is aligned.
    pub(super) unsafe fn new(at: *const AtomicU64) -> Claims {
        Claims(at)
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: by `new`'s promise.
        unsafe { &*self.0 }
    }

    /// Begins a transfer of this number: no part is taken.
    pub(super) fn open(&self, number: u32) {
        self.word().store(u64::from(number) << 32, Ordering::Release);
    }

    /// Takes a part of `parts` for this end, if one is left and the transfer still the same.
    pub(super) fn take(&self, number: u32, parts: u32) -> bool {
        let free = |word: u64| (word >> 32) as u32 == number && (word as u32) < parts;
        let taken = self
            .word()
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| free(word).then(|| word + 1));
        taken.is_ok()
    }

    /// Lets nobody take a part of `parts` any more, and says how many are taken.
    pub(super) fn close(&self, number: u32, parts: u32) -> u32 {
        let closed = u64::from(number) << 32 | u64::from(parts);
        (self.word().swap(closed, Ordering::AcqRel) as u32).min(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_follow_each_other_and_make_up_the_message(len in 1u64..1 << 34) {
            let division = Division::of(len);
            let parts = division.parts().unwrap();
            let mut end = 0;
            for i in 0..parts {
                let (from, n) = division.front(i);
                prop_assert_eq!(from, end);
                prop_assert!(n > 0 && n as u64 <= PART_MOST);
                end += n as u64;
            }
            prop_assert_eq!(end, len);
            prop_assert!(len <= WHOLE || parts >= 2);
        }

        #[test]
        fn any_length_is_divided_or_refused(len: u64) {
            let _ = Division::of(len).parts();
        }
    }

    #[test]
    fn each_part_is_taken_once_and_an_old_number_takes_none() {
        let word = AtomicU64::new(77);
        // SAFETY: the word outlives its views.
        let claims = unsafe { Claims::new(&raw const word) };
        claims.open(5);
        let taken: Vec<bool> = (0..4).map(|_| claims.take(5, 3)).collect();
        assert_eq!(taken, [true, true, true, false]);
        claims.open(6);
        assert!(!claims.take(5, 3) && claims.take(6, 3));
        assert_eq!(claims.close(6, 3), 1);
        assert!(!claims.take(6, 3));
    }

    #[test]
    fn two_threads_share_all_parts() {
        let word = AtomicU64::new(0);
        // SAFETY: the word outlives its views.
        let claims = unsafe { Claims::new(&raw const word) };
        claims.open(1);
        let work = move || (0..).take_while(|_| claims.take(1, 100_000)).count();
        let (here, there) = std::thread::scope(|scope| {
            let other = scope.spawn(work);
            (work(), other.join().unwrap())
        });
        assert_eq!(here + there, 100_000);
    }
}
