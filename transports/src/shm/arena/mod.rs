//! Arenas: this process's own, and those of peers as mapped here.
//!
//! An address in an arena is made here and nowhere else, after a check of offset and length
//! against the mapping; all that other modules hold are such addresses.

mod alloc;
pub(in crate::shm) mod layout;
mod parts;
mod programs;
mod views;

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::ring::exchange::Exchange;
use super::ring::lane::{Cell, Reader, Writer};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::sys::memory::{Backing, Mapping};
use crate::sys::shared_file::SharedFile;
use crate::working_set::Touched;
use alloc::Allocator;
use layout::Geometry;
use parts::Parts;
use views::Views;

/// Version of everything in an arena and of the hello.
pub(in crate::shm) const VERSION: u32 = 8;

/// The arena that this process made.
pub(crate) struct Arena {
    /// What messages need.
    map: Mapping,
    /// The rest, as far as it is used.
    views: Views,
    geometry: Geometry,
    is_shared: bool,
    allocator: Allocator,
    parts: Parts,
}

impl Arena {
    /// A new arena.
    pub(in crate::shm) fn new(geometry: Geometry) -> io::Result<Arena> {
        Arena::of(SharedFile::new(geometry.total())?, geometry, true)
    }

    /// One that no other process can map, where the kernel gives none that it could, and without memory for programs.
    pub(in crate::shm) fn unshared(geometry: Geometry) -> io::Result<Arena> {
        let geometry = Geometry { alloc_bytes: 0, ..geometry };
        Arena::of(SharedFile::unshared(geometry.total())?, geometry, false)
    }

    fn of(file: SharedFile, geometry: Geometry, is_shared: bool) -> io::Result<Arena> {
        if !geometry.is_sound() {
            return Err(io::Error::other(format!("the settings make no arena: {geometry:?}")));
        }
        let map = Mapping::new(&file, 0, geometry.ring_end() as usize)?;
        let views = Views::of_own(file, geometry.ring_end()..geometry.total());
        let allocator = Allocator::new(geometry.alloc_at(), geometry.alloc_bytes);
        let parts = Parts::default();
        let arena = Arena { map, views, geometry, is_shared, allocator, parts };
        let probe = getrandom::u64().map_err(io::Error::other)?;
        arena.word64(layout::PROBE).store(probe, Ordering::Relaxed);
        arena.word(layout::VERSION).store(VERSION, Ordering::Relaxed);
        Ok(arena)
    }

