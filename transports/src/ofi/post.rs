//! Work goes to the provider.
//!
//! Short messages without a number are copied in the call; all other work has a slot, by which its completion is
//! known.

use std::ptr::NonNull;
use std::time::Instant;

use mpi_core::port::PeerId;

use super::bindings::*;
use super::calls::{self, Piece, There};
use super::slots::{CHUNK_BYTES, Slot, What};
use super::stamp::Kind;
use super::{Ofi, Region};
use crate::rdma::fabric::{Access, Local, NoRoom, Refusal, Target, Work};
use crate::sys::pages::Pages;

/// How work was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// There is no room now.
    ForNow,
    /// The peer is lost.
    ForEver,
}

/// A call for an atomic operation: endpoint, where the old value comes, where it happens, operands.
type Atomic = unsafe fn(*mut fid_ep, Piece, There, (*const u64, *mut std::ffi::c_void)) -> isize;

impl Ofi {
    /// A slot for an operation; more are made where all are in use.
    #[inline]
    pub(super) fn slot(&mut self, what: What) -> Result<NonNull<Slot>, NoRoom> {
        if let Some(slot) = self.slots.take(what) {
            return Ok(slot);
        }
        self.add_slots();
        self.slots.take(what).ok_or(NoRoom)
    }

    #[cold]
    fn add_slots(&mut self) {
        let (regions, objects) = (&mut self.regions, &self.objects);
        let pages = Pages::new(CHUNK_BYTES).map_err(|why| why.to_string());
        let added = pages.and_then(|pages| {
            self.slots.add(pages, |address| {
                // SAFETY: the chunk stays until the endpoint is closed; peers may not touch it.
                let region =
                    unsafe { regions.register(objects, address, CHUNK_BYTES, Access::Local) };
                region.map_err(Refusal::why)
            })
        });
        if let Err(why) = added {
            tracing::warn!("no memory for more operations: {why}");
        }
    }

    fn piece(&self, local: Local<Region>, slot: NonNull<Slot>) -> Piece {
        let desc = self.regions.desc(local.region);
        let context = slot.as_ptr().cast();
        Piece { address: local.address.cast(), len: local.len, desc, context }
    }

    /// The slot's own bytes.
    pub(super) fn scratch(&self, slot: NonNull<Slot>) -> Piece {
        // SAFETY: the slot is in use by the caller's operation alone.
        let (region, len) =
            unsafe { ((*slot.as_ptr()).region, size_of_val(&(*slot.as_ptr()).scratch)) };
        // SAFETY: as above; no reference is made.
        let address = unsafe { (&raw mut (*slot.as_ptr()).scratch).cast() };
        self.piece(Local { region, address, len }, slot)
    }

    /// Sets the slot's own bytes.
    pub(super) fn fill(&self, slot: NonNull<Slot>, words: [u64; 2]) {
        // SAFETY: the slot is in use by the caller's operation, which has not begun.
        unsafe { (*slot.as_ptr()).scratch = words }
    }

    /// What an error of a call means; `slot` is free again.
    #[cold]
    pub(super) fn refused(
        &mut self,
        peer: PeerId,
        slot: Option<NonNull<Slot>>,
        error: isize,
    ) -> Refused {
        if let Some(slot) = slot {
            self.slots.end(slot.as_ptr());
        }
        self.waiting.was_refused = true;
        if error != -(FI_EAGAIN as isize) {
            let why = self.failure_text(peer, "work", error as i64, None);
            self.lose(peer, why);
            return Refused::ForEver;
        }
        if self.peers.up(peer).is_some() && self.is_out_of_reach(peer) {
            let why =
                self.failure_text(peer, "a connection", error as i64, Some("it is not made again"));
            self.lose(peer, why);
            return Refused::ForEver;
        }
        Refused::ForNow
    }

    /// Whether there was no room for so long that the connection must be broken.
    fn is_out_of_reach(&mut self, peer: PeerId) -> bool {
        if self.peers.get(peer).under_way > 0 {
            self.is_in_reach(peer);
            return false;
        }
        let stalled = &mut self.waiting.stalled;
        let now = Instant::now();
        match stalled.iter().find(|(whom, _)| *whom == peer) {
            Some((_, since)) => now.duration_since(*since) > self.config.settings.patience,
            None => {
                stalled.push((peer, now));
                false
            }
        }
    }

    /// There was room, or what is under way will tell.
    #[cold]
    fn is_in_reach(&mut self, peer: PeerId) {
        self.waiting.stalled.retain(|(whom, _)| *whom != peer);
    }

