//! Where a fold finds the operands of others: in the fragments that they write, or in their own memory, where they are
//! read if that is mapped, and from which they are fetched otherwise, by parts that stay in the cache while they are
//! reduced.
//!
//! Who cannot fetch one after all is sent it in fragments.
//!
//! Enters: the rank whose operand is next. Leaves: where it lies and how much of it is there, until that is used up.

use super::fold::Fold;
use super::member::AtSegment;
use super::task::Streams;
use crate::buffer::UserBuffer;
use crate::coll::mismatch::{too_long, too_short};
use crate::datatype::Unpacker;
use crate::error::{Error, ErrorClass, Result};
use crate::lost::failed_elsewhere;
use crate::node_memory::{Fragment, NodeMemory};
use crate::port::Port;
use crate::tuning::FETCHED_TILES;

impl Fold {
    /// What is there of the operand of `rank` for the current stage: where, and how many bytes.
    #[inline]
    pub(super) fn operand<P: Port>(
        &mut self,
        at: &mut AtSegment<'_, P>,
        rank: u32,
    ) -> Result<Option<(*const u8, usize)>> {
        let left = self.tile_len() - self.off;
        if rank == self.member.rank {
            let at = match self.saves {
                true => self.scratch.own.as_ptr().wrapping_add(self.off),
                false => self.task.own.wrapping_add(self.base + self.off),
            };
            return Ok(Some((at, left)));
        }
        if let Some((at, here)) = self.fetched_part() {
            return Ok(Some((at, here.min(left))));
        }
        let Some(fragment) = self.fragment(at, rank) else { return Ok(None) };
        if fragment.exposed > 0 {
            let part = self.fetch(at, rank, fragment)?;
            return Ok(part.map(|(at, here)| (at, here.min(left))));
        }
        let taken = self.scratch.taken[rank as usize];
        let Some(here) = fragment.len.checked_sub(taken) else { return Err(differs(rank, 0)) };
        let whole = self.task.len;
        let end = self.base + self.off + here;
        let fits = end <= whole && (end == whole) == fragment.last;
        if here == 0 || !here.is_multiple_of(self.task.unit) || !fits {
            return Err(differs(rank, end.saturating_sub(whole) as u64));
        }
        Ok(Some((fragment.at.wrapping_add(taken), here.min(left))))
    }

    /// The fragment that has what is next of the operand of `rank`, if it has come.
    #[inline]
    fn fragment<P: Port>(&mut self, at: &mut AtSegment<'_, P>, rank: u32) -> Option<Fragment> {
        let from = self.source(rank);
        loop {
            let fragment = at.read_fragment(from)?;
            let taken = &mut self.scratch.taken[rank as usize];
            if fragment.exposed > 0 || fragment.last || *taken < fragment.len.max(1) {
                return Some(fragment);
            }
            *taken -= fragment.len;
            at.consume_fragment(from);
        }
    }

    /// What is next of what was fetched, if that is not used up.
    #[inline]
    fn fetched_part(&self) -> Option<(*const u8, usize)> {
        let at = self.base + self.off;
        let is_there = self.fetched.contains(&at);
        let place = self.fetched_at.wrapping_add(at - self.fetched.start.min(at));
        is_there.then(|| (place, self.fetched.end - at))
    }

    /// What is there of an operand that lies in the memory of its writer: all of it if that is mapped here, or else a
    /// part at a time is fetched, that stays in the cache while it is reduced. With the last part its writer may go on.
    #[inline(never)]
    fn fetch<P: Port>(
        &mut self,
        at: &mut AtSegment<'_, P>,
        rank: u32,
        fragment: Fragment,
    ) -> Result<Option<(*const u8, usize)>> {
        let (next, end) = (self.base + self.off, self.task.len);
        if fragment.exposed != end as u64 {
            return Err(differs(rank, fragment.exposed.saturating_sub(end as u64)));
        }
        let (segment, from) = (self.member.segment, self.source(rank));
        if let Some(place) = at.entry.port.memory_mut().part_in_place(
            segment,
            from,
            next as u64,
            (end - next) as u64,
        ) {
            (self.fetched, self.fetched_at, self.in_place) = (next..end, place, true);
            return Ok(self.fetched_part());
        }
        let len = (end - next).min(self.tile * FETCHED_TILES);
        let room = self.room_for(rank, len);
        let mut into = Unpacker::contiguous(UserBuffer(room), len as u64);
        let fetched = at.entry.port.memory_mut().fetch_part(segment, from, next as u64, &mut into);
        // A writer that fails may change its memory after it has said so.
        if let Some(class) = at.abort_class(rank) {
            return Err(failed_elsewhere(rank, ErrorClass::from_wire(class)));
        }
        if !fetched {
            self.refused(at, rank);
            return Ok(None);
        }
        if next + len == end {
            at.consume_fragment(from);
        }
        (self.fetched, self.fetched_at) = (next..next + len, room);
        Ok(self.fetched_part())
    }

    /// Where the next `len` bytes of the operand of `rank` are fetched to: where the result goes, if nothing
    /// else lies there and the operand is the one that others are reduced into.
    fn room_for(&mut self, rank: u32, len: usize) -> *mut u8 {
        let other = |into: &*mut u8| !std::ptr::eq(*into, self.task.own);
        match self.task.into.filter(other) {
            Some(into) if self.nth(0) == rank && self.stage == 0 => {
                into.wrapping_add(self.base + self.off)
            }
            _ => self.scratch.fetched.of(len),
        }
    }

    /// The message comes as a whole, in fragments, for this reader alone.
    #[cold]
    fn refused<P: Port>(&mut self, at: &mut AtSegment<'_, P>, rank: u32) {
        at.consume_fragment(self.source(rank));
        self.task.streams = Streams::Private;
        self.fetched = 0..0;
    }

    /// Notes that `len` bytes of the operand of `rank` are used up.
    #[inline]
    pub(super) fn use_up<P: Port>(
        &mut self,
        at: &mut AtSegment<'_, P>,
        rank: u32,
        len: usize,
    ) -> Result<()> {
        if rank == self.member.rank {
            return Ok(());
        }
        let from = self.source(rank);
        let taken = &mut self.scratch.taken[rank as usize];
        *taken += len;
        if self.fetched.contains(&(*taken - len)) {
            return match self.in_place && *taken == self.fetched.end {
                true => self.let_go(at, rank),
                false => Ok(()),
            };
        }
        if at.read_fragment(from).map(|fragment| fragment.len) == Some(*taken) {
            *taken = 0;
            at.consume_fragment(from);
        }
        Ok(())
    }

    /// Lets the writer of an operand that was read in place go on, unless it has failed: then it may have changed it.
    fn let_go<P: Port>(&mut self, at: &mut AtSegment<'_, P>, rank: u32) -> Result<()> {
        if let Some(class) = at.abort_class(rank) {
            return Err(failed_elsewhere(rank, ErrorClass::from_wire(class)));
        }
        at.consume_fragment(self.source(rank));
        Ok(())
    }
}

/// A member's operand has another length.
#[cold]
pub(super) fn differs(rank: u32, beyond: u64) -> Error {
    if beyond > 0 { too_long(rank, beyond) } else { too_short(rank) }
}
