//! Cursors over user memory: a message's bytes in the order of its type signature.
//!
//! A cursor is owned by the request whose memory it walks and may stop anywhere, also within an
//! element, so that a transport can move a message in pieces of any size.
#![allow(unsafe_code)]

use crate::buffer::{RawBytes, UserBuffer};

/// Reads a message out of user memory.
#[derive(Clone, Debug)]
pub struct Packer {
    at: *const u8,
    left: u64,
}

/// Writes a message into user memory.
#[derive(Clone, Debug)]
pub struct Unpacker {
    at: *mut u8,
    left: u64,
}

impl Packer {
    /// A message of `len` contiguous bytes.
    pub fn contiguous(buf: UserBuffer, len: u64) -> Packer {
        Packer { at: buf.0, left: len }
    }

    /// Bytes not yet read.
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.left
    }

    /// The rest as one run of memory, if it is one.
    #[inline]
    pub fn as_contiguous(&self) -> Option<(*const u8, u64)> {
        Some((self.at, self.left))
    }

    /// Copies up to `room` bytes to `to` and returns how many.
    ///
    /// # Safety
    /// `to` is writable for `room` bytes; the user memory of the message is readable.
    pub unsafe fn pack_into(&mut self, to: *mut u8, room: usize) -> usize {
        let n = self.left.min(room as u64) as usize;
        // SAFETY: both by the caller's promise.
        unsafe { RawBytes::new(self.at, n).copy_to(to) };
        self.at = self.at.wrapping_add(n);
        self.left -= n as u64;
        n
    }
}

impl Unpacker {
    /// A message of `len` contiguous bytes.
    pub fn contiguous(buf: UserBuffer, len: u64) -> Unpacker {
        Unpacker { at: buf.0, left: len }
    }

    /// Bytes not yet written.
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.left
    }

    /// The rest as one run of memory, if it is one.
    #[inline]
    pub fn as_contiguous(&self) -> Option<(*mut u8, u64)> {
        Some((self.at, self.left))
    }

    /// Copies as many of `bytes` as have room and returns how many.
    ///
    /// # Safety
    /// The user memory of the message is writable and does not overlap `bytes`.
    pub unsafe fn unpack_from(&mut self, mut bytes: RawBytes<'_>) -> usize {
        let head = bytes.take(usize::try_from(self.left).unwrap_or(usize::MAX));
        // SAFETY: writable by the caller's promise.
        unsafe { head.copy_to(self.at) };
        self.at = self.at.wrapping_add(head.len());
        self.left -= head.len() as u64;
        head.len()
    }
}
