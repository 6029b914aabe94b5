//! What a job withholds for a moment, until it is known whether something else comes first.

use std::time::{Duration, Instant};

/// A signal that is repeated so soon comes from no person.
const ECHO: Duration = Duration::from_millis(100);

/// What the first rank says that only knows of the failure of another one.
#[derive(Debug)]
pub(crate) struct SecondaryError {
    pub(crate) rank: usize,
    pub(crate) code: i32,
    pub(crate) text: String,
    /// Until then the other one has the word.
    pub(crate) until: Instant,
}

/// A signal that waits until it is known whether anything moves.
#[derive(Debug)]
pub(crate) struct LastLook {
    pub(crate) signal: i32,
    pub(crate) begun: Instant,
    /// It goes on at this time in any case.
    pub(crate) until: Instant,
}

impl LastLook {
    /// Whether `signal` is the same once more: timeout(1) signals its child and then its whole group.
    pub(crate) fn is_echoed_by(&self, signal: i32, now: Instant) -> bool {
        signal == self.signal && now < self.begun + ECHO
    }
}
