//! A stream of pieces from one writer to some readers: a ring of cells and a ring of bodies.
//!
//! A cell is one cache line: its sequence word, written last, says that the piece is there; a
//! piece of up to 48 bytes lies in the cell itself, the body of a longer one beside. Each reader
//! counts what it has consumed in a word of its own, which the writer looks at only when it would
//! else overwrite something. All counts begin at the board's mark, so what an earlier board left
//! in the same memory means nothing.
//!
//! In: pieces of messages. Out: the same, in place.

use mpi_core::boards::{LONG_PIECE, Piece};
use mpi_core::datatype::Packer;

use super::apart::{Apart, Lies};
use super::copies::Copies;
use super::layout::{CELLS, CONSENT};
use crate::copy;
use crate::lap::{Lap, Worn};
use crate::shm::Reach;
use crate::sync::{AtomicU64, Ordering};
use crate::sys::memory::populate;

/// Bytes of a piece that lies in its cell.
pub(super) const INLINE_BYTES: usize = 48;
/// The form of a piece that ends its message.
const LAST: u64 = 1 << 63;
/// The form of a message that lies in the memory of its writer: the cell has address and length.
const APART: u64 = 1 << 31 | LAST;
/// Short bodies, and all while the way round is short, go round in so many times their length, and
/// at least in so many bytes, so that they stay in the cache and few pages are touched.
const WINDOW: usize = 8;
const WINDOW_MIN: usize = 4 << 10;
/// Bodies from this length on go round in all the room that they may use: a line that both processors still
/// hold is dearer to write and to read again than one that has left their own caches.
const LONG_BODY: usize = LONG_PIECE;
/// While the way round is short they are written past the caches instead. Two bare threads that share a
/// last-level cache take 64 KiB in two pieces through 128 KiB in 7.8 µs, and in 4.0 so; through 2 MiB
/// in 2.2 by ordinary copies.
const STREAMED_BODY: usize = LONG_BODY;
/// Where ranks share processors, messages for one reader are fetched until so many bytes were, even if that costs
/// the kernel more than two copies, rather than that the ring gets pages for them: 64 KiB of those cost 60 µs, on a
/// Zen 4 where fetching 64 KiB takes 8 µs and two copies 3.3.
const FETCHED_FIRST: u64 = 1 << 20;
/// A reader need not find the pages beyond these one after the other: the writer has got them all.
const PAGES_FIRST: usize = 128 << 10;

/// A cell. `form` has the length in its low half, the place of the body above, and `LAST`.
#[repr(C, align(64))]
pub(super) struct Cell {
    seq: AtomicU64,
    form: AtomicU64,
    payload: [AtomicU64; INLINE_BYTES / 8],
}

const _: () = assert!(size_of::<Cell>() == 64);

impl Cell {
    fn set_apart(&self, Apart { at: Lies { address, offset }, len, back }: Apart) {
        for (word, value) in self.payload.iter().zip([address, len, back, offset]) {
            word.store(value, Ordering::Relaxed);
        }
    }

    fn apart(&self) -> Apart {
        let [address, len, back, offset] =
            std::array::from_fn(|word| self.payload[word].load(Ordering::Relaxed));
        Apart { at: Lies { address, offset }, len, back }
    }
}

/// Bytes for the bodies of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    /// In which they go round.
    pub usual: usize,
    /// The same with what lies beyond, for what is not read yet where ranks share processors.
    pub all: usize,
}

/// The writing end.
pub(super) struct Outbound {
    cells: *const Cell,
    body: *mut u8,
    room: Room,
    /// Long bodies go round in so many bytes.
    lap: Lap,
    worn: Worn,
    mark: u64,
    /// Pieces written.
    next: u64,
    /// Pieces that all readers are known to have consumed.
    consumed: u64,
    /// Where the next body begins.
    at: usize,
    /// Where the bodies of the last pieces lie.
    bodies: [(usize, usize); CELLS],
    counters: Vec<Counter>,
    reach: Reach,
    copies: Copies,
    /// Ranks share processors.
    crowded: bool,
    /// Whether all readers fetch what they are shown; unknown as long as one has said nothing.
    fetched: Option<bool>,
    /// The piece that was shown last, and the bytes of all.
    apart: u64,
    apart_bytes: u64,
}

