//! The memory of windows: the one place where one-sided communication touches it.
//!
//! A segment begins with one line for each process, which the processes use to exclude each other;
//! the windows' bytes follow. Programs load and store there at any time, so bytes are moved by raw
//! copies alone, and lines by atomics.
#![allow(unsafe_code)]

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::buffer::{RawBytes, UserBuffer};
use crate::datatype::{Datatype, Packer, Unpacker};
use crate::error::Result;
use crate::lists::listed;
use crate::op::{Kernel, Update};

/// Bytes of a line: the cache's, so that processes that wait for one target do not disturb those
/// that wait for another.
const LINE: u64 = 64;

/// Bytes before those of the windows of so many processes, which begin at a multiple of `align`.
pub(crate) fn lines_of(size: u32, align: u64) -> Option<u64> {
    (u64::from(size) * LINE).checked_next_multiple_of(align)
}

/// Memory that several processes have mapped, as this one sees it.
pub struct WindowSegment {
    base: *mut u8,
    len: u64,
    /// Unmaps the memory when dropped.
    _keeper: Box<dyn Any>,
}

impl WindowSegment {
    /// The `len` bytes at `base`.
    ///
    /// # Safety
    /// They are readable and writable as long as `keeper` lives, and `base` is aligned to a page.
    pub unsafe fn new(base: *mut u8, len: u64, keeper: Box<dyn Any>) -> WindowSegment {
        WindowSegment { base, len, _keeper: keeper }
    }

    /// The address of `len` bytes at `offset`.
    pub(crate) fn at(&self, offset: u64, len: u64) -> UserBuffer {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(inside, "{len} bytes at {offset} are outside a segment of {} bytes", self.len);
        UserBuffer(self.base.wrapping_add(offset as usize))
    }
}

/// The words by which processes exclude each other at one target.
///
/// Both locks are of tickets, so that who comes first is served first: that of epochs is the
/// readers-and-writers lock of Mellor-Crummey and Scott (Scalable reader-writer synchronization
/// for shared-memory multiprocessors, 1991) in its form of three counters.
#[derive(Clone)]
pub(crate) struct Line {
    segment: Rc<WindowSegment>,
    offset: u64,
}

/// Words of a line.
#[derive(Clone, Copy)]
enum Word {
    /// Tickets of the epochs' lock that were drawn.
    Tickets,
    /// The ticket that may enter to share.
    Sharing,
    /// The ticket that may enter alone.
    Alone,
    /// Tickets of the accumulates' lock that were drawn.
    Updates,
    /// The ticket that may update.
    Updating,
}

impl Line {
    /// The line of the process with this rank.
    pub(crate) fn of(segment: &Rc<WindowSegment>, rank: u32) -> Line {
        let offset = u64::from(rank) * LINE;
        segment.at(offset, LINE);
        Line { segment: Rc::clone(segment), offset }
    }

    fn word(&self, word: Word) -> &AtomicU32 {
        let at = self.segment.at(self.offset + 4 * word as u64, 4).0;
        // SAFETY: within the segment, which lives as long as this line; aligned, since the segment
        // begins on a page; and of a type that other processes may write.
        unsafe { &*at.cast() }
    }

    fn count(&self, word: Word) {
        self.word(word).fetch_add(1, Ordering::Release);
    }

    fn draw(&self, word: Word) -> u32 {
        self.word(word).fetch_add(1, Ordering::Relaxed)
    }

    fn is_at(&self, word: Word, ticket: u32) -> bool {
        self.word(word).load(Ordering::Acquire) == ticket
    }

    /// A place in the queue of the epochs' lock.
    pub(crate) fn queue(&self) -> u32 {
        self.draw(Word::Tickets)
    }

    /// Whether the lock is this ticket's now.
    pub(crate) fn enter(&self, ticket: u32, alone: bool) -> bool {
        if alone {
            return self.is_at(Word::Alone, ticket);
        }
        let mine = self.is_at(Word::Sharing, ticket);
        if mine {
            self.count(Word::Sharing);
        }
        mine
    }

    /// Gives the epochs' lock back.
    pub(crate) fn leave(&self, alone: bool) {
        if alone {
            self.count(Word::Sharing);
        }
        self.count(Word::Alone);
    }

    /// A place in the queue of the accumulates' lock.
    pub(crate) fn queue_update(&self) -> u32 {
        self.draw(Word::Updates)
    }

    /// Whether this ticket may update the target's memory now.
    pub(crate) fn may_update(&self, ticket: u32) -> bool {
        self.is_at(Word::Updating, ticket)
    }

    /// Lets the next one update.
    pub(crate) fn end_update(&self) {
        self.count(Word::Updating);
    }
}

