//! Single messages over a segment: written and read in fragments.
#![allow(unsafe_code)]

use super::member::{AtSegment, Member};
use super::work::{Step, WaitFor, Work};
use crate::buffer::{RawBytes, UserBuffer};
use crate::coll::mismatch::too_long;
use crate::datatype::{Packer, Unpacker};
use crate::error::Result;
use crate::node_memory::{Audience, Copying, Fragment, NodeMemory, Source};
use crate::port::Port;
use crate::process::Process;
use crate::tuning::{COPIED_AT_ONCE_BYTES, LONG_BODY_BYTES};

/// A block that a process has for itself: from where it is copied, and to where.
pub(super) type OwnBlock = (Packer, Unpacker);

/// How a message goes.
pub(super) enum Protocol {
    /// In fragments.
    Written,
    /// Its readers may fetch it, which has not been offered yet.
    Open,
    /// They have been shown where it lies.
    Exposed,
    /// In fragments to one who could not fetch it. This is the whole, and to whom it was exposed.
    Again(Box<(Packer, Audience)>),
}

/// A message on its way out.
pub(super) struct Outgoing {
    pub to: Audience,
    pub source: Packer,
    /// Bytes that fragments hold whole multiples of.
    pub unit: usize,
    /// Largest fragment.
    pub most: usize,
    pub protocol: Protocol,
    /// Nothing is left to write, and nobody will come for what was exposed.
    pub done: bool,
}

impl Outgoing {
    /// A message in fragments of whole units; an empty one is none.
    pub(super) fn new<P: Port>(
        at: &AtSegment<'_, P>,
        to: Audience,
        source: Packer,
        unit: usize,
    ) -> Outgoing {
        let unit = unit.max(1);
        let most = whole_units(at.fragment_max(to), unit);
        let done = source.remaining() == 0;
        Outgoing { to, source, unit, most, protocol: Protocol::Written, done }
    }

    /// A message to those who write one at the same time, or copy something of their own first.
    pub(super) fn exchanged<P: Port>(
        at: &AtSegment<'_, P>,
        to: Audience,
        source: Packer,
    ) -> Outgoing {
        let most = at.entry.port.memory().exchanged_max(at.member.segment, to);
        Outgoing { most, ..Outgoing::new(at, to, source, 1) }
    }

    /// An empty message.
    pub(super) fn signal(to: Audience) -> Outgoing {
        let source = Packer::contiguous(UserBuffer::BOTTOM, 0);
        Outgoing { to, source, unit: 1, most: 1, protocol: Protocol::Written, done: false }
    }

    pub(super) fn to(&self) -> Audience {
        self.to
    }

    /// Bytes not yet written.
    pub(super) fn remaining(&self) -> u64 {
        self.source.remaining()
    }

    /// Writes the next fragment, if there is room; whether it did.
    #[inline]
    pub(super) fn push<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> bool {
        if self.done {
            return false;
        }
        if !matches!(self.protocol, Protocol::Written)
            && let Some(moved) = self.expose(at)
        {
            return moved;
        }
        let left = self.source.remaining();
        let len = left.min(self.most as u64) as usize;
        let last = len as u64 == left;
        let written = at.entry.port.memory_mut().write_fragment(
            at.member.segment,
            self.to,
            &mut self.source,
            len,
            last,
        );
        self.done = written && last;
        if self.done && matches!(self.protocol, Protocol::Again(_)) {
            self.go_on_exposing();
        }
        written
    }
}

/// The largest fragment of whole units within so many bytes.
pub(super) fn whole_units(most: usize, unit: usize) -> usize {
    (most / unit * unit).max(1)
}

/// A message on its way in.
pub(super) struct Incoming {
    pub from: Source,
    pub into: Unpacker,
    /// Bytes beyond what there is room for.
    pub beyond: u64,
    /// It goes past the caches.
    pub past: bool,
    /// Who writes it reads one at the same time (see [`Incoming::exchanged`]).
    pub exchanged: bool,
    /// Everything has come.
    pub done: bool,
}

impl Incoming {
    /// A message into this room; an empty one is none.
    pub(super) fn new(from: Source, into: Unpacker) -> Incoming {
        let done = into.remaining() == 0;
        Incoming { from, into, beyond: 0, past: false, exchanged: false, done }
    }

    /// A message that has mostly been written as a whole when it is read: stored by the kind of moves that costs least.
    pub(super) fn exchanged(from: Source, into: Unpacker) -> Incoming {
        Incoming { exchanged: true, ..Incoming::new(from, into) }
    }

    /// A message that comes although it is empty.
    pub(super) fn signal(from: Source) -> Incoming {
        let into = Unpacker::contiguous(UserBuffer::BOTTOM, 0);
        Incoming { done: false, ..Incoming::new(from, into) }
    }

    /// The same past the caches, if so.
    pub(super) fn past_caches(self, past: bool) -> Incoming {
        Incoming { past, ..self }
    }