    /// Ends a call with its slot as the provider has answered.
    #[inline]
    fn end(
        &mut self,
        peer: PeerId,
        slot: Option<NonNull<Slot>>,
        answer: isize,
    ) -> Result<(), NoRoom> {
        if answer != 0 {
            self.refused(peer, slot, answer);
            return Err(NoRoom);
        }
        if slot.is_some() {
            self.is_under_way(peer);
        }
        if !self.waiting.stalled.is_empty() {
            self.is_in_reach(peer);
        }
        Ok(())
    }

    /// An operation with a slot has begun.
    #[inline]
    pub(super) fn is_under_way(&mut self, peer: PeerId) {
        self.under_way += 1;
        self.peers.get_mut(peer).under_way += 1;
    }

    /// Waits for the first hello with a buffer of its own, so that somebody can come before the user has
    /// given any. Nothing else comes first, since each peer begins with a hello.
    pub(super) fn await_first_hello(&mut self) -> Result<(), String> {
        let no_room = |_| "there is no memory for libfabric's operations".to_owned();
        let slot = self.slot(What::Receive(None)).map_err(no_room)?;
        let into = self.scratch(slot);
        // SAFETY: the endpoint is open; the slot stays in use until it completes.
        match unsafe { calls::receive(self.objects.ep(), into) } {
            0 => Ok(()),
            error => {
                let why = self.objects.library.explain(error as i64);
                let provider = self.objects.info.provider();
                Err(format!("libfabric's provider {provider} takes no buffer for messages: {why}"))
            }
        }
    }

    /// # Safety
    /// As [`crate::rdma::fabric::Fabric::post`].
    pub(super) unsafe fn post_buffer(
        &mut self,
        buffer: Local<Region>,
        work: Work,
    ) -> Result<(), NoRoom> {
        let slot = self.slot(What::Receive(Some((buffer, work))))?;
        let into = self.piece(buffer, slot);
        // SAFETY: by the caller; the slot stays in use until it completes.
        let error = unsafe { calls::receive(self.objects.ep(), into) };
        if error == 0 {
            self.has_buffers = true;
            return Ok(());
        }
        self.slots.end(slot.as_ptr());
        self.waiting.was_refused = true;
        if error != -(FI_EAGAIN as isize) {
            let why = self.objects.library.explain(error as i64);
            tracing::warn!("libfabric takes no buffer for messages: {why}");
        }
        Err(NoRoom)
    }

    /// # Safety
    /// As [`crate::rdma::fabric::Fabric::send`].
    #[inline]
    pub(super) unsafe fn send_message(
        &mut self,
        peer: PeerId,
        message: Local<Region>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        let to = self.peers.up(peer).ok_or(NoRoom)?;
        let (ep, data) = (self.objects.ep(), self.stamps.message(Kind::Message));
        let is_inline = message.len <= self.abilities.inline_bytes;
        if is_inline && work.is_none() && self.peers.may_forget(peer) {
            // SAFETY: readable, by the caller.
            let bytes = unsafe { std::slice::from_raw_parts(message.address, message.len) };
            // SAFETY: the endpoint is open, and so many bytes are copied.
            let answer = unsafe { calls::inject(ep, bytes, to, data) };
            return self.end(peer, None, answer);
        }
        let slot = self.slot(What::Work(peer, work))?;
        let inline = if is_inline { FI_INJECT } else { 0 };
        // SAFETY: by the caller; the slot stays in use until it completes.
        let answer = unsafe {
            let from = self.local_piece(message, slot, is_inline);
            calls::send(ep, from, to, data, FI_COMPLETION | inline)
        };
        self.end(peer, Some(slot), answer)
    }

    /// Local memory as an operation names it; what is copied in the call needs no registration.
    fn local_piece(&self, local: Local<Region>, slot: NonNull<Slot>, is_inline: bool) -> Piece {
        if !is_inline {
            return self.piece(local, slot);
        }
        let context = slot.as_ptr().cast();
        Piece { address: local.address.cast(), len: local.len, desc: std::ptr::null_mut(), context }
    }

