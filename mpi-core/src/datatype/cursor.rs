//! Cursors over user memory: a message's bytes in the order of its type signature.
//!
//! A cursor is owned by the request whose memory it walks and may stop anywhere, also within an
//! element, so that a transport can move a message in pieces of any size. A contiguous message is
//! an address and a length; any other also holds its datatype, and its position is the number of
//! bytes already moved.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::Datatype;
use super::blocks::Ends;
use super::copy::{iterate, repeat};
use crate::buffer::{RawBytes, UserBuffer};
use crate::tuning::LONG_BODY_BYTES;

/// What [`Packer`] and [`Unpacker`] have in common. Without a datatype, `at` moves along with the
/// data; with one, it is the address of the buffer.
#[derive(Clone, Debug)]
struct Cursor {
    at: *mut u8,
    left: u64,
    total: u64,
    datatype: Option<Arc<Datatype>>,
}

impl Cursor {
    #[inline]
    fn contiguous(buf: UserBuffer, len: u64) -> Cursor {
        Cursor { at: buf.0, left: len, total: len, datatype: None }
    }

    fn new(buf: UserBuffer, count: i64, datatype: &Arc<Datatype>) -> Cursor {
        if let Some((disp, len)) = datatype.only_run(count) {
            return Cursor::contiguous(buf.offset(disp), len);
        }
        let total = u64::try_from(count).unwrap_or(0).saturating_mul(datatype.size());
        Cursor { at: buf.0, left: total, total, datatype: Some(Arc::clone(datatype)) }
    }

    /// Where the next byte lies and how many follow it in one run; there is a next byte.
    fn run(&self) -> (*mut u8, u64) {
        let Some(datatype) = &self.datatype else { return (self.at, self.left) };
        let done = self.total - self.left;
        let element = (done / datatype.size) as i64;
        let (disp, len) = datatype.layout.plan.run_at(done % datatype.size);
        let base = datatype.extent.wrapping_mul(element);
        (self.at.wrapping_offset(base.wrapping_add(disp) as isize), len)
    }

    /// The rest, if it is one run.
    fn rest(&self) -> Option<(*mut u8, u64)> {
        if self.left == 0 {
            return Some((self.at, 0));
        }
        let (at, len) = self.run();
        (len == self.left).then_some((at, len))
    }

    /// The next run, cut at `max` bytes; the cursor moves behind it.
    fn next_run(&mut self, max: usize) -> Option<(*mut u8, usize)> {
        if self.left == 0 || max == 0 {
            return None;
        }
        let (at, len) = self.run();
        let len = len.min(max as u64);
        self.skip(len);
        Some((at, len as usize))
    }

    /// Moves on without copying, at most to the end.
    #[inline]
    fn skip(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left);
        if self.datatype.is_none() {
            self.at = self.at.wrapping_add(bytes as usize);
        }
        self.left -= bytes;
    }

    /// Copies between the next bytes and `room` bytes at `packed`; returns how many.
    ///
    /// # Safety
    /// `packed` and the user memory of the message are valid for the access that `PACK` implies
    /// and do not overlap.
    #[inline]
    unsafe fn copy<const PACK: bool>(&mut self, packed: *mut u8, room: usize) -> usize {
        let len = self.left.min(room as u64);
        match &self.datatype {
            None if len > 0 => {
                let (from, to) = if PACK { (self.at, packed) } else { (packed, self.at) };
                // SAFETY: both by the caller's promise.
                unsafe { RawBytes::new(from, len as usize).copy_to(to) };
            }
            Some(datatype) if len > 0 => {
                let done = self.total - self.left;
                let ends = Ends { user: self.at, packed };
                let (plan, extent) = (&datatype.layout.plan, datatype.extent);
                // SAFETY: both by the caller's promise.
                unsafe { iterate::<PACK>(plan, extent, ends, done, done + len) };
            }
            _ => {}
        }
        self.skip(len);
        len as usize
    }
}

