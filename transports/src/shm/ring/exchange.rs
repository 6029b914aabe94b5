//! The exchange buffer of a pair: bodies that answer each other pass through the same memory.
//!
//! One of the two holds it. Who sends a body longer than a cell while holding it puts the body there and so hands it
//! over; who has taken that body in holds it from then on, and its answer goes back through lines that lie in its own
//! cache already. Who does not hold it sends through its own buffers, so a stream in one direction loses nothing.
//!
//! It lies in the arena of the lower rank, who holds it first. No word in shared memory says who
//! holds it: the frames do, since each that names it hands it over. A peer that lies about that
//! spoils what it sends and is sent, nothing else.

use mpi_core::tuning::{ASKED_AHEAD_BYTES, LONG_BODY_BYTES};

use crate::sys::memory::populate;
use crate::working_set::Touched;

/// What offsets begin with that name the exchange buffer, and not the arena of the sender.
pub(in crate::shm) const EXCHANGE: u64 = 1 << 63;

/// One side's view of the buffer.
#[derive(Debug)]
pub(in crate::shm) struct Exchange {
    at: *mut u8,
    len: u64,
    held: bool,
    touched: Touched,
}

// SAFETY: the pointer is into shared memory that any thread may use; the view has one owner.
unsafe impl Send for Exchange {}

impl Exchange {
    /// A buffer that does not exist.
    pub(in crate::shm) fn none() -> Exchange {
        Exchange { at: std::ptr::null_mut(), len: 0, held: false, touched: Touched::new(0) }
    }

    /// The `len` bytes at `at`, which this side holds or does not.
    ///
    /// # Safety
    /// They are shared memory, mapped as long as the view lives, and only the two sides use it.
    pub(in crate::shm) unsafe fn new(at: *mut u8, len: u64, held: bool) -> Exchange {
        Exchange { at, len, held: held && len > 0, touched: Touched::new(0) }
    }

    /// Whether a body of `len` bytes can go this way now.
    #[inline]
    pub(in crate::shm) fn takes(&self, len: u64) -> bool {
        self.held && len <= self.len
    }

    /// Hands the buffer over: where the body of `len` bytes goes that the next frame names.
    #[inline]
    pub(in crate::shm) fn hand_over(&mut self, len: u64) -> Option<*mut u8> {
        if !self.takes(len) {
            return None;
        }
        self.held = false;
        self.touch(len);
        Some(self.at)
    }

    /// Where the `len` bytes from `from` on go of a body that the buffer was handed over for, if it reaches so far.
    pub(in crate::shm) fn part(&mut self, from: u64, len: u64) -> Option<*mut u8> {
        let end = from.checked_add(len).filter(|end| *end <= self.len)?;
        self.touch(end);
        Some(self.at.wrapping_add(from as usize))
    }

    /// Where the `len` bytes lie that a frame of the other side names by `offset`.
    #[inline]
    pub(in crate::shm) fn body(&mut self, offset: u64, len: u64) -> Option<*const u8> {
        let from = offset - EXCHANGE;
        let end = from.checked_add(len).filter(|end| *end <= self.len)?;
        self.touch(end);
        Some(self.at.wrapping_add(from as usize).cast_const())
    }

    /// A body that came through it has been taken in.
    #[inline]
    pub(in crate::shm) fn receive(&mut self) {
        self.held = true;
    }

    /// Asks for the lines of a short body that was just taken in, for an answer of as many bytes to
    /// be written there: the peer, which wrote them last, has them.
    #[inline(always)]
    pub(in crate::shm) fn claim(&self, len: usize) {
        if len <= ASKED_AHEAD_BYTES {
            for at in (0..len).step_by(64) {
                mpi_core::buffer::claim(self.at.wrapping_add(at));
            }
        }
    }

    /// Gets the pages of the first `len` bytes, with more of those behind them.
    #[inline]
    fn touch(&mut self, len: u64) {
        if len > LONG_BODY_BYTES as u64 && self.touched.ends_before(len) {
            self.get(len);
        }
    }

    #[cold]
    #[inline(never)]
    fn get(&mut self, len: u64) {
        if let Some((from, len)) = self.touched.step(0, len, self.len) {
            populate(self.at.wrapping_add(from as usize), len as usize, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_holds_it_and_nothing_outside_is_named() {
        let mut memory = vec![0u64; 512];
        let at = memory.as_mut_ptr().cast();
        // SAFETY: the vector outlives both views, and no byte is touched.
        let (mut a, mut b) =
            unsafe { (Exchange::new(at, 4096, true), Exchange::new(at, 4096, false)) };
        assert!(a.takes(4096) && !a.takes(4097) && !b.takes(1));
        assert_eq!((b.hand_over(8), a.hand_over(5000), a.hand_over(4096)), (None, None, Some(at)));
        assert!(!a.takes(1));
        assert_eq!(b.body(EXCHANGE, 4096), Some(at.cast_const()));
        assert_eq!((b.body(EXCHANGE + 1, 4096), b.body(u64::MAX, 2)), (None, None));
        b.receive();
        assert_eq!((b.hand_over(100), b.hand_over(1)), (Some(at), None));
        assert_eq!((b.part(4000, 96), b.part(4000, 97)), (Some(at.wrapping_add(4000)), None));
        assert_eq!(Exchange::none().hand_over(0), None);
    }
}
