//! Reducing what the members contribute, in place where they wrote it: tile by tile, each tile
//! small enough to stay in the cache while all operands go over it, and passed on when it is done.
//!
//! The order of operands is the same in every run: from the highest rank down, or, where one
//! process computes an element for all, from that process on. Every element is computed once, or
//! by everybody in one order, so all processes get the same bits (MPI-5.0 §6.9.1, advice to
//! implementors).
#![allow(unsafe_code)]

use std::ops::Range;

use super::message::{Outgoing, too_long};
use super::seat::Seat;
use super::work::WaitFor;
use crate::boards::{Audience, Piece, Source};
use crate::buffer::{RawBytes, UserBuffer};
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::op::Kernel;
use crate::port::Port;
use crate::vci::failed_elsewhere;

/// Largest tile in bytes.
const TILE_BYTES: usize = 32 << 10;
/// Tiles that are fetched at a time from where others have them.
const PART_TILES: usize = 4;

/// Which operands there are, and in which order they are taken: each one stands left of all
/// before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// From this rank down to rank 0.
    Down(u32),
    /// This process, then all ranks behind it round the ring of so many.
    Round(u32),
}

impl Order {
    /// The rank whose operand is taken at this place of the order.
    #[inline]
    fn nth(self, seat: Seat, index: u32) -> u32 {
        match self {
            Order::Down(first) => first - index,
            Order::Round(size) => (seat.rank + index) % size,
        }
    }
}

/// Where the operands of others are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Streams {
    Public,
    Private,
}

impl Streams {
    #[inline]
    fn of(self, rank: u32) -> Source {
        match self {
            Streams::Public => Source::Public(rank),
            Streams::Private => Source::Private(rank),
        }
    }

    /// The wait for the operand of each member.
    #[inline]
    fn of_each(self) -> WaitFor {
        WaitFor::Each(match self {
            Streams::Public => Source::Public,
            Streams::Private => Source::Private,
        })
    }
}

/// Memory that folds use again.
#[derive(Default)]
pub(crate) struct Scratch {
    taken: Vec<usize>,
    own: Vec<u128>,
    result: Vec<u128>,
    fetched: Vec<u128>,
}

/// What a fold works on.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub kernel: Kernel,
    /// Bytes of an element.
    pub unit: usize,
    /// This process's operand.
    pub own: *const u8,
    /// Where the result goes; `None` if it is only passed on.
    pub into: Option<*mut u8>,
    /// Bytes of the operand.
    pub len: usize,
    pub order: Order,
    pub streams: Streams,
    /// Where the operands of others begin in their messages, and bytes of such a message.
    pub message: (usize, usize),
    /// Who is told the result.
    pub to: Option<Audience>,
    /// The result overwrites the contribution, which is still going out to everyone.
    pub follows: bool,
}

/// A reduction under way.
pub(super) struct Fold {
    seat: Seat,
    task: Task,
    tile: usize,
    /// Operands: all of the order.
    terms: u32,
    /// The own operand has to be saved from the result that overwrites it.
    saves: bool,
    scratch: Scratch,
    /// Where the current tile begins.
    base: usize,
    /// Operands of the tile that are reduced, the first two together.
    stage: u32,
    /// Bytes of the tile that have been through the current stage.
    off: usize,
    /// Which bytes of another's message, of those in its writer's memory, have been fetched to here.
    fetched: Range<usize>,
    /// Bytes of a message that are of no use here but come all the same.
    rest: usize,
}

impl Fold {
    pub(super) fn new<P: Port>(entry: &mut Entry<'_, P>, seat: Seat, task: Task) -> Fold {
        let told = task.to.or(task.follows.then_some(Audience::Everyone));
        let most = match told {
            Some(to) => entry.port.piece_max(seat.board, to).min(TILE_BYTES),
            None => TILE_BYTES,
        };
        let tile = (most / task.unit).max(1) * task.unit;
        let mut scratch = std::mem::take(&mut entry.board_scratch);
        scratch.taken.clear();
        scratch.taken.resize(seat.size as usize, task.message.0);
        let terms = match task.order {
            Order::Down(first) => first + 1,
            Order::Round(size) => size,
        };
        let (saves, fetched) = (false, 0..0);
        let (base, stage, off, rest) = (0, 0, 0, 0);
        let mut fold =
            Fold { seat, task, tile, terms, saves, scratch, base, stage, off, fetched, rest };
        let words = tile.min(task.len) / 16 + 1;
        if task.into.is_none() && fold.scratch.result.len() < words {
            fold.scratch.result.resize(words, 0);
        }
        let in_place = task.into.is_some_and(|into| std::ptr::eq(into, task.own));
        fold.saves = in_place && fold.nth(0) != seat.rank;
        if fold.saves && fold.scratch.own.len() < words {
            fold.scratch.own.resize(words, 0);
        }
        fold.begin_tile();
        fold
    }

