//! What a receive that waits does meanwhile: it asks for the lines of its memory, so that the message is not held up by
//! them when it comes. The processor has nothing else to do, and memory that no cache has is slow to come.

use crate::buffer::{UserBuffer, claim};
use crate::tuning::{CLAIMED_BYTES, LINE_BYTES, LINES_PER_CLAIM};

/// The memory of a receive, of which a part has been asked for.
pub(super) struct Ahead {
    at: *const u8,
    left: usize,
}

impl Ahead {
    /// The `room` bytes at `to`, of which none has been asked for.
    pub(super) fn of(to: UserBuffer, room: usize) -> Ahead {
        Ahead { at: to.0, left: room.min(CLAIMED_BYTES) }
    }

    /// Asks for the next lines, if any are left; whether there were.
    #[inline]
    pub(super) fn claim_some(&mut self) -> bool {
        let part = self.left.min(LINES_PER_CLAIM * LINE_BYTES);
        (0..part).step_by(LINE_BYTES).for_each(|from| claim(self.at.wrapping_add(from)));
        self.at = self.at.wrapping_add(part);
        self.left -= part;
        part > 0
    }
}