/// What a reader counts in.
struct Counter {
    at: *const AtomicU64,
    /// What the last look showed.
    seen: Option<u64>,
    /// It has not said what it did with the piece that was shown last.
    open: bool,
}

/// What readers did with a piece that was shown.
pub(super) enum Answer {
    /// One has said nothing yet.
    Waits,
    /// This one could not fetch it.
    Refused(usize),
    /// There is no more to say.
    Taken,
}

impl Counter {
    /// Whether the reader says that it fetches what it is shown.
    fn consents(&self, mark: u64) -> bool {
        // SAFETY: the counter is mapped, and so is the rest of its line (see `layout`).
        let word = unsafe { &*self.at.wrapping_byte_add(CONSENT) };
        word.load(Ordering::Relaxed) == !mark
    }
}

// SAFETY: the pointers lead into shared memory that the board's owner keeps mapped; any thread
// may use them, one at a time.
unsafe impl Send for Outbound {}

impl Outbound {
    /// The writing end of a stream with these cells and this room for bodies.
    ///
    /// # Safety
    /// All of it stays mapped as long as this lives, cells and counters are aligned, and nobody
    /// else writes to the cells and bodies.
    pub(super) unsafe fn new(
        cells: *const Cell,
        body: *mut u8,
        room: Room,
        mark: u64,
        counters: Vec<*const AtomicU64>,
    ) -> Outbound {
        let bodies = [(0, 0); CELLS];
        let reach = Reach::default();
        let (lap, worn) = (Lap::at_once(room.usual as u64), Worn::new(0));
        let counters =
            counters.into_iter().map(|at| Counter { at, seen: None, open: false }).collect();
        let (next, consumed, at) = (0, 0, 0);
        Outbound {
            cells,
            body,
            room,
            lap,
            worn,
            mark,
            next,
            consumed,
            at,
            bodies,
            counters,
            reach,
            copies: Copies::default(),
            crowded: false,
            fetched: None,
            apart: 0,
            apart_bytes: 0,
        }
    }

    pub(super) fn room(&self) -> usize {
        self.room.usual
    }

    /// Lets long bodies go round in half the room at most: where ranks share processors, those
    /// that come one after the other on one find more in its caches.
    pub(super) fn narrow(&mut self, crowded: bool) {
        let room = self.room.usual as u64;
        self.crowded = crowded;
        self.lap = if crowded { Lap::crowded(room / 2) } else { Lap::at_once(room) };
    }

    /// Writes the next `len` bytes of `source`, if there is room; where ranks share processors long ones
    /// go round in `round` bytes as far as readers keep up.
    #[inline]
    pub(super) fn write(
        &mut self,
        source: &mut Packer,
        len: usize,
        last: bool,
        round: usize,
    ) -> bool {
        if self.next - self.consumed >= CELLS as u64 && !self.look(self.next - CELLS as u64) {
            return false;
        }
        let place = (self.next % CELLS as u64) as usize;
        // SAFETY: within the ring of cells, by `new`'s promise.
        let cell = unsafe { &*self.cells.add(place) };
        let mut form = len as u64 | if last { LAST } else { 0 };
        if len <= INLINE_BYTES {
            self.bodies[place] = (0, 0);
            let at = cell.payload.as_ptr().cast_mut().cast();
            // SAFETY: the cell has the room, and no reader looks at it before its sequence word.
            unsafe { source.pack_into(at, len) };
        } else {
            let Some(at) = self.make_place(len, round) else { return false };
            self.bodies[place] = (at, at + len);
            self.at = (at + len).next_multiple_of(64);
            self.touch(at, len, round);
            form |= (at as u64) << 32;
            let streamed = self.lap.is_short() && len >= STREAMED_BODY;
            // SAFETY: `make_place` found `len` unused bytes within the room.
            unsafe {
                let to = self.body.add(at);
                if streamed {
                    self.reach.goes_past(len);
                    copy::pack_streamed(source, to, len);
                } else if self.crowded {
                    self.copies.pack(&mut self.reach, source, to, len);
                } else {
                    self.reach.pack(source, to, len);
                }
            }
        }
        cell.form.store(form, Ordering::Relaxed);
        self.next += 1;
        cell.seq.store(self.mark.wrapping_add(self.next), Ordering::Release);
        true
    }

