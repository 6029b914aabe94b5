//! User memory as the core sees it: an address, never a slice (decision 14).
//!
//! The program may read or write its buffers at any time, also wrongly, so no Rust reference is
//! ever made to them; they are touched by raw copies alone.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr;

use crate::tuning::{DISTANT_BYTES, VECTOR_COPY_BYTES};

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

    /// Whether this is an address, and not one of the values that stand for something else.
    #[inline]
    #[must_use]
    pub fn is_real(self) -> bool {
        self.0.addr() > UserBuffer::AUTOMATIC.0.addr()
    }

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

/// Asks for the line at `at` so that it can be written without waiting; whatever is there, it is not
/// touched. Processors that lack the instruction pass over it.
#[inline(always)]
pub fn claim(at: *const u8) {
    // SAFETY: a prefetch never faults and changes no memory.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
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
        if self.len >= VECTOR_COPY_BYTES {
            // SAFETY: `new`'s caller promised readable bytes, ours writable ones.
            unsafe {
                match self.len >= DISTANT_BYTES {
                    true => copy_long::<true>(self.ptr, to, self.len),
                    false => copy_long::<false>(self.ptr, to, self.len),
                }
            }
        } else if self.len > 0 {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(self.ptr, to, self.len) }
        }
    }

    /// The same as [`RawBytes::copy_to`] for many bytes that another processor has just written: it asks for
    /// their lines ahead.
    ///
    /// # Safety
    /// As [`RawBytes::copy_to`].
    pub unsafe fn bring_to(self, to: *mut u8) {
        // SAFETY: `new`'s caller promised readable bytes, ours writable ones.
        unsafe { copy_long::<true>(self.ptr, to, self.len) }
    }

    /// The same as [`RawBytes::copy_to`] where few bytes are likely: up to 128 are moved by loads
    /// and stores that overlap, without a loop.
    ///
    /// # Safety
    /// As [`RawBytes::copy_to`].
    #[inline(always)]
    pub unsafe fn copy_small_to(self, to: *mut u8) {
        // SAFETY: by the caller's promise, both.
        unsafe {
            match self.len {
                8 => move_at::<[u8; 8]>(self.ptr, to, 0),
                4 => move_at::<[u8; 4]>(self.ptr, to, 0),
                _ => self.copy_few_to(to),
            }
        }
    }

    /// As [`RawBytes::copy_small_to`].
    ///
    /// # Safety
    /// As [`RawBytes::copy_to`].
    #[inline(never)]
    unsafe fn copy_few_to(self, to: *mut u8) {
        let (from, len) = (self.ptr, self.len);
        // SAFETY: each pair of moves of N bytes covers lengths from N to 2 N, so stays inside.
        unsafe {
            match len {
                9..=16 => both_ends::<[u8; 8]>(from, to, len),
                17..=32 => both_ends::<[u8; 16]>(from, to, len),
                33..=64 => both_ends::<[u8; 32]>(from, to, len),
                65..=128 => both_ends::<[u8; 64]>(from, to, len),
                4..=8 => both_ends::<[u8; 4]>(from, to, len),
                2..=3 => both_ends::<[u8; 2]>(from, to, len),
                1 => move_at::<[u8; 1]>(from, to, 0),
                0 => {}
                _ => self.copy_to(to),
            }
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

/// Moves one `T` at `offset` of both.
///
/// # Safety
/// `from` is readable and `to` writable there, for a `T` of bytes alone.
#[inline(always)]
unsafe fn move_at<T: Copy>(from: *const u8, to: *mut u8, offset: usize) {
    // SAFETY: by the caller's promise; bytes need no alignment.
    unsafe {
        to.add(offset).cast::<T>().write_unaligned(from.add(offset).cast::<T>().read_unaligned())
    }
}

/// Moves the first and the last `T` of `len` bytes.
///
/// # Safety
/// As `ptr::copy_nonoverlapping`; `len` is at least the size of `T` and at most twice that.
#[inline(always)]
unsafe fn both_ends<T: Copy>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: both lie within the `len` bytes.
    unsafe {
        move_at::<T>(from, to, 0);
        move_at::<T>(from, to, len - size_of::<T>());
    }
}

/// Asks the processor now what it has, which else the first long copy does: on a virtual machine
/// each answer is the host's.
pub fn ask_processor() {
    #[cfg(target_arch = "x86_64")]
    std::hint::black_box(is_x86_feature_detected!("avx"));
}

/// Copies a long run by vector moves, where the processor has them.
///
/// # Safety
/// As `ptr::copy_nonoverlapping`.
#[inline(never)]
unsafe fn copy_long<const ASKS: bool>(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") {
        // SAFETY: by the caller's promise; the processor was asked.
        return unsafe { copy_avx::<ASKS>(from, to, len) };
    }
    // SAFETY: by the caller's promise.
    unsafe { ptr::copy_nonoverlapping(from, to, len) }
}

