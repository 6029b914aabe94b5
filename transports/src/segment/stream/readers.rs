//! What the writer of a stream knows of its readers: how far they have read, whether they are near, what they fetch.

use std::ops::Range;

use crate::reach::Reach;
use crate::segment::layout::{CELLS, CONSENT};
use crate::sync::{AtomicU64, Ordering};

/// The readers of one stream.
pub(super) struct Readers {
    counters: Vec<Counter>,
    mark: u64,
    /// Fragments that all are known to have consumed.
    consumed: u64,
    pub(super) reach: Reach,
    /// Ranks share processors.
    oversubscribed: bool,
    /// Whether all fetch what is exposed to them; unknown as long as one has said nothing.
    fetched: Option<bool>,
    /// The fragment that was exposed last.
    exposed: u64,
}

/// What a reader counts in.
struct Counter {
    at: *const AtomicU64,
    /// What the last look showed.
    seen: Option<u64>,
    /// It has not said what it did with the fragment that was exposed last.
    open: bool,
}

/// What readers did with a fragment that was exposed.
pub(in crate::segment) enum Answer {
    /// One has said nothing yet.
    Waits,
    /// This one could not fetch it.
    Refused(usize),
    /// There is no more to say.
    Taken,
}

impl Counter {
    /// Whether the reader says that it fetches what is exposed to it.
    fn consents(&self, mark: u64) -> bool {
        self.said() == !mark
    }

    /// Whether it says that it cannot. Who has said neither may still take what lies in memory that it has mapped.
    fn refuses(&self, mark: u64) -> bool {
        self.said() == mark
    }

    /// The word of consent or refusal of this segment, or what an earlier one left there.
    fn said(&self) -> u64 {
        // SAFETY: the counter is mapped, and so is the rest of its line (see `layout`).
        let word = unsafe { &*self.at.wrapping_byte_add(CONSENT) };
        word.load(Ordering::Relaxed)
    }
}

// SAFETY: the pointers lead into memory that the segment's owner keeps mapped; one thread at a time uses them.
unsafe impl Send for Readers {}

impl Readers {
    /// Readers that count, from the mark on, in these words.
    ///
    /// # Safety
    /// The words are aligned, lie in their segment's lines of counters, and stay mapped as long as this lives.
    pub(super) unsafe fn new(counters: Vec<*const AtomicU64>, mark: u64) -> Readers {
        let counter = |at| Counter { at, seen: None, open: false };
        Readers {
            counters: counters.into_iter().map(counter).collect(),
            mark,
            consumed: 0,
            reach: Reach::default(),
            oversubscribed: false,
            fetched: None,
            exposed: 0,
        }
    }

    /// Says whether ranks share processors.
    pub(super) fn set_oversubscribed(&mut self, oversubscribed: bool) {
        self.oversubscribed = oversubscribed;
    }

    /// Whether ranks share processors.
    #[inline(always)]
    pub(super) fn are_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// Of the `written` fragments those whose cells are in use and that somebody may still be reading.
    #[inline]
    pub(super) fn unread(&self, written: u64) -> Range<u64> {
        self.consumed.max(written.saturating_sub(CELLS as u64))..written
    }

    /// Whether the next cell may be written, of a ring into which so many fragments were.
    #[inline]
    pub(super) fn spare_a_cell(&mut self, written: u64) -> bool {
        let cells = CELLS as u64;
        written - self.consumed < cells || self.have_read(written - cells, written)
    }

    /// Whether all have consumed the fragment of this number, of so many that were written.
    #[cold]
    pub(super) fn have_read(&mut self, fragment: u64, written: u64) -> bool {
        let mut least = written;
        for Counter { at, seen, .. } in &mut self.counters {
            let count = self.reach.look(|| {
                // SAFETY: mapped and aligned by `new`'s promise.
                let count = unsafe { (**at).load(Ordering::Acquire) };
                (count, seen.replace(count).is_some_and(|seen| seen != count))
            });
            let count = count.wrapping_sub(self.mark);
            // What is no count of this segment is what an earlier one left there.
            least = least.min(if count > written { 0 } else { count });
        }
        self.consumed = self.consumed.max(least);
        self.consumed > fragment
    }

    /// Whether one has not consumed all of so many fragments that were written.
    pub(super) fn lags(&self, reader: usize, written: u64) -> bool {
        let Some(Counter { at, .. }) = self.counters.get(reader) else { return false };
        // SAFETY: mapped and aligned by `new`'s promise.
        let count = unsafe { (**at).load(Ordering::Acquire) };
        written > 0 && count.wrapping_sub(self.mark) != written
    }

    /// Whether all have said that they fetch, and none has refused to.
    pub(super) fn fetch(&mut self) -> bool {
        if self.fetched.is_none() && self.counters.iter().all(|reader| reader.consents(self.mark)) {
            self.fetched = Some(true);
        }
        self.fetched == Some(true)
    }

    /// Whether none of them has refused, and one has not said that it fetches.
    pub(super) fn is_unknown(&self) -> bool {
        self.fetched.is_none()
    }

    /// Awaits what they say to the fragment of this number, which is being exposed.
    pub(super) fn await_answers(&mut self, fragment: u64) {
        self.exposed = fragment;
        self.counters.iter_mut().for_each(|reader| reader.open = true);
    }

    /// What they did with the fragment that was exposed last, of so many that were written. Who refuses says so before
    /// it counts the fragment, and nothing more is exposed in the stream meanwhile.
    pub(super) fn answer(&mut self, written: u64) -> Answer {
        while let Some(reader) = self.answering(written) {
            self.counters[reader].open = false;
            if self.counters[reader].refuses(self.mark) {
                self.fetched = Some(false);
                return Answer::Refused(reader);
            }
        }
        match self.counters.iter().any(|reader| reader.open) {
            true => Answer::Waits,
            false => Answer::Taken,
        }
    }

    /// Whether there is an answer now.
    pub(super) fn have_answered(&mut self, written: u64) -> bool {
        self.answering(written).is_some() || self.counters.iter().all(|reader| !reader.open)
    }

    /// One that has counted the fragment and has not been asked.
    fn answering(&mut self, written: u64) -> Option<usize> {
        if self.consumed <= self.exposed {
            self.have_read(self.exposed, written);
        }
        let (mark, exposed) = (self.mark, self.exposed);
        let has_counted = |reader: &Counter| {
            let count = reader.seen.map_or(0, |count| count.wrapping_sub(mark));
            count > exposed && count <= written
        };
        self.counters.iter().position(|reader| reader.open && has_counted(reader))
    }
}