    /// Shows a whole message in this process's memory, if all readers fetch such.
    pub(super) fn show(&mut self, apart: Apart) -> bool {
        if !self.may_show() {
            return false;
        }
        let place = (self.next % CELLS as u64) as usize;
        // SAFETY: within the ring of cells, by `new`'s promise.
        let cell = unsafe { &*self.cells.add(place) };
        self.bodies[place] = (0, 0);
        cell.set_apart(apart);
        cell.form.store(APART, Ordering::Relaxed);
        // The looks at who has read it are tried as those behind copies are.
        self.reach.goes_past(apart.len as usize);
        self.apart = self.next;
        self.apart_bytes = self.apart_bytes.saturating_add(apart.len);
        if self.is_near() && !self.crowded {
            // What a near reader fetches earns the ring the pages with which it would be the better way: 1.3 ms
            // by some 40 µs a MiB.
            self.lap.carry(apart.len / 2);
        }
        self.counters.iter_mut().for_each(|reader| reader.open = true);
        self.next += 1;
        cell.seq.store(self.mark.wrapping_add(self.next), Ordering::Release);
        true
    }

    /// Whether readers proved near.
    pub(super) fn is_near(&self) -> bool {
        self.reach.is_near()
    }

    /// Whether the ring has all the way round.
    pub(super) fn is_long(&self) -> bool {
        !self.lap.is_short()
    }

    /// What a test wants to be found out about the readers.
    #[cfg(test)]
    pub(super) fn prove(&mut self, is_near: bool) {
        self.reach = Reach::proved(is_near);
    }

    /// Whether a message of so many bytes would need pages that the ring has not got, nor earned.
    pub(super) fn spares_pages(&self, len: u64) -> bool {
        self.worn.ends_before(len) && self.apart_bytes < FETCHED_FIRST
    }

    /// Whether a message can be shown now.
    pub(super) fn may_show(&mut self) -> bool {
        let cells = CELLS as u64;
        self.is_fetched() && (self.next - self.consumed < cells || self.look(self.next - cells))
    }

    /// Whether all readers have said that they fetch, and none has refused to.
    fn is_fetched(&mut self) -> bool {
        if self.fetched.is_none() && self.counters.iter().all(|reader| reader.consents(self.mark)) {
            self.fetched = Some(true);
        }
        self.fetched == Some(true)
    }

    /// What readers did with the piece that was shown last. Who refuses says so before it counts the
    /// piece, and nothing more is shown in the stream meanwhile.
    pub(super) fn shown(&mut self) -> Answer {
        while let Some(reader) = self.answering() {
            self.counters[reader].open = false;
            if !self.counters[reader].consents(self.mark) {
                self.fetched = Some(false);
                return Answer::Refused(reader);
            }
        }
        match self.counters.iter().any(|reader| reader.open) {
            true => Answer::Waits,
            false => Answer::Taken,
        }
    }

    /// Whether there is an answer now.
    pub(super) fn has_answer(&mut self) -> bool {
        self.answering().is_some() || self.counters.iter().all(|reader| !reader.open)
    }

    /// A reader that has counted the piece and has not been asked.
    fn answering(&mut self) -> Option<usize> {
        if self.consumed <= self.apart {
            self.look(self.apart);
        }
        let (mark, next, apart) = (self.mark, self.next, self.apart);
        let has_counted = |reader: &Counter| {
            let count = reader.seen.map_or(0, |count| count.wrapping_sub(mark));
            count > apart && count <= next
        };
        self.counters.iter().position(|reader| reader.open && has_counted(reader))
    }

    /// Bodies of this length go round in so many bytes.
    #[inline]
    fn window(&self, len: usize, round: usize) -> usize {
        let lap = self.lap.bytes() as usize;
        if len < LONG_BODY || self.lap.is_short() {
            return (WINDOW * len).next_power_of_two().clamp(WINDOW_MIN, lap);
        }
        match self.crowded && !self.reach.is_far() {
            true => lap.min(round).max(len),
            false => lap,
        }
    }

