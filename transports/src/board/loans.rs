//! Rooms that a member lends to others: where a message for it is to go, so that its writer may put it there by
//! itself. Nobody waits for a loan: a writer that is there before the lender writes to its stream as ever.
//!
//! A loan holds for one operation, by its number. A lender that ends one early, since it failed, must know that
//! nobody writes there any more; so a writer claims the room before it writes, and looks again whether
//! it is still lent, while the lender ends the loan before it looks for claims.

use super::apart::Lies;
use crate::sync::{AtomicU64, Ordering, fence};

/// The words of a loan: the board's mark, complemented; one more than the number of the operation, or 0; the
/// two that say where it lies, and the length.
pub(super) type Terms = [AtomicU64; 5];

/// What one member may lend to another.
pub(super) struct Loan {
    terms: *const Terms,
    /// What the borrower says: one more than the number of the operation in which it is writing, or 0.
    claim: *const AtomicU64,
    mark: u64,
}

// SAFETY: the pointers lead into shared memory that the board's owner keeps mapped.
unsafe impl Send for Loan {}

impl Loan {
    /// The loan with these terms, of which this is the borrower's word.
    ///
    /// # Safety
    /// Both stay mapped as long as this lives and are aligned; only the lender writes the terms, and only the
    /// borrower the word.
    pub(super) unsafe fn new(terms: *const Terms, claim: *const AtomicU64, mark: u64) -> Loan {
        Loan { terms, claim, mark }
    }

    fn terms(&self) -> &Terms {
        // SAFETY: mapped and aligned by `new`'s promise.
        unsafe { &*self.terms }
    }

    fn claim_word(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*self.claim }
    }

    /// Lends `len` bytes that lie there for this operation.
    pub(super) fn lend(&self, operation: u32, at: Lies, len: u64) {
        let [mark, number, address, offset, bytes] = self.terms();
        mark.store(!self.mark, Ordering::Relaxed);
        address.store(at.address, Ordering::Relaxed);
        offset.store(at.offset, Ordering::Relaxed);
        bytes.store(len, Ordering::Relaxed);
        number.store(u64::from(operation) + 1, Ordering::Release);
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.terms()[1].store(0, Ordering::Relaxed);
    }

    /// Whether the borrower is writing in this operation, once the loan has been ended.
    pub(super) fn is_claimed(&self, operation: u32) -> bool {
        fence(Ordering::SeqCst);
        self.claim_word().load(Ordering::Acquire) == u64::from(operation) + 1
    }

    /// Claims the room for a message of `len` bytes in this operation: where it lies, if so much is lent.
    pub(super) fn claim(&self, operation: u32, len: u64) -> Option<Lies> {
        let [mark, number, address, offset, bytes] = self.terms();
        let wanted = u64::from(operation) + 1;
        if number.load(Ordering::Acquire) != wanted
            || mark.load(Ordering::Relaxed) != !self.mark
            || bytes.load(Ordering::Relaxed) != len
        {
            return None;
        }
        let [address, offset] = [address, offset].map(|word| word.load(Ordering::Relaxed));
        self.claim_word().store(wanted, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if number.load(Ordering::Relaxed) == wanted {
            return Some(Lies { address, offset });
        }
        self.give_up();
        None
    }

    /// Writes there no more.
    pub(super) fn give_up(&self) {
        self.claim_word().store(0, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn loan((terms, claim): &(Terms, AtomicU64), mark: u64) -> Loan {
        // SAFETY: they outlive the loan, which one thread uses.
        unsafe { Loan::new(terms, claim, mark) }
    }

    #[test]
    fn a_room_is_lent_for_one_operation_and_one_length() {
        let memory = Default::default();
        let (loan, at) = (loan(&memory, 5), Lies { address: 0xabc, offset: 9 });
        assert_eq!(loan.claim(7, 100), None);
        loan.lend(7, at, 100);
        assert_eq!(loan.claim(6, 100), None);
        assert_eq!(loan.claim(7, 99), None);
        assert!(!loan.is_claimed(7));
        assert_eq!(loan.claim(7, 100), Some(at));
        assert!(loan.is_claimed(7) && !loan.is_claimed(8));
        loan.give_up();
        assert!(!loan.is_claimed(7));
        loan.end();
        assert_eq!(loan.claim(7, 100), None);
        assert!(!loan.is_claimed(7), "nothing is claimed in vain");
    }

    #[test]
    fn what_an_earlier_board_lent_means_nothing() {
        let memory = Default::default();
        loan(&memory, 5).lend(7, Lies::default(), 100);
        assert_eq!(loan(&memory, 6).claim(7, 100), None);
    }
}
