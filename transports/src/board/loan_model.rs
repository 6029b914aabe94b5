//! Loans under loom, which tries every order of events (see `shm/lane_model.rs`).

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::apart::Lies;
use crate::loans::{Loan, Terms};
use crate::sync::AtomicU64;

const OPERATION: u32 = 4;
const LEN: u64 = 8;

/// What two members share, and the room, whose accesses loom watches for races.
#[derive(Default)]
struct Shared {
    terms: Terms,
    claim: AtomicU64,
    room: UnsafeCell<u64>,
}

impl Shared {
    fn loan(&self) -> Loan {
        // SAFETY: both are alive as long as the `Arc` that each side holds.
        unsafe { Loan::new(&self.terms, &self.claim, 3) }
    }

    fn write(&self, value: u64) {
        // SAFETY: this is what the model checks: nobody else writes now.
        self.room.with_mut(|room| unsafe { *room = value });
    }
}

#[test]
fn nobody_writes_to_a_room_whose_loan_has_ended() {
    loom::model(|| {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let borrower = thread::spawn(move || {
            let loan = theirs.loan();
            if loan.claim(OPERATION, LEN).is_some() {
                theirs.write(1);
                loan.give_up();
            }
        });
        let loan = shared.loan();
        loan.lend(OPERATION, Lies::default(), LEN);
        loan.end();
        while loan.is_claimed(OPERATION) {
            thread::yield_now();
        }
        shared.write(2);
        borrower.join().expect("the borrower ends");
    });
}