/// Copies 128 bytes at a time to whole lines, what is before and behind them the ordinary way; or asks for them ahead,
/// too.
///
/// # Safety
/// As `ptr::copy_nonoverlapping`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn copy_avx<const ASKS: bool>(from: *const u8, to: *mut u8, len: usize) {
    use crate::tuning::BROUGHT_AHEAD_BYTES;
    use std::arch::x86_64::{
        __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm256_storeu_si256,
    };
    let mut at = to.align_offset(64).min(len);
    let asked = if ASKS { len.saturating_sub(BROUGHT_AHEAD_BYTES) } else { 0 };
    // SAFETY: the first `at` of `len` bytes.
    unsafe { ptr::copy_nonoverlapping(from, to, at) };
    while len - at >= 128 {
        let source = from.wrapping_add(at).cast::<__m256i>();
        let target = to.wrapping_add(at).cast::<__m256i>();
        if ASKS && at + 128 <= asked {
            let ahead = from.wrapping_add(at + BROUGHT_AHEAD_BYTES).cast::<i8>();
            _mm_prefetch::<_MM_HINT_T0>(ahead);
            _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(64));
        }
        // SAFETY: 128 bytes from `at` on are within both ranges.
        unsafe {
            // Written out: what is generic has not this function's processor features, and where
            // the compiler does not inline it, vectors pass through memory, four times as slow.
            let first = _mm256_loadu_si256(source);
            let second = _mm256_loadu_si256(source.add(1));
            let third = _mm256_loadu_si256(source.add(2));
            let fourth = _mm256_loadu_si256(source.add(3));
            _mm256_storeu_si256(target, first);
            _mm256_storeu_si256(target.add(1), second);
            _mm256_storeu_si256(target.add(2), third);
            _mm256_storeu_si256(target.add(3), fourth);
        }
        at += 128;
    }
    // SAFETY: the last `len - at` of `len` bytes.
    unsafe { ptr::copy_nonoverlapping(from.wrapping_add(at), to.wrapping_add(at), len - at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_every_length_and_place_are_copied_and_nothing_more() {
        let source: Vec<u8> = (0..9000u32).map(|i| (i * 7 + i / 251) as u8).collect();
        let (mut target, mut expected) = (vec![0xee; 9100], vec![0xee; 9100]);
        for len in (0..300).chain(2000..2400).chain([4096, 8191, 8900]) {
            let (skew_from, skew_to) = (len % 67, len % 61);
            let bytes = &source[skew_from..skew_from + len];
            for is_new in [false, true] {
                target.fill(0xee);
                let to = target[skew_to..].as_mut_ptr();
                // SAFETY: the target has room for the longest run behind the largest skew.
                unsafe {
                    match is_new {
                        false => RawBytes::from(bytes).copy_to(to),
                        true => RawBytes::from(bytes).bring_to(to),
                    }
                }
                expected.fill(0xee);
                expected[skew_to..skew_to + len].copy_from_slice(bytes);
                assert!(target == expected, "{len} bytes, new: {is_new}");
            }
        }
    }
}