    /// Gives the memory back.
    pub(super) fn give_back<P: Port>(self, entry: &mut Entry<'_, P>) {
        entry.board_scratch = self.scratch;
    }

    pub(super) fn is_done(&self) -> bool {
        self.base >= self.task.len && self.rest == 0
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
        let next = self.nth((self.stage + 1).min(self.terms - 1));
        let rank = if next == self.seat.rank { self.nth(0) } else { next };
        (self.base < self.task.len && rank != self.seat.rank).then_some(rank)
    }

    /// Whether the operand of `rank` is due and has not come.
    pub(super) fn lacks<P: Port>(&self, entry: &mut Entry<'_, P>, rank: u32) -> bool {
        let due = self.nth((self.stage + 1).min(self.terms - 1)) == rank
            || self.stage == 0 && self.nth(0) == rank;
        let open = self.base < self.task.len && self.stage + 1 < self.terms.max(2);
        let from = self.source(rank);
        open && due
            && rank != self.seat.rank
            && entry.port.read_piece(self.seat.board, from).is_none()
    }

    /// Whether nothing is overwritten that has to go out first; `left` bytes have not gone yet.
    pub(super) fn may_go_on(&self, left: u64) -> bool {
        !self.task.follows || (self.base + self.tile_len()) as u64 + left <= self.task.len as u64
    }

    fn nth(&self, index: u32) -> u32 {
        self.task.order.nth(self.seat, index)
    }

    fn source(&self, rank: u32) -> Source {
        self.task.streams.of(rank)
    }

    fn tile_len(&self) -> usize {
        self.tile.min(self.task.len - self.base)
    }

    /// Where the result of the current tile lies.
    fn result(&mut self) -> *mut u8 {
        match self.task.into {
            Some(into) => into.wrapping_add(self.base),
            None => self.scratch.result.as_mut_ptr().cast(),
        }
    }

    fn begin_tile(&mut self) {
        if self.saves && self.base < self.task.len {
            let from = self.task.own.wrapping_add(self.base);
            // SAFETY: the operand has that many bytes from `base` on, and so has the scratch
            // memory, which `new` made as long as a tile.
            unsafe {
                let to = self.scratch.own.as_mut_ptr().cast();
                std::ptr::copy_nonoverlapping(from, to, self.tile_len());
            }
        }
    }

    /// What is there of the operand of `rank` for the current stage: where, and how many bytes.
    #[inline]
    fn operand<P: Port>(
        &mut self,
        entry: &mut Entry<'_, P>,
        rank: u32,
    ) -> Result<Option<(*const u8, usize)>> {
        let left = self.tile_len() - self.off;
        if rank == self.seat.rank {
            let at = match self.saves {
                true => self.scratch.own.as_ptr().cast::<u8>().wrapping_add(self.off),
                false => self.task.own.wrapping_add(self.base + self.off),
            };
            return Ok(Some((at, left)));
        }
        let Some(piece) = self.piece(entry, rank) else { return Ok(None) };
        if piece.apart > 0 {
            let part = self.fetch(entry, rank, piece)?;
            return Ok(part.map(|(at, here)| (at, here.min(left))));
        }
        let taken = self.scratch.taken[rank as usize];
        let Some(here) = piece.len.checked_sub(taken) else { return Err(differs(rank, 0)) };
        let (begin, whole) = self.task.message;
        let end = begin + self.base + self.off + here;
        if here == 0 || !here.is_multiple_of(self.task.unit) || (end >= whole) != piece.last {
            return Err(differs(rank, end.saturating_sub(whole) as u64));
        }
        Ok(Some((piece.at.wrapping_add(taken), here.min(left))))
    }

    /// The piece that has what is next of the operand of `rank`, if it has come.
    #[inline]
    fn piece<P: Port>(&mut self, entry: &mut Entry<'_, P>, rank: u32) -> Option<Piece> {
        let from = self.source(rank);
        loop {
            let piece = entry.port.read_piece(self.seat.board, from)?;
            let taken = &mut self.scratch.taken[rank as usize];
            if piece.apart > 0 || piece.last || *taken < piece.len.max(1) {
                return Some(piece);
            }
            *taken -= piece.len;
            entry.port.consume_piece(self.seat.board, from);
        }
    }