/// Copies all of `count` elements at `buf` to `packed`, or the other way; what a cursor does that never stops, without
/// a share of the datatype, whose two counts take as long as copying a hundred bytes.
///
/// # Safety
/// As [`Cursor::copy`], for all of the message.
pub(super) unsafe fn copy_whole<const PACK: bool>(
    buf: UserBuffer,
    count: u64,
    datatype: &Datatype,
    packed: *mut u8,
) {
    // SAFETY: both by the caller's promise.
    unsafe {
        if let Some((disp, len)) = datatype.only_run(count as i64) {
            let user = buf.offset(disp).0;
            let (from, to) = if PACK { (user, packed) } else { (packed, user) };
            return RawBytes::new(from, len as usize).copy_to(to);
        }
        let ends = Ends { user: buf.0, packed };
        repeat::<PACK>(&datatype.layout.plan, datatype.extent, ends, count);
    }
}

/// Reads a message out of user memory.
#[derive(Clone, Debug)]
pub struct Packer(Cursor);

/// Writes a message into user memory.
#[derive(Clone, Debug)]
pub struct Unpacker(Cursor);

macro_rules! common {
    ($name:ident, $pointer:ty, $convert:ident) => {
        impl $name {
            /// A message of `len` contiguous bytes.
            #[inline]
            pub fn contiguous(buf: UserBuffer, len: u64) -> $name {
                $name(Cursor::contiguous(buf, len))
            }

            /// A message of `count` elements of `datatype`. A negative count is none.
            pub fn new(buf: UserBuffer, count: i64, datatype: &Arc<Datatype>) -> $name {
                $name(Cursor::new(buf, count, datatype))
            }

            /// Bytes not yet moved.
            #[inline]
            pub fn remaining(&self) -> u64 {
                self.0.left
            }

            /// The rest as one run of memory, if it is one.
            #[inline]
            pub fn as_contiguous(&self) -> Option<($pointer, u64)> {
                self.0.rest().map(|(at, len)| (at.$convert(), len))
            }

            /// The next run of memory, at most `max` bytes of it; the cursor moves behind it.
            pub fn next_run(&mut self, max: usize) -> Option<($pointer, usize)> {
                self.0.next_run(max).map(|(at, len)| (at.$convert(), len))
            }

            /// Moves on by `bytes`, at most to the end, without touching memory.
            pub fn skip(&mut self, bytes: u64) {
                self.0.skip(bytes);
            }

            /// Leaves out everything after the next `bytes` bytes.
            pub fn truncate(&mut self, bytes: u64) {
                let cut = self.0.left.saturating_sub(bytes);
                self.0.left -= cut;
                self.0.total -= cut;
            }
        }
    };
}

common!(Packer, *const u8, cast_const);
common!(Unpacker, *mut u8, cast);

impl Packer {
    /// Copies up to `room` bytes to `to` and returns how many.
    ///
    /// # Safety
    /// `to` is writable for `room` bytes; the user memory of the message is readable and does
    /// not overlap them.
    #[inline]
    pub unsafe fn pack_into(&mut self, to: *mut u8, room: usize) -> usize {
        // SAFETY: by the caller's promise; the user memory is only read.
        unsafe { self.0.copy::<true>(to, room) }
    }
}

impl Unpacker {
    /// Address and length of the rest, if the message is one run of memory.
    #[inline]
    pub(crate) fn as_whole(&self) -> Option<(*mut u8, u64)> {
        self.0.datatype.is_none().then_some((self.0.at, self.0.left))
    }

    /// Copies as many of `bytes` as have room and returns how many.
    ///
    /// # Safety
    /// The user memory of the message is writable and does not overlap `bytes`.
    #[inline]
    pub unsafe fn unpack_from(&mut self, bytes: RawBytes<'_>) -> usize {
        // SAFETY: by the caller's promise; `bytes` are only read.
        unsafe { self.0.copy::<false>(bytes.as_ptr().cast_mut(), bytes.len()) }
    }

    /// The same of bytes that another processor has just written.
    ///
    /// # Safety
    /// As [`Unpacker::unpack_from`].
    #[inline]
    pub unsafe fn bring_from(&mut self, mut bytes: RawBytes<'_>) -> usize {
        let run = if bytes.len() >= LONG_BODY_BYTES { self.as_contiguous() } else { None };
        let Some((to, room)) = run else {
            // SAFETY: by the caller's promise.
            return unsafe { self.unpack_from(bytes) };
        };
        let bytes = bytes.take(usize::try_from(room).unwrap_or(usize::MAX));
        // SAFETY: there is as much room left, by the caller's promise.
        unsafe { bytes.bring_to(to) };
        self.skip(bytes.len() as u64);
        bytes.len()
    }
}
