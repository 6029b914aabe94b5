//! Reducing what the members contribute, in place where they wrote it: tile by tile, each tile
//! small enough to stay in the cache while all operands go over it, and passed on when it is done.
#![allow(unsafe_code)]

use std::ops::Range;

use super::member::{AtSegment, Member};
use super::message::Outgoing;
use super::task::Task;
use crate::buffer::{RawBytes, UserBuffer};
use crate::coll::memory::no_room;
use crate::datatype::Packer;
use crate::error::Result;
use crate::node_memory::{Audience, NodeMemory, Source};
use crate::port::Port;
use crate::room::Room;
use crate::tuning::FOLD_TILE_BYTES;

/// Memory that folds use again.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(super) taken: Vec<usize>,
    pub(super) own: Room,
    result: Room,
    pub(super) fetched: Room,
}

/// A reduction under way.
pub(super) struct Fold {
    pub member: Member,
    pub task: Task,
    pub tile: usize,
    /// Operands: all of the order.
    terms: u32,
    /// The own operand has to be saved from the result that overwrites it.
    pub saves: bool,
    pub scratch: Scratch,
    /// Where the current tile begins.
    pub base: usize,
    /// Operands of the tile that are reduced, the first two together.
    pub stage: u32,
    /// Bytes of the tile that have been through the current stage.
    pub off: usize,
    /// Which bytes of another's message, of those in its writer's memory, have been fetched, and to where.
    pub fetched: Range<usize>,
    pub fetched_at: *const u8,
    /// They have not: they are read where they lie, until the last one.
    pub in_place: bool,
}

impl Fold {
    pub(super) fn new<P: Port>(at: &mut AtSegment<'_, P>, task: Task) -> Fold {
        let told = task.to.or(task.follows.then_some(Audience::Everyone));
        let most = match told {
            Some(to) => at.fragment_max(to).min(FOLD_TILE_BYTES),
            None => FOLD_TILE_BYTES,
        };
        let tile = (most / task.unit).max(1) * task.unit;
        let mut scratch = std::mem::take(&mut at.entry.segment_scratch);
        scratch.taken.clear();
        scratch.taken.resize(at.member.size as usize, 0);
        let mut fold = Fold::at_start(at.member, task, tile, scratch);
        let longest = tile.min(task.len);
        if task.into.is_none() {
            fold.scratch.result.of(longest);
        }
        let in_place = task.into.is_some_and(|into| std::ptr::eq(into, task.own));
        fold.saves = in_place && fold.nth(0) != at.member.rank;
        if fold.saves {
            fold.scratch.own.of(longest);
        }
        fold.begin_tile();
        fold
    }

    /// One of which nothing has been reduced.
    fn at_start(member: Member, task: Task, tile: usize, scratch: Scratch) -> Fold {
        Fold {
            member,
            task,
            tile,
            terms: task.order.terms(),
            saves: false,
            scratch,
            base: 0,
            stage: 0,
            off: 0,
            fetched: 0..0,
            fetched_at: std::ptr::null(),
            in_place: false,
        }
    }

    /// Gives the memory back.
    pub(super) fn give_back<P: Port>(self, at: &mut AtSegment<'_, P>) {
        at.entry.segment_scratch = self.scratch;
    }

    pub(super) fn is_done(&self) -> bool {
        self.base >= self.task.len
    }

    /// Who is told the result.
    pub(super) fn audience(&self) -> Option<Audience> {
        self.task.to
    }

    /// Whether operands are still read from this stream.
    pub(super) fn reads(&self, from: Source) -> bool {
        !self.is_done() && from == self.source(from.rank())
    }

    /// The rank whose operand is next.
    pub(super) fn awaited(&self) -> Option<u32> {
        if self.is_done() {
            return None;
        }
        let next = self.nth((self.stage + 1).min(self.terms - 1));
        let rank = if next == self.member.rank { self.nth(0) } else { next };
        (rank != self.member.rank).then_some(rank)
    }

    /// Whether the operand of `rank` is due and has not come.
    pub(super) fn lacks<P: Port>(&self, at: &mut AtSegment<'_, P>, rank: u32) -> bool {
        let due = self.nth((self.stage + 1).min(self.terms - 1)) == rank
            || self.stage == 0 && self.nth(0) == rank;
        let open = !self.is_done() && self.stage + 1 < self.terms.max(2);
        let from = self.source(rank);
        open && due && rank != self.member.rank && at.read_fragment(from).is_none()
    }

    /// Whether nothing is overwritten that has to go out first; `left` bytes have not gone yet.
    pub(super) fn may_go_on(&self, left: u64) -> bool {
        !self.task.follows || (self.base + self.tile_len()) as u64 + left <= self.task.len as u64
    }

    pub(super) fn nth(&self, index: u32) -> u32 {
        self.task.order.nth(self.member, index)
    }

    pub(super) fn source(&self, rank: u32) -> Source {
        self.task.streams.of(rank)
    }

    pub(super) fn tile_len(&self) -> usize {
        self.tile.min(self.task.len - self.base)
    }

    /// Where the result of the current tile lies.
    fn result(&mut self) -> *mut u8 {
        match self.task.into {
            Some(into) => into.wrapping_add(self.base),
            None => self.scratch.result.of(0),
        }
    }