    /// What is there of an operand that lies in the memory of its writer: a part of it is fetched at a
    /// time, that stays in the cache while it is reduced.
    #[inline(never)]
    fn fetch<P: Port>(
        &mut self,
        entry: &mut Entry<'_, P>,
        rank: u32,
        piece: Piece,
    ) -> Result<Option<(*const u8, usize)>> {
        let (begin, whole) = self.task.message;
        if piece.apart != whole as u64 {
            return Err(differs(rank, piece.apart.saturating_sub(whole as u64)));
        }
        let at = begin + self.base + self.off;
        if !self.fetched.contains(&at) {
            let len = (begin + self.task.len - at).min(self.tile * PART_TILES);
            let words = &mut self.scratch.fetched;
            words.resize(words.len().max(len.div_ceil(16)), 0);
            let room = UserBuffer(words.as_mut_ptr().cast());
            let mut into = Unpacker::contiguous(room, len as u64);
            let (board, from) = (self.seat.board, self.source(rank));
            let fetched = entry.port.fetch_part(board, from, at as u64, &mut into);
            // A writer that fails may change its memory after it has said so.
            if let Some(class) = entry.port.renounced(board, rank) {
                return Err(failed_elsewhere(rank, ErrorClass::from_wire(class)));
            }
            if !fetched {
                self.refused(entry, rank);
                return Ok(None);
            }
            self.fetched = at..at + len;
        }
        let here = self.scratch.fetched.as_ptr().cast::<u8>().wrapping_add(at - self.fetched.start);
        Ok(Some((here, self.fetched.end - at)))
    }

    /// The message comes as a whole, in pieces, for this reader alone.
    #[cold]
    fn refused<P: Port>(&mut self, entry: &mut Entry<'_, P>, rank: u32) {
        entry.port.consume_piece(self.seat.board, self.source(rank));
        let (begin, whole) = self.task.message;
        self.rest = whole - begin - self.task.len;
        self.task.streams = Streams::Private;
    }

    /// Passes over what is of no use here; whether there was any.
    #[cold]
    fn pass_over<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> Result<bool> {
        let (mut moved, rank) = (false, 1 - self.seat.rank);
        let from = self.source(rank);
        while self.rest > 0
            && let Some(piece) = entry.port.read_piece(self.seat.board, from)
        {
            let taken = std::mem::take(&mut self.scratch.taken[rank as usize]);
            let here = piece.len.saturating_sub(taken);
            if here > self.rest || piece.last != (here == self.rest) {
                return Err(differs(rank, here.saturating_sub(self.rest) as u64));
            }
            self.rest -= here;
            entry.port.consume_piece(self.seat.board, from);
            moved = true;
        }
        Ok(moved)
    }

    /// Notes that `len` bytes of the operand of `rank` are used up.
    #[inline]
    fn use_up<P: Port>(&mut self, entry: &mut Entry<'_, P>, rank: u32, len: usize) {
        if rank == self.seat.rank {
            return;
        }
        let from = self.source(rank);
        let taken = &mut self.scratch.taken[rank as usize];
        *taken += len;
        let piece = entry.port.read_piece(self.seat.board, from);
        let end = piece.map(|piece| match piece.apart {
            0 => piece.len,
            _ => self.task.message.0 + self.task.len,
        });
        if end == Some(*taken) {
            *taken = 0;
            entry.port.consume_piece(self.seat.board, from);
        }
    }

    /// Reduces one stage of one tile, or tells a tile that is done if `free`; whether anything
    /// was done.
    pub(super) fn advance<P: Port>(
        &mut self,
        entry: &mut Entry<'_, P>,
        free: bool,
    ) -> Result<bool> {
        if self.is_done() {
            return Ok(false);
        }
        if self.base >= self.task.len {
            return self.pass_over(entry);
        }
        if self.stage + 1 >= self.terms.max(2) {
            return Ok(self.pass_on(entry, free));
        }
        let mut moved = false;
        while self.off < self.tile_len() {
            let len = self.reduce(entry)?;
            if len == 0 {
                return Ok(moved);
            }
            self.off += len;
            moved = true;
        }
        self.off = 0;
        self.stage += 1;
        if self.stage + 1 >= self.terms.max(2) {
            self.pass_on(entry, free);
        }
        Ok(true)
    }

    /// Reduces what is there of the current stage; returns how many bytes.
    fn reduce<P: Port>(&mut self, entry: &mut Entry<'_, P>) -> Result<usize> {
        let into = self.result().wrapping_add(self.off);
        let (kernel, unit) = (self.task.kernel, self.task.unit);
        let rank = self.nth(if self.terms == 1 { 0 } else { self.stage + 1 });
        let Some((left, mut len)) = self.operand(entry, rank)? else { return Ok(0) };
        if self.stage > 0 {
            // SAFETY: `len` bytes, whole elements, are there at both places.
            unsafe { kernel.reduce(left, into, len / unit) };
        } else if self.terms == 1 {
            // SAFETY: as above; an operand may be the result.
            unsafe { std::ptr::copy(left, into, len) };
        } else {
            let first = self.nth(0);
            let Some((right, there)) = self.operand(entry, first)? else { return Ok(0) };
            len = len.min(there);
            // SAFETY: as above; the result may be the right operand and overlaps nothing else,
            // since an own operand that it overwrites is the first or saved.
            unsafe {
                match std::ptr::eq(right, into) {
                    true => kernel.reduce(left, into, len / unit),
                    false => kernel.combine(left, right, into, len / unit),
                }
            }
            self.use_up(entry, first, len);
        }
        self.use_up(entry, rank, len);
        Ok(len)
    }