    /// # Safety
    /// As [`crate::rdma::fabric::Fabric::write`].
    pub(super) unsafe fn write_there(
        &mut self,
        peer: PeerId,
        from: Local<Region>,
        to: Target,
        immediate: Option<u32>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        let there = self.there(peer, to)?;
        let ep = self.objects.ep();
        let is_inline = from.len <= self.abilities.inline_bytes;
        if is_inline && work.is_none() && immediate.is_none() && self.peers.may_forget(peer) {
            // SAFETY: readable, by the caller.
            let bytes = unsafe { std::slice::from_raw_parts(from.address, from.len) };
            // SAFETY: the endpoint is open, and so many bytes are copied.
            let answer = unsafe { calls::inject_write(ep, bytes, there) };
            return self.end(peer, None, answer);
        }
        let inline = if is_inline { FI_INJECT } else { 0 };
        let flags = FI_COMPLETION | self.delivery | inline;
        let told =
            immediate.filter(|_| self.writes_tell).and_then(|value| self.stamps.write(value));
        if let Some(data) = told {
            let slot = self.slot(What::Write(peer, work, None))?;
            let piece = self.local_piece(from, slot, is_inline);
            // SAFETY: by the caller; the slot stays in use until it completes.
            let answer = unsafe { calls::write(ep, piece, there, data, flags | FI_REMOTE_CQ_DATA) };
            if !is_unable(answer) {
                return self.end(peer, Some(slot), answer);
            }
            // Not every provider that carries data with messages does so with writes.
            self.slots.end(slot.as_ptr());
            self.writes_tell = false;
        }
        let slot = self.slot(What::Write(peer, work, immediate))?;
        let piece = self.local_piece(from, slot, is_inline);
        // SAFETY: as above.
        let answer = unsafe { calls::write(ep, piece, there, 0, flags) };
        self.end(peer, Some(slot), answer)
    }

    /// # Safety
    /// As [`crate::rdma::fabric::Fabric::read`].
    pub(super) unsafe fn read_there(
        &mut self,
        peer: PeerId,
        into: Local<Region>,
        from: Target,
        work: Work,
    ) -> Result<(), NoRoom> {
        let there = self.there(peer, from)?;
        let slot = self.slot(What::Work(peer, Some(work)))?;
        let piece = self.piece(into, slot);
        // SAFETY: by the caller; the slot stays in use until it completes.
        let answer = unsafe { calls::read(self.objects.ep(), piece, there) };
        self.end(peer, Some(slot), answer)
    }

    /// # Safety
    /// As [`crate::rdma::fabric::Fabric::fetch_add`].
    pub(super) unsafe fn atomic(
        &mut self,
        peer: PeerId,
        into: Local<Region>,
        at: Target,
        operands: [u64; 2],
        work: Work,
        call: Atomic,
    ) -> Result<(), NoRoom> {
        let there = self.there(peer, at)?;
        let slot = self.slot(What::Work(peer, Some(work)))?;
        self.fill(slot, operands);
        let (piece, scratch) = (self.piece(into, slot), self.scratch(slot));
        let operand = (scratch.address.cast_const().cast(), scratch.desc);
        // SAFETY: by the caller; the slot stays in use until it completes, and the operands with it.
        let answer = unsafe { call(self.objects.ep(), piece, there, operand) };
        self.end(peer, Some(slot), answer)
    }

    fn there(&self, peer: PeerId, target: Target) -> Result<There, NoRoom> {
        let to = self.peers.up(peer).ok_or(NoRoom)?;
        Ok(There { to, address: target.address, key: target.key })
    }

    /// Tells the values of writes that are done, as far as there is room.
    pub(super) fn tell_values(&mut self) {
        let waiting = std::mem::take(&mut self.waiting.values);
        for (peer, value, work) in waiting {
            if self.peers.up(peer).is_none() {
                self.end_work(peer, work);
            } else if !self.tell_value(peer, value, work) {
                self.waiting.values.push((peer, value, work));
            }
        }
    }

    /// Whether there was room, or will never be.
    fn tell_value(&mut self, peer: PeerId, value: u32, work: Option<Work>) -> bool {
        let Ok(slot) = self.slot(What::Value(peer, work)) else { return false };
        self.fill(slot, [value.into(), 0]);
        let is_over = self.send_scratch(slot, peer, size_of::<u64>(), Kind::Immediate, |_| ());
        if self.peers.up(peer).is_none() {
            self.end_work(peer, work);
        }
        is_over
    }

    /// Gives a buffer again in which nothing came for the user.
    pub(super) fn give_again(&mut self, buffer: Local<Region>, work: Work) {
        // SAFETY: it has been the fabric's since the user posted it.
        if unsafe { self.post_buffer(buffer, work) }.is_err() {
            self.waiting.buffers.push((buffer, work));
        }
    }

    pub(super) fn give_all_again(&mut self) {
        for (buffer, work) in std::mem::take(&mut self.waiting.buffers) {
            self.give_again(buffer, work);
        }
    }
}

/// Whether a call was refused since the provider does no such thing.
fn is_unable(answer: isize) -> bool {
    let unable = [FI_ENOSYS, FI_EOPNOTSUPP, FI_EINVAL, FI_EBADFLAGS];
    unable.iter().any(|error| answer == -(*error as isize))
}
