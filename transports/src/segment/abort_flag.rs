//! The words in a member's part that say that it goes no further: an operation failed there, and
//! its streams may have stopped within a message. Others look only when they have waited long.

use crate::sync::{AtomicU64, Ordering, fence};

/// One member's words: the segment's mark, complemented, and why.
pub(super) struct AbortFlag {
    words: *const [AtomicU64; 2],
    mark: u64,
}

// SAFETY: the pointer leads into shared memory that the segment's owner keeps mapped.
unsafe impl Send for AbortFlag {}

impl AbortFlag {
    /// The words at this place.
    ///
    /// # Safety
    /// They stay mapped as long as this lives and are aligned; only their member writes them.
    pub(super) unsafe fn new(words: *const [AtomicU64; 2], mark: u64) -> AbortFlag {
        AbortFlag { words, mark }
    }

    fn words(&self) -> &[AtomicU64; 2] {
        // SAFETY: mapped and aligned by `new`'s promise.
        unsafe { &*self.words }
    }

    /// Says why the member goes no further.
    pub(super) fn say(&self, why: i32) {
        let [mark, reason] = self.words();
        reason.store(u64::from(why as u32), Ordering::Relaxed);
        mark.store(!self.mark, Ordering::Release);
        // What the member showed may change from here on: see `hear`.
        fence(Ordering::Release);
    }

    /// Why the member goes no further, if it said so. If not, all of its memory was read before it could change.
    pub(super) fn hear(&self) -> Option<i32> {
        let [mark, reason] = self.words();
        fence(Ordering::Acquire);
        let said = mark.load(Ordering::Acquire) == !self.mark;
        said.then(|| reason.load(Ordering::Relaxed) as u32 as i32)
    }
}
