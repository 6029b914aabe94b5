//! The end of a stream at which one of its readers takes fragments in place.

use mpi_core::node_memory::Fragment;
use mpi_core::tuning::{ASKED_AHEAD_BYTES, LONG_BODY_BYTES, ROUND_LEAST_BYTES, ROUND_MAPPED_BYTES};

use super::Room;
use super::cells::{Cell, Cells, LAST, LINE_BYTES};
use crate::copy;
use crate::segment::exposed::Exposed;
use crate::segment::layout::CONSENT;
use crate::sync::{AtomicU64, Ordering};
use crate::sys::memory::populate;

/// One reading end.
pub(in crate::segment) struct Inbound {
    cells: Cells,
    body: *const u8,
    room: Room,
    mark: u64,
    next: u64,
    counter: *const AtomicU64,
    /// Bodies that end here or before are read without further ado.
    known: usize,
    /// Where the next body begins if it is as long as the last one, and how many bytes of it to ask for, perhaps none.
    ahead: (*const u8, usize),
}

// SAFETY: as for `Outbound`.
unsafe impl Send for Inbound {}

impl Inbound {
    /// A reading end, which counts at `counter`.
    ///
    /// # Safety
    /// As [`Outbound::new`](super::outbound::Outbound::new); nobody else writes the counter.
    pub(in crate::segment) unsafe fn new(
        cells: Cells,
        body: *const u8,
        room: Room,
        mark: u64,
        counter: *const AtomicU64,
    ) -> Inbound {
        Inbound {
            cells,
            body,
            room,
            mark,
            next: 0,
            counter,
            known: ROUND_MAPPED_BYTES,
            ahead: (body, 0),
        }
    }

    /// Says whether ranks share processors: then pages are found one by one.
    pub(in crate::segment) fn set_oversubscribed(&mut self, oversubscribed: bool) {
        self.known = if oversubscribed { self.room.all } else { ROUND_MAPPED_BYTES };
    }

    /// The next fragment, if it is there. One whose form cannot be is empty and the last.
    #[inline]
    pub(in crate::segment) fn peek(&mut self) -> Option<Fragment> {
        if self.ahead.1 > 0 {
            self.ask_again();
        }
        // SAFETY: within the ring of cells, by `new`'s promise.
        let cell = unsafe { &*self.cells.of(self.next) };
        if cell.seq.load(Ordering::Acquire) != self.mark.wrapping_add(self.next + 1) {
            return None;
        }
        let form = cell.form.load(Ordering::Relaxed);
        let (len, last) = (form as u32 as usize, form & LAST != 0);
        if len <= self.cells.most() {
            if len > LINE_BYTES {
                self.ahead = (self.cells.beside(self.next + 1), len - LINE_BYTES);
            }
            let at = self.cells.payload_of(self.next);
            return Some(Fragment { at, len, last, exposed: 0 });
        }
        let at = ((form & !LAST) >> 32) as usize;
        if at + len > self.room.all {
            return Some(self.exposed_fragment(cell));
        }
        if at + len > self.known {
            self.get();
        }
        self.foresee(at, len);
        Some(Fragment { at: self.body.wrapping_add(at), len, last, exposed: 0 })
    }

    /// Asks for the lines of the next fragment.
    #[inline]
    pub(in crate::segment) fn ask(&self) {
        copy::ask(self.cells.of(self.next).cast());
        self.ask_for_body();
    }

    fn ask_for_body(&self) {
        let (at, len) = self.ahead;
        for line in (0..len).step_by(64) {
            copy::ask(at.wrapping_add(line));
        }
    }

    /// Asks for the body that is expected, until the next fragment turns out to have none.
    #[inline(never)]
    fn ask_again(&mut self) {
        self.ask_for_body();
        // SAFETY: within the ring of cells, by `new`'s promise.
        let cell = unsafe { &*self.cells.of(self.next) };
        let is_there = cell.seq.load(Ordering::Acquire) == self.mark.wrapping_add(self.next + 1);
        if is_there && cell.form.load(Ordering::Relaxed) as u32 as usize <= LINE_BYTES {
            self.ahead.1 = 0;
        }
    }

    /// Expects the body behind this one to be as long, and to lie where it then would if all pages are there. That of a
    /// long one is asked for at once: while this one is copied out there is time.
    #[inline(never)]
    fn foresee(&mut self, at: usize, len: usize) {
        let is_long = len >= LONG_BODY_BYTES;
        if len > ASKED_AHEAD_BYTES && !is_long {
            self.ahead.1 = 0;
            return;
        }
        let round = if is_long { self.room.usual } else { ROUND_LEAST_BYTES };
        let next = (at + len).next_multiple_of(64);
        let next = if next + len <= round { next } else { 0 };
        self.ahead = (self.body.wrapping_add(next), len.min(ASKED_AHEAD_BYTES));
        if is_long {
            copy::ask(self.cells.of(self.next + 1).cast());
            self.ask_for_body();
        }
    }

    /// A fragment whose form asks for more room than there is: an exposed one, or none at all.
    #[cold]
    #[inline(never)]
    fn exposed_fragment(&self, cell: &Cell) -> Fragment {
        let mut fragment = Fragment { at: self.body, len: 0, last: true, exposed: 0 };
        if let Some(Exposed { len, .. }) = cell.exposed() {
            fragment.exposed = len;
        }
        fragment
    }

    /// Maps the pages that the writer has got, of whose bodies one ends there.
    #[cold]
    #[inline(never)]
    fn get(&mut self) {
        populate(self.body.cast_mut(), self.room.usual, false);
        self.known = self.room.all;
    }

    /// Where the fragment that `peek` shows lies, if it is an exposed one.
    pub(in crate::segment) fn exposed(&self) -> Option<Exposed> {
        // SAFETY: within the ring of cells, by `new`'s promise.
        unsafe { &*self.cells.of(self.next) }.exposed()
    }

    /// Tells the writer that its fragments are fetched.
    pub(in crate::segment) fn consent(&mut self) {
        self.say(!self.mark);
    }

    /// Tells the writer that they are not, this one and all that come.
    pub(in crate::segment) fn refuse(&mut self) {
        self.say(self.mark);
    }

    fn say(&self, word: u64) {
        // SAFETY: the counter is mapped, and so is the rest of its line (see `layout`).
        let consent = unsafe { &*self.counter.wrapping_byte_add(CONSENT) };
        consent.store(word, Ordering::Relaxed);
    }

    /// Gives the fragment back that `peek` shows.
    #[inline]
    pub(in crate::segment) fn consume(&mut self) {
        self.next += 1;
        // SAFETY: mapped and aligned by `new`'s promise.
        unsafe { (*self.counter).store(self.mark.wrapping_add(self.next), Ordering::Release) };
    }
}