    /// Where a body of `len` bytes can lie without harm to one that is still read. Where ranks share
    /// processors a long one may lie beyond the way round, since waiting for a reader costs a turn
    /// of each of them, which is more than new pages do.
    #[inline]
    fn make_place(&mut self, len: usize, round: usize) -> Option<usize> {
        let place = self.place_within(len, self.window(len, round));
        if place.is_some() || !self.crowded || len < LONG_BODY {
            return place;
        }
        self.place_within(len, self.room.usual / 2).or_else(|| self.place_behind(len))
    }

    /// Where a body of `len` bytes can lie behind all that are still read.
    #[cold]
    fn place_behind(&self, len: usize) -> Option<usize> {
        let read = self.consumed.max(self.next.saturating_sub(CELLS as u64))..self.next;
        let ends = read.map(|piece| self.bodies[(piece % CELLS as u64) as usize].1);
        let at = ends.max().unwrap_or(0).next_multiple_of(64);
        (at + len <= self.room.all).then_some(at)
    }

    /// The same within so many bytes.
    fn place_within(&mut self, len: usize, window: usize) -> Option<usize> {
        if len > window {
            return None;
        }
        let at = if self.at + len <= window { self.at } else { 0 };
        let oldest = self.consumed.max(self.next.saturating_sub(CELLS as u64));
        let overlaps = |piece: &u64| {
            let (begin, end) = self.bodies[(piece % CELLS as u64) as usize];
            begin < at + len && at < end
        };
        match (oldest..self.next).rev().find(overlaps) {
            Some(piece) if !self.look(piece) => None,
            _ => Some(at),
        }
    }

    /// Counts a body, and gets the pages that it is the first to use: its readers find them too.
    #[inline]
    fn touch(&mut self, at: usize, len: usize, round: usize) {
        if self.worn.ends_before((at + len) as u64) {
            self.get(at, len, round);
        }
        if len >= LONG_BODY {
            self.lap.carry(len as u64);
        }
    }

    #[cold]
    #[inline(never)]
    fn get(&mut self, at: usize, len: usize, round: usize) {
        let window = self.window(len, round).max(at + len) as u64;
        if let Some((from, len)) = self.worn.step(at as u64, len as u64, window) {
            populate(self.body.wrapping_add(from as usize), len as usize, true);
        }
    }

    /// Whether all readers have consumed the piece of this number.
    #[cold]
    fn look(&mut self, piece: u64) -> bool {
        let mut least = self.next;
        let warms = self.crowded && self.counters.len() == 1;
        for Counter { at, seen, .. } in &mut self.counters {
            if warms {
                // So the page is known when a load is timed: after a change of processes it often is
                // not, and to find it takes as long as a line does that comes from a far cache. (What
                // all read, some of them on this processor, is better not found far so surely.)
                // SAFETY: mapped, since the words for two writers are two lines apart.
                unsafe { (*at).cast::<u8>().wrapping_add(64).read_volatile() };
                copy::finish_loads();
            }
            let count = self.reach.look(|| {
                // SAFETY: mapped and aligned by `new`'s promise.
                let count = unsafe { (**at).load(Ordering::Acquire) };
                (count, seen.replace(count).is_some_and(|seen| seen != count))
            });
            let count = count.wrapping_sub(self.mark);
            // What is no count of this board is what an earlier one left there.
            least = least.min(if count > self.next { 0 } else { count });
        }
        self.consumed = self.consumed.max(least);
        self.consumed > piece
    }

    /// Whether a piece of the largest size that was in vain has room now.
    pub(super) fn has_room(&mut self, len: usize, round: usize) -> bool {
        let cell = self.next - self.consumed < CELLS as u64 || self.look(self.next - CELLS as u64);
        cell && (len <= INLINE_BYTES || self.make_place(len, round).is_some())
    }
}

/// One reading end.
pub(super) struct Inbound {
    cells: *const Cell,
    body: *const u8,
    room: Room,
    mark: u64,
    next: u64,
    counter: *const AtomicU64,
    /// Bodies that end here or before are read without further ado.
    known: usize,
}

// SAFETY: as for `Outbound`.
unsafe impl Send for Inbound {}

