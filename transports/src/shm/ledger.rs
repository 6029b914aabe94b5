//! The words that the two ends of a lane share about messages that go across in its direction: they lie
//! beside the lane's counter, in the arena of who receives.
//!
//! In one word for each transfer both ends count how many parts are taken. The receiver takes them from
//! the front and the sender from the back, so a count is enough: as long as it is below the number of
//! parts, the next one from either side is nobody's yet. An end that has other things to do takes fewer,
//! or none. By the last word the receiver tells which messages need not be announced to it (see `ways`).

use crate::sync::{AtomicU64, Ordering};

/// Messages of one peer that are on their way across at a time.
pub(super) const WORDS: usize = 4;

/// The words, as either end sees them.
#[derive(Debug)]
pub(super) struct Ledger {
    /// For each transfer its number above, and parts taken below; then what was told.
    words: *const AtomicU64,
    /// What this end has told, if it is the receiver.
    told: u64,
}

// SAFETY: the words are in shared memory that any thread may use.
unsafe impl Send for Ledger {}

impl Ledger {
    /// One that leads nowhere.
    pub(super) fn closed() -> Ledger {
        Ledger { words: std::ptr::null(), told: 0 }
    }

    /// The words at `words`.
    ///
    /// # Safety
    /// They stay mapped as long as this is used, and are aligned: [`WORDS`] and one more.
    pub(super) unsafe fn new(words: *const AtomicU64) -> Ledger {
        Ledger { words, told: 0 }
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: by `new`'s promise; both callers stay within the words.
        unsafe { &*self.words.add(at) }
    }

    /// In which the parts of the transfer of this number are counted.
    fn claims(&self, number: u32) -> &AtomicU64 {
        self.word(number as usize % WORDS)
    }

    /// Begins a transfer of this number: no part is taken.
    pub(super) fn open(&self, number: u32) {
        self.claims(number).store(u64::from(number) << 32, Ordering::Release);
    }

    /// Takes a part of `parts` for this end, if one is left and the transfer still the same.
    pub(super) fn take(&self, number: u32, parts: u32) -> bool {
        let free = |word: u64| (word >> 32) as u32 == number && (word as u32) < parts;
        let taken = self
            .claims(number)
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| free(word).then(|| word + 1));
        taken.is_ok()
    }

    /// Lets nobody take a part of `parts` any more, and says how many are taken.
    pub(super) fn close(&self, number: u32, parts: u32) -> u32 {
        let closed = u64::from(number) << 32 | u64::from(parts);
        (self.claims(number).swap(closed, Ordering::AcqRel) as u32).min(parts)
    }

    /// What the receiver has told about lengths (see [`super::ways::Ways::told`]).
    #[inline]
    pub(super) fn told(&self) -> u64 {
        self.word(WORDS).load(Ordering::Relaxed)
    }

    /// Tells the sender so, unless that is nothing new.
    #[inline]
    pub(super) fn tell(&mut self, told: u64) {
        if told != self.told {
            self.told = told;
            self.word(WORDS).store(told, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_taken_once_and_an_old_number_takes_none() {
        let words = [77; WORDS + 1].map(AtomicU64::new);
        // SAFETY: the words outlive the view.
        let ledger = unsafe { Ledger::new(words.as_ptr()) };
        ledger.open(5);
        let taken: Vec<bool> = (0..4).map(|_| ledger.take(5, 3)).collect();
        assert_eq!(taken, [true, true, true, false]);
        let next = 5 + WORDS as u32;
        ledger.open(next);
        assert!(!ledger.take(5, 3) && ledger.take(next, 3));
        assert_eq!(ledger.close(next, 3), 1);
        assert!(!ledger.take(next, 3));
    }

    #[test]
    fn two_threads_share_all_parts() {
        let words = [0; WORDS + 1].map(AtomicU64::new);
        // SAFETY: the words outlive the views.
        let [here, there] = [(); 2].map(|()| unsafe { Ledger::new(words.as_ptr()) });
        here.open(1);
        let work = |ledger: Ledger| (0..).take_while(|_| ledger.take(1, 100_000)).count();
        let (here, there) = std::thread::scope(|scope| {
            let other = scope.spawn(move || work(there));
            (work(here), other.join().unwrap())
        });
        assert_eq!(here + there, 100_000);
    }

    #[test]
    fn what_is_told_is_written_once() {
        let words = [0; WORDS + 1].map(AtomicU64::new);
        // SAFETY: the words outlive the views.
        let [mut receiver, sender] = [(); 2].map(|()| unsafe { Ledger::new(words.as_ptr()) });
        receiver.tell(6);
        assert_eq!(sender.told(), 6);
        words[WORDS].store(0, Ordering::Relaxed);
        receiver.tell(6);
        assert_eq!(sender.told(), 0);
    }
}
