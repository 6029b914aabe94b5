//! The end of a stream at which its writer puts fragments in.

use mpi_core::buffer::claim;
use mpi_core::datatype::Packer;
use mpi_core::tuning::LONG_STORE_BYTES;

use super::Room;
use super::bodies::Bodies;
use super::cells::{Cell, Cells, EXPOSED, LAST, LINE_BYTES};
use super::readers::{Answer, Readers};
use crate::segment::exposed::Exposed;
use crate::stores;
use crate::sync::{AtomicU64, Ordering};
use crate::sys::memory::Backing;

/// The writing end.
pub(in crate::segment) struct Outbound {
    cells: Cells,
    bodies: Bodies,
    readers: Readers,
    mark: u64,
    /// Fragments written.
    next: u64,
}

// SAFETY: as for `Readers`.
unsafe impl Send for Outbound {}

impl Outbound {
    /// The writing end of a stream with these cells and this room for bodies.
    ///
    /// # Safety
    /// All of it stays mapped as long as this lives, is aligned, and nobody else writes to the cells and bodies.
    pub(in crate::segment) unsafe fn new(
        cells: Cells,
        body: *mut u8,
        room: Room,
        mark: u64,
        counters: Vec<*const AtomicU64>,
    ) -> Outbound {
        let bodies = Bodies::new(body, room);
        // SAFETY: by the caller's promise.
        let readers = unsafe { Readers::new(counters, mark) };
        Outbound { cells, bodies, readers, mark, next: 0 }
    }

    pub(in crate::segment) fn room(&self) -> usize {
        self.bodies.room()
    }

    /// Says whether ranks share processors.
    pub(in crate::segment) fn set_oversubscribed(&mut self, oversubscribed: bool) {
        self.bodies.pages.set_oversubscribed(oversubscribed);
        self.readers.set_oversubscribed(oversubscribed);
    }

    /// Says of which file the room for bodies is a part.
    pub(in crate::segment) fn be_backed(&mut self, backing: Backing) {
        self.bodies.be_backed(backing);
    }

    /// Writes the next `len` bytes of `source`, if there is room; where ranks share processors long ones
    /// go round in `round` bytes as far as readers keep up.
    #[inline]
    pub(in crate::segment) fn write(
        &mut self,
        source: &mut Packer,
        len: usize,
        last: bool,
        round: usize,
    ) -> bool {
        let Some((to, form)) = self.place(len, round) else { return false };
        // SAFETY: `place` found `len` unused bytes there.
        unsafe {
            match len <= self.cells.most() {
                true => _ = source.pack_into(to, len),
                false => self.fill(to, source, len),
            }
        }
        self.publish(form | if last { LAST } else { 0 });
        true
    }

    /// Where the next fragment of so many bytes may be written, and how its cell tells that; unread until it is
    /// published.
    #[inline(always)]
    fn place(&mut self, len: usize, round: usize) -> Option<(*mut u8, u64)> {
        if !self.readers.spare_a_cell(self.next) {
            return None;
        }
        if len <= self.cells.most() {
            self.bodies.pass(self.next);
            return Some((self.cells.payload_of(self.next).cast_mut(), len as u64));
        }
        let at = self.bodies.take(len, round, self.next, &mut self.readers)?;
        Some((self.bodies.address(at), len as u64 | (at as u64) << 32))
    }

    /// Writes a body.
    ///
    /// # Safety
    /// There are `len` unused bytes within the room.
    #[inline]
    unsafe fn fill(&mut self, to: *mut u8, source: &mut Packer, len: usize) {
        if len < LONG_STORE_BYTES {
            // SAFETY: by the caller's promise.
            unsafe { source.pack_into(to, len) };
            return;
        }
        let past = self.readers.reach.is_far() || self.bodies.pages.stream(len);
        // SAFETY: by the caller's promise.
        unsafe { stores::pack(source, to, len, past) };
    }

    /// The cell of the next fragment.
    #[inline]
    fn cell(&self) -> &Cell {
        // SAFETY: within the ring of cells, by `new`'s promise.
        unsafe { &*self.cells.of(self.next) }
    }

    /// Lets readers see the next fragment, of which its cell tells this.
    #[inline]
    fn publish(&mut self, form: u64) {
        let cell = self.cell();
        cell.form.store(form, Ordering::Relaxed);
        cell.seq.store(self.mark.wrapping_add(self.next + 1), Ordering::Release);
        self.next += 1;
        if !self.readers.are_oversubscribed() {
            self.claim_cell(form as u32 as usize);
        }
    }

    /// Asks for the next cell, of which the readers have the last copy, so that it can be written without waiting; of
    /// its second line too if the next fragment is as long as this one of `len` bytes (decision 82).
    #[inline(always)]
    fn claim_cell(&self, len: usize) {
        claim(self.cells.of(self.next).cast());
        if (LINE_BYTES + 1..=self.cells.most()).contains(&len) {
            claim(self.cells.beside(self.next));
        }
    }

    /// Shows a whole message in this process's memory, if all readers fetch such. Where ranks share processors
    /// who has not been here yet may not have said so: it is asked by what is exposed to it.
    pub(in crate::segment) fn expose(&mut self, exposed: Exposed) -> bool {
        let is_bold = self.bodies.pages.are_oversubscribed() && self.readers.is_unknown();
        if !(self.readers.fetch() || is_bold) || !self.readers.spare_a_cell(self.next) {
            return false;
        }
        self.bodies.pass(self.next);
        self.cell().set_exposed(exposed);
        self.readers.await_answers(self.next);
        self.publish(EXPOSED);
        true
    }

    /// What readers did with the fragment that was exposed last.
    pub(in crate::segment) fn exposure(&mut self) -> Answer {
        self.readers.answer(self.next)
    }

    /// Whether this reader has yet to read a fragment.
    pub(in crate::segment) fn lags(&self, reader: usize) -> bool {
        self.readers.lags(reader, self.next)
    }

    /// Whether there is an answer now.
    pub(in crate::segment) fn has_answer(&mut self) -> bool {
        self.readers.have_answered(self.next)
    }

    /// Whether a fragment of the largest size that was in vain has room now.
    pub(in crate::segment) fn has_room(&mut self, len: usize, round: usize) -> bool {
        let (fragment, readers) = (self.next, &mut self.readers);
        let cell = readers.spare_a_cell(fragment);
        cell && (len <= self.cells.most()
            || self.bodies.find(len, round, fragment, readers).is_some())
    }

    /// Whether it is known where the readers' caches are.
    pub(in crate::segment) fn has_proved(&self) -> bool {
        self.readers.reach.has_proved()
    }

    /// Whether the readers have another cache.
    pub(in crate::segment) fn is_far(&self) -> bool {
        self.readers.reach.is_far()
    }

    /// What a test wants to be found out about the readers.
    #[cfg(test)]
    pub(in crate::segment) fn prove(&mut self, is_near: bool) {
        self.readers.reach = crate::reach::Reach::proved(is_near);
    }
}