impl Inbound {
    /// A reading end, which counts at `counter`.
    ///
    /// # Safety
    /// As [`Outbound::new`]; nobody else writes the counter.
    pub(super) unsafe fn new(
        cells: *const Cell,
        body: *const u8,
        room: Room,
        mark: u64,
        counter: *const AtomicU64,
    ) -> Inbound {
        Inbound { cells, body, room, mark, next: 0, counter, known: PAGES_FIRST }
    }

    /// Leaves all pages to be found one by one.
    pub(super) fn narrow(&mut self, crowded: bool) {
        self.known = if crowded { self.room.all } else { PAGES_FIRST };
    }

    /// The next piece, if it is there. One whose form cannot be is empty and the last.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<Piece> {
        // SAFETY: within the ring of cells, by `new`'s promise.
        let cell = unsafe { &*self.cells.add((self.next % CELLS as u64) as usize) };
        if cell.seq.load(Ordering::Acquire) != self.mark.wrapping_add(self.next + 1) {
            return None;
        }
        let form = cell.form.load(Ordering::Relaxed);
        let (len, last) = (form as u32 as usize, form & LAST != 0);
        if len <= INLINE_BYTES {
            return Some(Piece { at: cell.payload.as_ptr().cast(), len, last, apart: 0 });
        }
        let at = ((form & !LAST) >> 32) as usize;
        if at + len > self.room.all {
            return Some(self.apart_piece(cell, form));
        }
        if at + len > self.known {
            self.get();
        }
        Some(Piece { at: self.body.wrapping_add(at), len, last, apart: 0 })
    }

    /// A piece whose form asks for more room than there is: one apart, or none at all.
    #[cold]
    #[inline(never)]
    fn apart_piece(&self, cell: &Cell, form: u64) -> Piece {
        let apart = if form == APART { cell.apart().len } else { 0 };
        Piece { at: self.body, len: 0, last: true, apart }
    }

    /// Maps the pages that the writer has got.
    #[cold]
    #[inline(never)]
    fn get(&mut self) {
        let at = self.body.wrapping_add(self.known).cast_mut();
        populate(at, self.room.usual.saturating_sub(self.known), false);
        self.known = self.room.all;
    }

    /// Where the piece that `peek` shows lies, if it is one apart.
    pub(super) fn apart(&self) -> Option<Apart> {
        // SAFETY: within the ring of cells, by `new`'s promise.
        let cell = unsafe { &*self.cells.add((self.next % CELLS as u64) as usize) };
        (cell.form.load(Ordering::Relaxed) == APART).then(|| cell.apart())
    }

    /// Tells the writer that its pieces are fetched.
    pub(super) fn consent(&mut self) {
        self.say(!self.mark);
    }

    /// Tells the writer that they are not, this one and all that come.
    pub(super) fn refuse(&mut self) {
        self.say(self.mark);
    }

    fn say(&self, word: u64) {
        // SAFETY: the counter is mapped, and so is the rest of its line (see `layout`).
        let consent = unsafe { &*self.counter.wrapping_byte_add(CONSENT) };
        consent.store(word, Ordering::Relaxed);
    }

    /// Gives the piece back that `peek` shows.
    #[inline]
    pub(super) fn consume(&mut self) {
        self.next += 1;
        // SAFETY: mapped and aligned by `new`'s promise.
        unsafe { (*self.counter).store(self.mark.wrapping_add(self.next), Ordering::Release) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn long_bodies_go_round_in_their_share_of_the_caches_where_ranks_share_processors() {
        let room = Room { usual: 1 << 20, all: 2 << 20 };
        // SAFETY: nothing is written, and no counter looked at.
        let mut stream = unsafe { Outbound::new(ptr::null(), ptr::null_mut(), room, 0, vec![]) };
        let (long, short) = (16 << 10, 1000);
        stream.narrow(true);
        while stream.lap.grow() {}
        assert_eq!(stream.window(long, 100_000), 100_000);
        assert_eq!(stream.window(200_000, 100_000), 200_000);
        assert_eq!(stream.window(long, 1 << 21), 512 << 10, "half of the room is the most");
        assert_eq!(stream.window(short, 5000), 8192);
        stream.narrow(false);
        while stream.lap.grow() {}
        assert_eq!(stream.window(long, 100_000), 1 << 20);
    }
}