/// Elements of user memory or of a window.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) at: UserBuffer,
    pub(crate) count: i64,
    pub(crate) datatype: Arc<Datatype>,
}

impl Span {
    /// Bytes of data.
    pub(crate) fn bytes(&self) -> Option<u64> {
        u64::try_from(self.count).ok()?.checked_mul(self.datatype.size())
    }

    fn packer(&self) -> Packer {
        Packer::new(self.at, self.count, &self.datatype)
    }

    fn unpacker(&self) -> Unpacker {
        Unpacker::new(self.at, self.count, &self.datatype)
    }

    /// The data, packed.
    fn gather(&self) -> Vec<u8> {
        let mut packer = self.packer();
        let len = packer.remaining() as usize;
        let mut bytes = Vec::with_capacity(len);
        // SAFETY: there is room for all, which is written; the memory is readable, by the
        // standard's rules for origin buffers, or lies in the window.
        unsafe {
            packer.pack_into(bytes.as_mut_ptr(), len);
            bytes.set_len(len);
        }
        bytes
    }

    fn scatter(&self, bytes: &[u8]) {
        // SAFETY: the memory is writable, by the standard's rules or as part of the window.
        unsafe { self.unpacker().unpack_from(RawBytes::from(bytes)) };
    }
}

/// Copies the data of one span into another.
pub(crate) fn copy(from: &Span, to: &Span) {
    let (mut packer, mut unpacker) = (from.packer(), to.unpacker());
    while let Some((at, len)) = packer.next_run(usize::MAX) {
        // SAFETY: one span is the program's and one lies in the window, and the standard forbids that
        // they overlap (§12.3); or one is an array of the library's own.
        unsafe { unpacker.unpack_from(RawBytes::new(at, len)) };
    }
}

/// Orders this process's loads and stores, for those that others share a window with.
pub(crate) fn order() {
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// What the elements of a target become, which are made of the named datatype `basic`.
pub(crate) struct Change {
    how: Update,
    basic: Arc<Datatype>,
    /// Room for both sides as arrays of the named datatype, gaps of pairs included, where one is none; it is had before
    /// others wait for the update to end.
    arrays: Option<[Vec<u8>; 2]>,
}

impl Change {
    /// That `how` makes of the elements `to` by those of `from`.
    ///
    /// # Errors
    /// As [`listed`].
    pub(crate) fn new(
        (how, basic): (Update, Arc<Datatype>),
        from: &Span,
        to: &Span,
    ) -> Result<Change> {
        let is_dense = |span: &Span| is_array_of(&span.datatype, &basic);
        let arrays = match how {
            Update::Reduce(_) if !(is_dense(from) && is_dense(to)) => {
                let bytes = elements(from, &basic).saturating_mul(basic.extent() as usize);
                let room = || listed(std::iter::repeat_n(0u8, bytes));
                Some([room()?, room()?])
            }
            _ => None,
        };
        Ok(Change { how, basic, arrays })
    }

    /// Makes it; the caller has the target's lock of updates.
    pub(crate) fn make(&mut self, from: &Span, to: &Span) {
        match self.how {
            Update::Nothing => {}
            Update::Replace => copy(from, to),
            Update::Reduce(kernel) => self.reduce(kernel, from, to),
        }
    }

    /// `to[i] = from[i] op to[i]`, element by element.
    fn reduce(&mut self, kernel: Kernel, from: &Span, to: &Span) {
        let count = elements(from, &self.basic);
        let Some(arrays) = &mut self.arrays else {
            // SAFETY: both are arrays of so many elements, the second in the window; the standard
            // forbids that they overlap.
            return unsafe { kernel.reduce(from.at.0, to.at.0, count) };
        };
        let [own, target] = arrays.each_mut().map(|bytes| Span {
            at: UserBuffer(bytes.as_mut_ptr()),
            count: count as i64,
            datatype: Arc::clone(&self.basic),
        });
        copy(from, &own);
        copy(to, &target);
        // SAFETY: both arrays have room for the elements.
        unsafe { kernel.reduce(own.at.0, target.at.0, count) };
        copy(&target, to);
    }
}

/// How many elements of the named datatype `basic` a span has.
fn elements(span: &Span, basic: &Datatype) -> usize {
    (span.bytes().unwrap_or(0) / basic.size().max(1)) as usize
}

fn is_array_of(datatype: &Arc<Datatype>, basic: &Arc<Datatype>) -> bool {
    datatype.operand() == basic.operand() || datatype.is_contiguous() && basic.is_contiguous()
}

/// Puts `with` where `at` is if the element there is `compare`; `was` gets what was there.
pub(crate) fn swap_if(at: &Span, compare: &Span, with: &Span, was: &Span) {
    let found = at.gather();
    if found == compare.gather() {
        at.scatter(&with.gather());
    }
    was.scatter(&found);
}