    /// Bytes not yet read.
    pub(super) fn remaining(&self) -> u64 {
        self.into.remaining()
    }

    /// Takes the next fragment, if it has come; whether it did.
    #[inline]
    pub(super) fn pull<P: Port>(&mut self, at: &mut AtSegment<'_, P>) -> Result<bool> {
        self.pull_at_most(at, u64::MAX)
    }

    /// The same unless the fragment is longer than that.
    #[inline]
    pub(super) fn pull_at_most<P: Port>(
        &mut self,
        at: &mut AtSegment<'_, P>,
        most: u64,
    ) -> Result<bool> {
        let Some(fragment) = at.read_fragment(self.from) else {
            return Ok(false);
        };
        if fragment.exposed.max(fragment.len as u64) > most {
            return Ok(false);
        }
        let from = self.from;
        if fragment.exposed > 0 {
            self.fetch(at, fragment)?;
        } else {
            self.take(at, fragment);
        }
        at.consume_fragment(from);
        if fragment.last && self.beyond > 0 {
            return Err(too_long(self.from.rank(), self.beyond));
        }
        Ok(true)
    }

    #[inline]
    fn take<P: Port>(&mut self, at: &mut AtSegment<'_, P>, fragment: Fragment) {
        // SAFETY: the fragment is readable until it is consumed.
        let bytes = unsafe { RawBytes::new(fragment.at, fragment.len) };
        let landed = match self.past {
            true => at.entry.port.memory_mut().land_fragment(bytes, &mut self.into),
            // So is its room where a processor has the buffers of several ranks to hold, and finds fewer in its caches.
            _ if (self.exchanged || at.member.oversubscribed)
                && fragment.len >= LONG_BODY_BYTES =>
            {
                Some(P::Memory::copy_by_cost(bytes, Copying::Out, &mut self.into))
            }
            _ => None,
        };
        // SAFETY: the room is user memory that the collective owns, and shared memory is none of it.
        let taken = landed.unwrap_or_else(|| unsafe { self.into.bring_from(bytes) });
        self.beyond += (fragment.len - taken) as u64;
        self.done = fragment.last;
    }
}

/// Copies between two blocks of user memory, of which one may be laid out otherwise.
pub(in crate::collectives) fn copy(mut from: Packer, mut into: Unpacker) {
    while let Some((at, len)) = from.next_run(usize::MAX) {
        // SAFETY: user memory that the collective owns, readable and writable; the standard forbids overlaps.
        unsafe { into.unpack_from(RawBytes::new(at, len)) };
    }
}

/// Copies a run of user memory to another; it is often short.
#[inline]
pub(super) fn copy_run(from: UserBuffer, into: UserBuffer, len: usize) {
    // SAFETY: as in `copy`.
    unsafe { RawBytes::new(from.0, len).copy_small_to(into.0) }
}

/// As [`copy`], of up to `most` bytes that may be many, by moves of the kind that costs least.
pub(super) fn copy_own<P: Port>((from, into): &mut OwnBlock, most: u64) {
    let mut left = most;
    while left > 0
        && let Some((at, len)) = from.next_run(usize::try_from(left).unwrap_or(usize::MAX))
    {
        // SAFETY: as in `copy`.
        P::Memory::copy_by_cost(unsafe { RawBytes::new(at, len) }, Copying::Own, into);
        left -= len as u64;
    }
}

/// The same of the whole block, past the caches as far as it is made of long runs.
pub(super) fn land_own<P: Port>(port: &mut P, (from, into): &mut OwnBlock) {
    while let Some((at, len)) = from.next_run(usize::MAX) {
        // SAFETY: as in `copy`.
        let bytes = unsafe { RawBytes::new(at, len) };
        let landed = if len >= LONG_BODY_BYTES {
            port.memory_mut().land_fragment(bytes, into)
        } else {
            None
        };
        landed.unwrap_or_else(|| P::Memory::copy_by_cost(bytes, Copying::Own, into));
    }
}

/// As [`copy_own`] as long as `goes_on`, which is asked every [`COPIED_AT_ONCE_BYTES`] bytes.
pub(super) fn copy_while<P: Port>(own: &mut OwnBlock, mut goes_on: impl FnMut() -> bool) {
    while own.0.remaining() > 0 && goes_on() {
        copy_own::<P>(own, COPIED_AT_ONCE_BYTES as u64);
    }
}

struct Writing {
    message: Outgoing,
    /// A reader that may be the one without whom there is no room.
    reader: Option<u32>,
}

impl<P: Port> Work<P> for Writing {
    fn step(&mut self, at: &mut AtSegment<'_, P>) -> Result<Step> {
        let moved = self.message.push(at);
        Ok(match (self.message.done, moved) {
            (true, _) => Step::Done,
            (false, true) => Step::Moved,
            (false, false) => Step::Stuck,
        })
    }

    fn awaited(&self) -> Option<u32> {
        self.reader
    }

    fn held_up_by(&self, member: Member, process: &Process<P>) -> Option<u32> {
        member.slow_reader(process.port.memory(), self.message.to)
    }

