//! Rings that peers write (paper 000, RDMA channel): slots in the receiver's registered memory. A frame is one
//! write that ends where its slot ends; the last eight bytes are its length and the number of the lap, which are
//! written last and never stale, since no other byte of a frame ever lies there. The receiver looks at them in
//! memory, and no completion is reported.
//!
//! In: bytes of a peer, which may be anything at any time. Out: the place of a frame.

use std::sync::atomic::{AtomicU64, Ordering};

use mpi_core::port::PeerId;

use super::envelope::RingPlace;
use super::fabric::{Access, Memory, Target};
use super::pages::Pages;

/// Slots of a ring at most.
pub(super) const SLOTS_MAX: u16 = 1024;
/// Bytes of what stands at the end of a slot.
pub(super) const TRAILER_BYTES: usize = 8;
/// Bytes of a slot that a peer may tell at most.
const SLOT_BYTES_MAX: u32 = 2 << 20;

/// Which slot comes next, and in which lap. Laps count from one, since memory begins as zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    slot: u32,
    lap: u32,
}

impl Place {
    const FIRST: Place = Place { slot: 0, lap: 1 };

    #[inline]
    fn step(&mut self, slots: u32) {
        self.slot += 1;
        if self.slot == slots {
            *self = Place { slot: 0, lap: self.lap.wrapping_add(1) };
        }
    }
}

/// Bytes of a slot for frames of at most so many bytes.
pub(super) fn slot_bytes(frame_bytes_max: usize) -> usize {
    (frame_bytes_max + TRAILER_BYTES).next_multiple_of(64)
}

/// A ring in this process's memory, which one peer writes.
pub(super) struct RingIn<R> {
    pub peer: PeerId,
    pages: Pages,
    region: R,
    slots: u32,
    slot_bytes: usize,
    next: Place,
    /// Slots read in all, modulo 2¹⁶, and how many of them the peer has heard of.
    pub freed: u16,
    pub told: u16,
    /// Frames since somebody last compared.
    pub talk: u32,
    /// Whether the peer was asked to write no more.
    pub is_closing: bool,
}

/// What lies in the next slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Nothing,
    /// A frame: where and how many bytes.
    Frame(*const u8, usize),
    /// Its length is impossible.
    Breach,
}

impl<R: Copy> RingIn<R> {
    /// A ring for a peer; `None` if there is no memory for it.
    pub(super) fn open<M: Memory<Region = R>>(
        memory: &mut M,
        peer: PeerId,
        slots: u16,
        slot_bytes: usize,
    ) -> Option<RingIn<R>> {
        let pages = Pages::new(usize::from(slots) * slot_bytes).ok()?;
        // SAFETY: the pages stay mapped until their registration ends; what lies there is looked at by atomic
        // reads and raw copies, and may be anything.
        let region = unsafe { memory.register(pages.base(), pages.len(), Access::Write) }.ok()?;
        Some(RingIn {
            peer,
            pages,
            region,
            slots: slots.into(),
            slot_bytes,
            next: Place::FIRST,
            freed: 0,
            told: 0,
            talk: 0,
            is_closing: false,
        })
    }

    /// Its end.
    pub(super) fn close<M: Memory<Region = R>>(self, memory: &mut M) {
        memory.deregister(self.region);
    }

    /// What its writer needs to know.
    pub(super) fn place<M: Memory<Region = R>>(&self, memory: &M) -> RingPlace {
        let remote = memory.remote(self.region);
        let target = Target { address: remote.base, key: remote.key };
        RingPlace { target, slots: self.slots, slot_bytes: self.slot_bytes as u32 }
    }

    /// Looks at the next slot.
    #[inline]
    pub(super) fn look(&self) -> Next {
        let end = (self.next.slot as usize + 1) * self.slot_bytes;
        let at = self.pages.base().wrapping_add(end - TRAILER_BYTES);
        // SAFETY: within the pages, whose length the slots fill, and aligned, since slots are multiples of 64
        // bytes; the device writes there, so it is read atomically.
        let trailer = unsafe { AtomicU64::from_ptr(at.cast()) }.load(Ordering::Acquire);
        let (len, lap) = (trailer as u32 as usize, (trailer >> 32) as u32);
        if lap != self.next.lap {
            return Next::Nothing;
        }
        if len > self.slot_bytes - TRAILER_BYTES {
            return Next::Breach;
        }
        Next::Frame(at.wrapping_sub(len), len)
    }

    /// The frame in the next slot is taken.
    #[inline]
    pub(super) fn free(&mut self) {
        self.next.step(self.slots);
        self.freed = self.freed.wrapping_add(1);
        self.talk += 1;
    }

    /// Whether the peer must hear how far this end is although nothing else goes there.
    #[inline]
    pub(super) fn is_owed(&self) -> bool {
        u32::from(self.freed.wrapping_sub(self.told)) >= self.slots / 2
    }
}

/// A ring in a peer's memory, which this process writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RingOut {
    place: RingPlace,
    next: Place,
    /// Slots written and read in all, modulo 2¹⁶.
    written: u16,
    freed: u16,
}

impl RingOut {
    /// The ring that a peer has told of, for frames of at most so many bytes; `None` if there is no such ring.
    pub(super) fn new(place: RingPlace, frame_bytes_max: usize) -> Option<RingOut> {
        let slots = (2..=u32::from(SLOTS_MAX)).contains(&place.slots);
        let bytes =
            (slot_bytes(frame_bytes_max) as u32..=SLOT_BYTES_MAX).contains(&place.slot_bytes);
        let fits = slots && bytes && place.slot_bytes.is_multiple_of(8);
        fits.then_some(RingOut { place, next: Place::FIRST, written: 0, freed: 0 })
    }

    /// Whether one more frame has room.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        u32::from(self.written.wrapping_sub(self.freed)) < self.place.slots
    }

    /// The peer has read so many slots in all; false if it cannot have.
    #[inline]
    #[must_use]
    pub(super) fn learn(&mut self, freed: u16) -> bool {
        self.freed = freed;
        u32::from(self.written.wrapping_sub(freed)) <= self.place.slots
    }

    /// Where the next frame of `len` bytes begins, and what stands behind it.
    #[inline]
    pub(super) fn next(&self, len: usize) -> (Target, [u8; TRAILER_BYTES]) {
        let end = (u64::from(self.next.slot) + 1) * u64::from(self.place.slot_bytes);
        let begin = end - (len + TRAILER_BYTES) as u64;
        let address = self.place.target.address.wrapping_add(begin);
        let trailer = (len as u64) | u64::from(self.next.lap) << 32;
        (Target { address, key: self.place.target.key }, trailer.to_le_bytes())
    }

    /// That frame goes.
    #[inline]
    pub(super) fn step(&mut self) {
        self.next.step(self.place.slots);
        self.written = self.written.wrapping_add(1);
    }
}
