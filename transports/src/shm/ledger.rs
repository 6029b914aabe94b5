//! The words that the two ends of a lane share about messages that go across in its direction: they lie
//! beside the lane's counter, in the arena of who receives.
//!
//! In one word for each transfer both ends count how many parts are taken. The receiver takes them from
//! the front and the sender from the back, so a count is enough: as long as it is below the number of
//! parts, the next one from either side is nobody's yet. An end that has other things to do takes fewer,
//! or none. The sender also says there that it is writing: a receiver that gives a transfer up lets nobody
//! take a part any more, and its memory is its own when that has ended. By another word the receiver tells which
//! messages need not be announced to it (see `ways`), and by the last the sender that it is writing back what it has
//! made of a piece of the receiver's (see [`mpi_core::boards::Boards::give_back_part`]).

use crate::sync::{AtomicU64, Ordering, fence};

/// Messages of one peer that are on their way across at a time.
pub(super) const WORDS: usize = 4;

/// Which word says what the receiver tells, and which that the sender writes back.
const TOLD: usize = WORDS;
const WRITING_BACK: usize = WORDS + 1;

/// A transfer has fewer parts.
pub(super) const PARTS_END: u32 = WRITING as u32;
/// The sender is writing a part.
const WRITING: u64 = 1 << 31;

/// The words, as either end sees them.
#[derive(Debug)]
pub(super) struct Ledger {
    /// For each transfer its number above, then whether it is written to, and parts taken below; then
    /// the two others.
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
    /// They stay mapped as long as this is used, and are aligned: [`WORDS`] and two more.
    pub(super) unsafe fn new(words: *const AtomicU64) -> Ledger {
        Ledger { words, told: 0 }
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: by `new`'s promise; all callers stay within the words.
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

    /// Takes a part of `parts` for the receiver, if one is left.
    pub(super) fn take(&self, number: u32, parts: u32) -> bool {
        self.take_and(number, parts, 0)
    }

    /// Takes one for the sender, if one is left and the transfer still the same, and says that it is being written
    /// until [`Ledger::have_written`].
    pub(super) fn take_to_write(&self, number: u32, parts: u32) -> bool {
        self.take_and(number, parts, WRITING)
    }

    fn take_and(&self, number: u32, parts: u32, mark: u64) -> bool {
        let free = |word: u64| is_of(word, number) && taken(word) < parts;
        let took = self.claims(number).fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| {
            free(word).then(|| (word + 1) | mark)
        });
        took.is_ok()
    }

    /// The sender writes no more of the part that it took.
    pub(super) fn have_written(&self, number: u32) {
        let end = |word| is_of(word, number).then_some(word & !WRITING);
        // If the transfer is another by now, nobody waits for this one.
        let _ = self.claims(number).fetch_update(Ordering::Release, Ordering::Relaxed, end);
    }

    /// Whether the sender is writing a part.
    pub(super) fn is_written_to(&self, number: u32) -> bool {
        let word = self.claims(number).load(Ordering::Acquire);
        is_of(word, number) && word & WRITING != 0
    }

    /// Lets nobody take a part of `parts` any more, and says how many are taken.
    pub(super) fn close(&self, number: u32, parts: u32) -> u32 {
        let closed = u64::from(number) << 32 | u64::from(parts);
        let close = |word: u64| Some(closed | word & WRITING);
        let before = self.claims(number).fetch_update(Ordering::AcqRel, Ordering::Relaxed, close);
        before.map_or(parts, taken).min(parts)
    }

    /// What the receiver has told about lengths (see [`super::ways::Ways::told`]).
    #[inline]
    pub(super) fn told(&self) -> u64 {
        self.word(TOLD).load(Ordering::Relaxed)
    }

    /// Tells the sender so, unless that is nothing new.
    #[inline]
    pub(super) fn tell(&mut self, told: u64) {
        if told != self.told {
            self.told = told;
            self.word(TOLD).store(told, Ordering::Relaxed);
        }
    }
}

impl Ledger {
    /// The sender is about to write to memory of the receiver, unless that has taken it back: it has to look now.
    pub(super) fn begin_to_write_back(&self) {
        self.word(WRITING_BACK).store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// It writes there no more.
    pub(super) fn have_written_back(&self) {
        self.word(WRITING_BACK).store(0, Ordering::Release);
    }

    /// Whether the sender is writing there; asked by a receiver that has taken it back.
    pub(super) fn is_written_back_to(&self) -> bool {
        fence(Ordering::SeqCst);
        self.word(WRITING_BACK).load(Ordering::Acquire) != 0
    }
}

/// Whether a word counts parts of the transfer of this number.
fn is_of(word: u64, number: u32) -> bool {
    (word >> 32) as u32 == number
}

/// The parts that are taken.
fn taken(word: u64) -> u32 {
    (word & (WRITING - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: usize = WRITING_BACK + 1;

    #[test]
    fn each_part_is_taken_once_and_an_old_number_takes_none() {
        let words = [77; ALL].map(AtomicU64::new);
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
    fn a_part_is_written_until_the_sender_says_so_also_if_the_receiver_gives_up() {
        let words = [0; ALL].map(AtomicU64::new);
        // SAFETY: the words outlive the views.
        let [receiver, sender] = [(); 2].map(|()| unsafe { Ledger::new(words.as_ptr()) });
        receiver.open(5);
        assert!(receiver.take(5, 9) && !receiver.is_written_to(5));
        assert!(sender.take_to_write(5, 9) && receiver.is_written_to(5));
        sender.have_written(5);
        assert!(!receiver.is_written_to(5));
        assert!(sender.take_to_write(5, 9) && receiver.take(5, 9));
        assert_eq!(receiver.close(5, 9), 4);
        assert!(receiver.is_written_to(5) && !sender.take_to_write(5, 9));
        sender.have_written(5);
        assert!(!receiver.is_written_to(5));
        assert_eq!(receiver.close(5, 9), 9);
        let next = 5 + WORDS as u32;
        receiver.open(next);
        assert!(sender.take_to_write(next, 1));
        sender.have_written(5);
        assert!(receiver.is_written_to(next), "an old one has no say");
    }

    #[test]
    fn two_threads_share_all_parts() {
        let words = [0; ALL].map(AtomicU64::new);
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
        let words = [0; ALL].map(AtomicU64::new);
        // SAFETY: the words outlive the views.
        let [mut receiver, sender] = [(); 2].map(|()| unsafe { Ledger::new(words.as_ptr()) });
        receiver.tell(6);
        assert_eq!(sender.told(), 6);
        words[TOLD].store(0, Ordering::Relaxed);
        receiver.tell(6);
        assert_eq!(sender.told(), 0);
    }
}