    fn begin_tile(&mut self) {
        if self.saves && self.base < self.task.len {
            let from = self.task.own.wrapping_add(self.base);
            // SAFETY: the operand has that many bytes from `base` on, and so has the scratch memory, as long as a tile.
            unsafe { RawBytes::new(from, self.tile_len()).copy_to(self.scratch.own.of(0)) };
        }
    }

    /// Reduces one stage of one tile, or tells a tile that is done if `free`; whether anything was done.
    pub(super) fn advance<P: Port>(
        &mut self,
        at: &mut AtSegment<'_, P>,
        free: bool,
    ) -> Result<bool> {
        if self.is_done() {
            return Ok(false);
        }
        if self.stage + 1 >= self.terms.max(2) {
            return Ok(self.pass_on(at, free));
        }
        let mut moved = false;
        while self.off < self.tile_len() {
            let len = self.reduce(at)?;
            if len == 0 {
                return Ok(moved);
            }
            self.off += len;
            moved = true;
        }
        self.off = 0;
        self.stage += 1;
        if self.stage + 1 >= self.terms.max(2) {
            self.pass_on(at, free);
        }
        Ok(true)
    }

    /// Reduces what is there of the current stage; returns how many bytes.
    fn reduce<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> Result<usize> {
        let into = self.result().wrapping_add(self.off);
        let (kernel, unit) = (self.task.kernel, self.task.unit);
        let rank = self.nth(if self.terms == 1 { 0 } else { self.stage + 1 });
        let Some((left, mut len)) = self.operand(at, rank)? else { return Ok(0) };
        if self.stage > 0 {
            // SAFETY: `len` bytes, whole elements, are there at both places.
            unsafe { kernel.reduce(left, into, len / unit) };
        } else if self.terms == 1 {
            // SAFETY: as above; an operand may be the result.
            unsafe { std::ptr::copy(left, into, len) };
        } else {
            let first = self.nth(0);
            let Some((right, there)) = self.operand(at, first)? else { return Ok(0) };
            len = len.min(there);
            // SAFETY: as above; an own operand that the result overwrites is the right one or saved. The result
            // is in the same place or, as the block of a reduce-scatter in place, begins before it.
            unsafe {
                match std::ptr::eq(right, into) {
                    true => kernel.reduce(left, into, len / unit),
                    false => kernel.combine(left, right, into, len / unit),
                }
            }
            self.use_up(at, first, len)?;
        }
        self.use_up(at, rank, len)?;
        Ok(len)
    }

    /// Tells the finished tile and begins the next; whether there was room for that.
    fn pass_on<P: Port>(&mut self, at: &mut AtSegment<'_, P>, free: bool) -> bool {
        let len = self.tile_len();
        if let Some(to) = self.task.to {
            if !free {
                return false;
            }
            let last = self.base + len == self.task.len;
            let mut packer = Packer::contiguous(UserBuffer(self.result()), len as u64);
            if !at.entry.port.memory_mut().write_fragment(
                self.member.segment,
                to,
                &mut packer,
                len,
                last,
            ) {
                return false;
            }
        }
        self.base += len;
        self.stage = 0;
        self.off = 0;
        if self.base < self.task.len {
            self.begin_tile();
        }
        true
    }
}

/// A copy of a contribution that its result overwrites.
///
/// # Errors
/// `MPI_ERR_NO_MEM`.
pub(super) fn keep(at: UserBuffer, len: usize) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(len).map_err(|_| no_room(len as u64))?;
    // SAFETY: a contribution has `len` bytes, which the collective owns, and the copy has room for them.
    unsafe {
        RawBytes::new(at.0, len).copy_to(copy.as_mut_ptr());
        copy.set_len(len);
    }
    Ok(copy)
}

/// A section of a contribution as a message.
pub(super) fn section<P: Port>(
    at: &AtSegment<'_, P>,
    to: Audience,
    from: UserBuffer,
    len: usize,
    unit: usize,
) -> Outgoing {
    Outgoing::new(at, to, Packer::contiguous(from, len as u64), unit)
}

#[cfg(test)]
mod tests {
    use super::super::task::{Order, Streams};
    use super::*;
    use crate::comm::WORLD;
    use crate::datatype::predefined;
    use crate::handle::CommHandle;
    use crate::node_memory::SegmentId;
    use crate::op::Builtin;

    #[test]
    fn who_is_awaited_is_known_until_the_last_byte_has_come() {
        let (segment, comm) = (SegmentId(0), CommHandle::from_raw(WORLD));
        let member = Member { segment, comm, rank: 1, size: 2, oversubscribed: false };
        let int = predefined(0x209).expect("MPI_INT");
        let kernel = Builtin::Sum.kernel(int).expect("it is defined");
        let task = Task {
            kernel,
            unit: 4,
            own: std::ptr::null(),
            into: None,
            len: 8,
            order: Order::Down(1),
            streams: Streams::Private,
            to: None,
            follows: false,
        };
        let mut fold = Fold::at_start(member, task, 8, Scratch::default());
        assert_eq!((fold.awaited(), fold.is_done()), (Some(0), false));
        fold.base = 8;
        assert_eq!((fold.awaited(), fold.is_done()), (None, true));
    }
}