    /// Whether other processes can map it.
    pub(in crate::shm) fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub(in crate::shm) fn fd(&self) -> BorrowedFd<'_> {
        self.file().as_fd()
    }

    /// Whether peers can still find it among the descriptors of this process.
    pub(in crate::shm) fn is_findable(&self) -> bool {
        self.views.file().is_some_and(SharedFile::is_there)
    }

    fn file(&self) -> &SharedFile {
        self.views.file().expect("views of the own arena keep its file")
    }

    /// The file behind memory for programs that is in use.
    pub(in crate::shm) fn backing(&self, offset: u64, len: u64) -> Option<Backing> {
        self.views.backing(offset, len)
    }

    pub(in crate::shm) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset + 4 <= self.map.len() && offset.is_multiple_of(4));
        // SAFETY: within the mapping and aligned, and of a type that others may write.
        unsafe { &*self.map.base().add(offset).cast() }
    }

    fn word64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset + 8 <= self.map.len() && offset.is_multiple_of(8));
        // SAFETY: as for `word`.
        unsafe { &*self.map.base().add(offset).cast() }
    }

    /// The word that says how to wake this process; 0 while it is awake.
    pub(in crate::shm) fn parked(&self) -> &AtomicU32 {
        self.word(layout::PARKED)
    }

    /// Tells peers that this process has left for good.
    pub(in crate::shm) fn leave(&self) {
        self.word(layout::LEFT).store(1, Ordering::SeqCst);
    }

    /// Address and value of the word that shows a peer whether it may read this process.
    pub(in crate::shm) fn probe(&self) -> (u64, u64) {
        let word = self.word64(layout::PROBE);
        (std::ptr::from_ref(word) as u64, word.load(Ordering::Relaxed))
    }

    /// Shows this to all who come in.
    pub(in crate::shm) fn publish_connection_record(
        &self,
        record: &[u8; layout::CONNECTION_RECORD_BYTES],
    ) {
        let at = self.at(layout::CONNECTION_RECORD as u64, record.len());
        // SAFETY: `at` checked the range, in the control page; who reads it meanwhile finds a hash that is not right.
        unsafe { record.as_ptr().copy_to_nonoverlapping(at, record.len()) };
    }

    /// Whether the writer of a lane has asked for a connection.
    pub(in crate::shm) fn has_connect_request(&self, lane: u32) -> bool {
        self.word(self.geometry.connect_flag(lane)).load(Ordering::Acquire) != 0
    }

    /// The reading end of an inbound lane, taken once.
    pub(in crate::shm) fn reader(&self, lane: u32) -> Reader {
        let (cells, counter) = ends(&self.map, &self.geometry, lane);
        // SAFETY: `ends` checked both ranges; the arena outlives its readers; only this process writes its counters.
        unsafe { Reader::new(cells, counter, self.geometry.cells) }
    }

    /// The exchange buffer of a lane, taken once: this process holds it first.
    pub(in crate::shm) fn exchange(&mut self, lane: u32) -> io::Result<Exchange> {
        exchange(&mut self.views, &self.geometry, lane, true)
    }

    /// The address of `len` bytes at an offset that this process chose.
    #[inline]
    pub(in crate::shm) fn at(&self, offset: u64, len: usize) -> *mut u8 {
        let end = offset as usize + len;
        assert!(end <= self.map.len(), "offset {offset} + {len} is outside the arena");
        self.map.base().wrapping_add(offset as usize)
    }

    /// The address of `len` bytes for programs at an offset that this process chose; maps them if need be.
    pub(in crate::shm) fn allocated(&mut self, offset: u64, len: u64) -> io::Result<*mut u8> {
        self.views.ample(offset, len)
    }

    /// The offset of `len` bytes at `address`, if they lie in the memory for programs.
    #[inline]
    pub(in crate::shm) fn offset_of(&self, address: *const u8, len: u64) -> Option<u64> {
        self.views.offset_of(address, len).filter(|offset| *offset >= self.geometry.alloc_at())
    }

    /// Gets the pages of `len` bytes at `offset` before they are written.
    pub(in crate::shm) fn populate(&self, offset: u64, len: u64) {
        self.map.populate(offset as usize, len as usize, true);
    }

    /// Gives pages of the memory for programs back to the kernel.
    pub(in crate::shm) fn release(&self, offset: u64, len: u64) {
        self.file().release(offset, len);
    }
}

/// The arena of a peer, mapped here. The mapping keeps the memory alive when the peer is gone.
pub(in crate::shm) struct Remote {
    /// What messages need.
    map: Mapping,
    /// The rest, as far as it is used.
    views: Views,
    geometry: Geometry,
    /// How far the ring has been read.
    touched: Touched,
    /// Where its slots begin and its chunks end: every longer message is checked against it.
    bodies: Range<u64>,
}

impl Remote {
    /// Maps the arena behind a descriptor that came with a hello.
    pub(in crate::shm) fn new(fd: OwnedFd, geometry: Geometry) -> io::Result<Remote> {
        if !geometry.is_sound() {
            return Err(io::Error::other(format!("its arena cannot be: {geometry:?}")));
        }
        let file = SharedFile::adopt(fd)?;
        let (size, total) = (file.size(), geometry.total());
        if size < total {
            return Err(io::Error::other(format!("its arena has {size} bytes, not {total}")));
        }
        let map = Mapping::new(&file, 0, geometry.ring_end() as usize)?;
        let views = Views::of_peer(file, geometry.ring_end()..total)?;
        let bodies = geometry.slots_at()..geometry.ring_end();
        Ok(Remote { map, views, geometry, touched: Touched::new(geometry.ring_at()), bodies })
    }

    /// The writing end of the lane that the peer gave this process.
    pub(in crate::shm) fn writer(&self, lane: u32) -> io::Result<Writer> {
        if lane >= self.geometry.lanes {
            return Err(io::Error::other(format!("it has no lane {lane}")));
        }
        let (cells, counter) = ends(&self.map, &self.geometry, lane);
        // SAFETY: `ends` checked both ranges, `is_sound` the number of cells; `Peer` keeps the
        // mapping as long as the writer. A peer that gives one lane twice harms itself.
        Ok(unsafe { Writer::new(cells, counter, self.geometry.cells) })
    }