    /// Tells the finished tile and begins the next; whether there was room for that.
    fn pass_on<P: Port>(&mut self, entry: &mut Entry<'_, P>, free: bool) -> bool {
        let len = self.tile_len();
        if let Some(to) = self.task.to {
            if !free {
                return false;
            }
            let last = self.base + len == self.task.len;
            let mut packer = Packer::contiguous(UserBuffer(self.result()), len as u64);
            if !entry.port.write_piece(self.seat.board, to, &mut packer, len, last) {
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

impl<P: Port> Entry<'_, P> {
    /// Reduces contributions of one piece each, of all ranks, into `into`; does nothing and returns
    /// `false` if they are longer or do not agree, or may not be waited for.
    #[inline]
    pub(super) fn fold_short(&mut self, seat: Seat, task: &Task, into: UserBuffer) -> Result<bool> {
        if task.len == 0 || task.len > TILE_BYTES {
            return Ok(task.len == 0);
        }
        for rank in seat.others() {
            let from = task.streams.of(rank);
            let piece = match self.port.read_piece(seat.board, from) {
                Some(piece) => piece,
                None if self.begun.is_starting() => return Ok(false),
                None => self.await_piece(seat, from, task.streams.of_each())?,
            };
            if piece.len != task.len || !piece.last {
                return Ok(false);
            }
        }
        if task.order.nth(seat, 0) == seat.rank || !std::ptr::eq(task.own, into.0) {
            return self.fold_pieces(seat, task, task.own, into.0).map(|()| true);
        }
        // The result would overwrite the own operand before its turn.
        let mut own = std::mem::take(&mut self.board_scratch.own);
        own.resize(own.len().max(task.len / 16 + 1), 0);
        // SAFETY: the operand has `len` bytes, and so has the scratch memory.
        unsafe { std::ptr::copy_nonoverlapping(task.own, own.as_mut_ptr().cast(), task.len) };
        let outcome = self.fold_pieces(seat, task, own.as_ptr().cast(), into.0);
        self.board_scratch.own = own;
        outcome.map(|()| true)
    }

    /// Reduces operands that are all there.
    #[inline]
    fn fold_pieces(
        &mut self,
        seat: Seat,
        task: &Task,
        own: *const u8,
        into: *mut u8,
    ) -> Result<()> {
        let count = task.len / task.unit;
        let mut operand = |rank: u32| match rank == seat.rank {
            true => Ok(own),
            // It was as long when all of them were looked at, but shared memory may change.
            false => match self.await_piece(seat, task.streams.of(rank), task.streams.of_each())? {
                piece if piece.len == task.len => Ok(piece.at),
                _ => Err(differs(rank, 0)),
            },
        };
        let first = operand(task.order.nth(seat, 0))?;
        for index in 1..seat.size {
            let left = operand(task.order.nth(seat, index))?;
            // SAFETY: operands and result have `count` elements; the result may be the first
            // operand and overlaps no other, since an own operand that it overwrites is saved.
            unsafe {
                match index > 1 || std::ptr::eq(first, into) {
                    true => task.kernel.reduce(left, into, count),
                    false => task.kernel.combine(left, first, into, count),
                }
            }
        }
        for rank in seat.others() {
            self.port.consume_piece(seat.board, task.streams.of(rank));
        }
        Ok(())
    }
}

/// A member's operand has another length.
#[cold]
pub(super) fn differs(rank: u32, beyond: u64) -> Error {
    if beyond > 0 {
        return too_long(rank, beyond);
    }
    let what = format!("rank {rank} contributes fewer elements than this process");
    Error::new(ErrorClass::TRUNCATE, what).hint("Make the counts of all processes agree.")
}

/// A copy of a contribution that its result overwrites.
pub(super) fn keep(at: UserBuffer, len: usize) -> Vec<u8> {
    // SAFETY: a contribution has `len` bytes, which the collective owns.
    unsafe { RawBytes::new(at.0, len) }.to_vec()
}

/// A section of a contribution as a message.
pub(super) fn section<P: Port>(
    entry: &Entry<'_, P>,
    seat: Seat,
    to: Audience,
    at: UserBuffer,
    len: usize,
    unit: usize,
) -> Outgoing {
    Outgoing::new(entry, seat, to, Packer::contiguous(at, len as u64), unit)
}
