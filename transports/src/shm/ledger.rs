//! The words that the two ends of a lane share about messages that go across: in them the ends count
//! parts (see `claims`), and the receiver tells what need not be announced to it (see `ways`).

use super::claims::Claims;
use crate::sync::AtomicU64;

/// Messages of one peer that are on their way across at a time.
pub(super) const WORDS: usize = 4;

/// The words that the two ends of a lane share about messages going across in its direction: they
/// lie beside the lane's counter, in the arena of who receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger(*const AtomicU64);

// SAFETY: the words are in shared memory that any thread may use.
unsafe impl Send for Ledger {}

impl Ledger {
    /// One that leads nowhere.
    pub(super) fn closed() -> Ledger {
        Ledger(std::ptr::null())
    }

    /// The words at `at`.
    ///
    /// # Safety
    /// They stay mapped as long as this is used, and are aligned: [`WORDS`] and one more.
    pub(super) unsafe fn new(at: *const AtomicU64) -> Ledger {
        Ledger(at)
    }

    /// Where both ends count the parts of the transfer of this number.
    pub(super) fn claims(&self, number: u32) -> Claims {
        // SAFETY: by `new`'s promise.
        unsafe { Claims::new(self.0.add(number as usize % WORDS)) }
    }

    /// What the receiver has told about lengths (see [`super::ways::Ways::told`]).
    #[inline]
    pub(super) fn told(&self) -> &AtomicU64 {
        // SAFETY: by `new`'s promise.
        unsafe { &*self.0.add(WORDS) }
    }
}