    /// The exchange buffer of the lane that the peer gave this process: the peer holds it first.
    pub(in crate::shm) fn exchange(&mut self, lane: u32) -> io::Result<Exchange> {
        if lane >= self.geometry.lanes {
            return Err(io::Error::other(format!("it has no lane {lane}")));
        }
        exchange(&mut self.views, &self.geometry, lane, false)
    }

    /// Asks for a connection as the writer of a lane, which `writer` has checked.
    pub(in crate::shm) fn request_connection(&self, lane: u32) {
        assert!(lane < self.geometry.lanes && self.geometry.ring_end() as usize <= self.map.len());
        let at = self.map.base().wrapping_add(self.geometry.connect_flag(lane)).cast::<AtomicU32>();
        // SAFETY: behind the connection record, which is mapped; aligned; others may write it.
        unsafe { (*at).store(1, Ordering::SeqCst) };
    }

    /// The peer's parked word.
    pub(in crate::shm) fn parked(&self) -> *const AtomicU32 {
        self.map.base().wrapping_add(layout::PARKED).cast()
    }

    /// Whether the peer has left for good.
    pub(in crate::shm) fn has_left(&self) -> bool {
        let word = self.map.base().wrapping_add(layout::LEFT).cast::<AtomicU32>();
        // SAFETY: in the control page, which is mapped; aligned; others may write it.
        unsafe { (*word).load(Ordering::Acquire) != 0 }
    }

    /// The address of a body that a frame says lies in the peer's slots or ring.
    #[inline]
    pub(in crate::shm) fn body(&self, offset: u64, len: u64) -> Option<*const u8> {
        let inside = offset >= self.bodies.start
            && offset.checked_add(len).is_some_and(|end| end <= self.bodies.end);
        inside.then(|| self.map.base().wrapping_add(offset as usize).cast_const())
    }

    /// Whether the peer has memory for programs.
    pub(in crate::shm) fn has_memory(&self) -> bool {
        self.geometry.alloc_bytes > 0
    }

    /// Gets the pages of a body in the peer's ring before they are read, with more of those behind it.
    #[inline(always)]
    pub(in crate::shm) fn approach(&mut self, offset: u64, len: u64) {
        if self.touched.ends_before(offset + len) {
            self.get(offset, len);
        }
    }

    #[cold]
    #[inline(never)]
    fn get(&mut self, offset: u64, len: u64) {
        if let Some((from, len)) = self.touched.step(offset, len, self.geometry.ring_end()) {
            self.map.populate(from as usize, len as usize, false);
        }
    }

    /// The address of bytes that an offer says lie in the peer's memory for programs; maps them if need be.
    #[inline]
    pub(in crate::shm) fn allocated(&mut self, offset: u64, len: u64) -> io::Result<*mut u8> {
        if offset < self.geometry.alloc_at() {
            return Err(io::Error::other(format!("{offset} is not in its memory for programs")));
        }
        self.views.ample(offset, len)
    }
}

/// Where a lane's cells and its counter lie.
fn ends(map: &Mapping, geometry: &Geometry, lane: u32) -> (*const Cell, *const AtomicU32) {
    assert!(lane < geometry.lanes && geometry.ring_end() as usize <= map.len());
    let cells = map.base().wrapping_add(geometry.cells_of(lane));
    let counter = map.base().wrapping_add(geometry.counter(lane));
    (cells.cast_const().cast(), counter.cast_const().cast())
}

/// The exchange buffer of a lane, which this process holds or not.
fn exchange(views: &mut Views, geometry: &Geometry, lane: u32, held: bool) -> io::Result<Exchange> {
    assert!(lane < geometry.lanes);
    let len = geometry.exchange_bytes;
    if len == 0 {
        return Ok(Exchange::none());
    }
    let at = views.just(geometry.exchange_of(lane), len)?;
    // SAFETY: the view is mapped as long as the arena, which is kept as long as the peer whose lane this is.
    Ok(unsafe { Exchange::new(at, len, held) })
}