    fn awaits(&self, at: &mut AtSegment<'_, P>, rank: u32) -> bool {
        at.member.is_slow(at.entry.port.memory(), self.message.to, rank)
    }
}

/// The one whose doing a writer waits for.
fn reader_of(to: Audience) -> Option<u32> {
    match to {
        Audience::One(rank) => Some(rank),
        Audience::Everyone => None,
    }
}

struct Reading {
    wait_for: WaitFor,
    message: Incoming,
}

impl<P: Port> Work<P> for Reading {
    #[inline]
    fn step(&mut self, at: &mut AtSegment<'_, P>) -> Result<Step> {
        let moved = self.message.pull(at)?;
        Ok(match (self.message.done, moved) {
            (true, _) => Step::Done,
            (false, true) => Step::Moved,
            (false, false) => Step::Stuck,
        })
    }

    fn awaited(&self) -> Option<u32> {
        Some(self.message.from.rank())
    }

    fn wait_for(&self) -> WaitFor {
        self.wait_for
    }
}

impl<P: Port> AtSegment<'_, P> {
    /// Writes an empty message.
    #[inline]
    pub(super) fn write_signal(&mut self, to: Audience) -> Result<()> {
        let mut message = Outgoing::signal(to);
        if message.push(self) {
            return Ok(());
        }
        self.reborrow().write_later(message)
    }

    /// Writes a run of memory for which any segment has room in one fragment
    /// ([`MAPPED_BYTES`](crate::tuning::MAPPED_BYTES)); an empty one is no message.
    #[inline(always)]
    pub(super) fn write_run(&mut self, to: Audience, at: UserBuffer, len: usize) -> Result<()> {
        let mut source = Packer::contiguous(at, len as u64);
        if len == 0
            || self.entry.port.memory_mut().write_fragment(
                self.member.segment,
                to,
                &mut source,
                len,
                true,
            )
        {
            return Ok(());
        }
        self.reborrow().write_run_later(to, source)
    }

    /// The same when there is room: in one fragment too, since others could cut an element in two.
    #[cold]
    fn write_run_later(&mut self, to: Audience, source: Packer) -> Result<()> {
        let most = source.remaining() as usize;
        let message = Outgoing { most, ..Outgoing::new(self, to, source, 1) };
        self.write_later(message)
    }

    /// Writes what there is no room for yet.
    #[cold]
    fn write_later(&mut self, message: Outgoing) -> Result<()> {
        if self.entry.pending.is_starting() {
            self.left().send(message);
            return Ok(());
        }
        let reader = reader_of(message.to);
        self.drive(&mut Writing { message, reader })
    }

    /// Reads a whole message.
    #[inline(always)]
    pub(super) fn read_message(
        &mut self,
        from: Source,
        into: Unpacker,
        wait_for: WaitFor,
    ) -> Result<()> {
        let mut message = Incoming::new(from, into);
        while !message.done && message.pull(self)? {}
        if message.done {
            return Ok(());
        }
        self.reborrow().read_later(message, wait_for)
    }

    /// Reads a run of memory that is one fragment, as [`AtSegment::write_run`] writes it.
    #[inline(always)]
    pub(super) fn read_run(
        &mut self,
        from: Source,
        at: UserBuffer,
        len: usize,
        wait_for: WaitFor,
    ) -> Result<()> {
        if len == 0 || self.read_whole(from, at, len) {
            return Ok(());
        }
        self.reborrow().read_run_later(from, Unpacker::contiguous(at, len as u64), wait_for)
    }

    /// The same if it has come; whether it did.
    #[inline(always)]
    fn read_whole(&mut self, from: Source, at: UserBuffer, len: usize) -> bool {
        let Some(fragment) = self.read_fragment(from) else { return false };
        if fragment.len != len || !fragment.last {
            return false;
        }
        // SAFETY: the fragment is readable until it is consumed; the run is user memory of `len` bytes
        // that the collective owns, and shared memory is none of it.
        unsafe { RawBytes::new(fragment.at, len).copy_to(at.0) };
        self.consume_fragment(from);
        true
    }

    /// Reads what has not come, or is not as long as that.
    #[inline(never)]
    fn read_run_later(&mut self, from: Source, into: Unpacker, wait_for: WaitFor) -> Result<()> {
        self.read_message(from, into, wait_for)
    }

    /// Reads an empty message.
    #[inline]
    pub(super) fn read_signal(&mut self, from: Source, wait_for: WaitFor) -> Result<()> {
        let mut message = Incoming::signal(from);
        if message.pull(self)? {
            return Ok(());
        }
        self.reborrow().read_later(message, wait_for)
    }

    /// Reads what has not come yet.
    #[cold]
    fn read_later(&mut self, message: Incoming, wait_for: WaitFor) -> Result<()> {
        if self.entry.pending.is_starting() {
            self.leave_read(message, wait_for);
            return Ok(());
        }
        self.drive(&mut Reading { wait_for, message })
    }
}
