//! User memory as the core sees it: an address, never a slice (decision 14).
//!
//! The program may read or write its buffers at any time, also wrongly, so no Rust reference is
//! ever made to them; they are touched by raw copies alone.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr;

/// The address argument of an MPI procedure, with the standard ABI's special values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserBuffer(pub *mut u8);

impl UserBuffer {
    /// `MPI_BOTTOM`: displacements are absolute addresses.
    pub const BOTTOM: UserBuffer = UserBuffer(ptr::null_mut());
    /// `MPI_IN_PLACE`.
    pub const IN_PLACE: UserBuffer = UserBuffer(ptr::without_provenance_mut(1));
    /// `MPI_BUFFER_AUTOMATIC`.
    pub const AUTOMATIC: UserBuffer = UserBuffer(ptr::without_provenance_mut(2));

    /// Whether this is `MPI_IN_PLACE`.
    #[inline]
    pub fn is_in_place(self) -> bool {
        self == UserBuffer::IN_PLACE
    }

    /// The address moved by `bytes`, which may be negative.
    #[inline]
    #[must_use]
    pub fn offset(self, bytes: i64) -> UserBuffer {
        UserBuffer(self.0.wrapping_offset(bytes as isize))
    }
}

/// Bytes that somebody else owns and may be changing: read only by copying them out.
#[derive(Clone, Copy, Debug)]
pub struct RawBytes<'a> {
    ptr: *const u8,
    len: usize,
    lent: PhantomData<&'a ()>,
}

impl<'a> RawBytes<'a> {
    /// No bytes.
    pub const EMPTY: RawBytes<'static> = RawBytes { ptr: ptr::null(), len: 0, lent: PhantomData };

    /// The `len` bytes at `ptr`.
    ///
    /// # Safety
    /// They stay readable for `'a`.
    #[inline]
    pub unsafe fn new(ptr: *const u8, len: usize) -> RawBytes<'a> {
        RawBytes { ptr, len, lent: PhantomData }
    }

    /// Number of bytes.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The address of the first byte.
    #[inline]
    pub fn as_ptr(self) -> *const u8 {
        self.ptr
    }

    /// Splits off the first `n` bytes (at most all of them) and returns them.
    #[inline]
    #[must_use]
    pub fn take(&mut self, n: usize) -> RawBytes<'a> {
        let n = n.min(self.len);
        let head = RawBytes { len: n, ..*self };
        *self = RawBytes { ptr: self.ptr.wrapping_add(n), len: self.len - n, lent: PhantomData };
        head
    }

    /// Copies all bytes to `to`.
    ///
    /// # Safety
    /// `to` is writable for `self.len()` bytes and does not overlap them.
    #[inline]
    pub unsafe fn copy_to(self, to: *mut u8) {
        if self.len > 0 {
            // SAFETY: `new`'s caller promised readable bytes, ours writable ones.
            unsafe { ptr::copy_nonoverlapping(self.ptr, to, self.len) }
        }
    }

    /// The bytes in memory of our own.
    pub fn to_vec(self) -> Vec<u8> {
        let mut copy = Vec::with_capacity(self.len);
        // SAFETY: the vector has room for `len` bytes, which the copy initialises.
        unsafe {
            self.copy_to(copy.as_mut_ptr());
            copy.set_len(self.len);
        }
        copy
    }
}

impl<'a> From<&'a [u8]> for RawBytes<'a> {
    fn from(slice: &'a [u8]) -> RawBytes<'a> {
        RawBytes { ptr: slice.as_ptr(), len: slice.len(), lent: PhantomData }
    }
}
