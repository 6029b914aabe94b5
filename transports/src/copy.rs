//! The copies that go past the cache, for buffers that another processor will read.
//!
//! An ordinary copy is [`RawBytes::copy_to`], which is made of vector moves from 2 KiB on.
//!
//! A buffer that comes round again still lies in its reader's cache. An ordinary store fetches each such line from
//! there first, a non-temporal store does not ask. That pays from some KiB on between processors that share no cache,
//! and costs between others, so `reach` finds out which of the two a peer wants.

use mpi_core::buffer::{RawBytes, claim};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::room::PAGE;

/// Copies all of `bytes` to `to`. What is copied is visible to whoever sees a later store of this thread.
///
/// # Safety
/// `to` is writable for `bytes.len()` bytes, a multiple of 64, and does not overlap them.
pub(crate) unsafe fn streamed(bytes: RawBytes<'_>, to: *mut u8) {
    // SAFETY: by the caller's promise.
    unsafe { stream(bytes, to) };
    settle();
}

/// As [`streamed`] to any address, and however few bytes.
///
/// # Safety
/// `to` is writable for `bytes.len()` bytes and does not overlap them.
pub(crate) unsafe fn past_the_cache(mut bytes: RawBytes<'_>, to: *mut u8) {
    let skew = to.align_offset(64).min(bytes.len());
    // SAFETY: by the caller's promise; the rest begins on a line, if there is one.
    unsafe {
        bytes.take(skew).copy_to(to);
        stream(bytes, to.wrapping_add(skew));
    }
    settle();
}

/// Copies as many of `bytes` as a message has room for, past the caches if that is one run; returns how many.
///
/// # Safety
/// As `Unpacker::unpack_from`.
pub(crate) unsafe fn unpack_past(mut bytes: RawBytes<'_>, into: &mut Unpacker) -> usize {
    let Some((to, room)) = into.as_contiguous() else {
        // SAFETY: by the caller's promise.
        return unsafe { into.unpack_from(bytes) };
    };
    let bytes = bytes.take(room.min(bytes.len() as u64) as usize);
    // SAFETY: there is as much room left, by the caller's promise.
    unsafe { past_the_cache(bytes, to) };
    into.skip(bytes.len() as u64);
    bytes.len()
}

/// Copies up to `room` bytes of a message to `to`, and returns how many; as [`streamed`].
///
/// # Safety
/// `to` is writable for `room` bytes, a multiple of 64; the message is readable and does not overlap them.
pub(crate) unsafe fn pack_streamed(source: &mut Packer, to: *mut u8, room: usize) -> usize {
    let len = source.remaining().min(room as u64) as usize;
    if let Some((at, _)) = source.as_contiguous() {
        // SAFETY: by the caller's promise; `len` bytes are left of the message.
        unsafe { stream(RawBytes::new(at, len), to) };
        source.skip(len as u64);
    } else {
        // The tile stays in the nearest cache.
        let mut tile = [0u8; PAGE];
        let mut done = 0;
        while done < len {
            // SAFETY: the tile has that many bytes; the message is readable.
            let n = unsafe { source.pack_into(tile.as_mut_ptr(), PAGE.min(len - done)) };
            // SAFETY: `done + n` is at most `len`, and `done` a multiple of `PAGE`.
            unsafe { stream(RawBytes::from(&tile[..n]), to.add(done)) };
            done += n;
        }
    }
    settle();
    len
}

/// Copies past the cache, 64 bytes at a time; the end that is no whole line is stored.
///
/// # Safety
/// As [`streamed`]. The copy is ordered before later stores by [`settle`] alone.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(mut bytes: RawBytes<'_>, to: *mut u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let whole = bytes.take(bytes.len() / 64 * 64);
    for at in (0..whole.len()).step_by(64) {
        let from = whole.as_ptr().wrapping_add(at).cast::<__m128i>();
        let line = to.wrapping_add(at).cast::<__m128i>();
        // SAFETY: 64 bytes from `at` on are within both ranges; `line` is aligned since `to` is.
        unsafe {
            let parts: [__m128i; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(i)));
            for (i, part) in parts.into_iter().enumerate() {
                _mm_stream_si128(line.add(i), part);
            }
        }
    }
    // SAFETY: what is left of both ranges.
    unsafe { bytes.copy_to(to.wrapping_add(whole.len())) };
}

/// Orders streamed stores before later ones.
#[cfg(target_arch = "x86_64")]
fn settle() {
    // SAFETY: every x86-64 processor has the instruction; it touches no memory.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Returns when all loads before are done: one line is looked at again and again at no more than
/// this pace. No load behind it begins before, not even by way of a guess.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn finish_loads() {
    // SAFETY: as for `settle`.
    unsafe { std::arch::x86_64::_mm_lfence() };
}

/// Asks for the line at `at` so that it can be read without waiting; as [`claim`](mpi_core::buffer::claim).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn ask(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch never faults and changes no memory.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Asks for a line of each page behind the first of `len` bytes that will be read, up to that where they end, since the
/// processor's own asking ahead ends with a page, and the place of the next one has to be looked up first. This is for
/// the program's memory, which no cache may have; not for shared memory, whose lines the other end may still write.
#[inline]
pub(crate) fn ask_pages(at: *const u8, len: usize) {
    (PAGE..=len).step_by(PAGE).for_each(|ahead| ask(at.wrapping_add(ahead)));
}

/// As [`ask_pages`], for bytes that will be written.
#[inline]
pub(crate) fn claim_pages(at: *const u8, len: usize) {
    (PAGE..=len).step_by(PAGE).for_each(|ahead| claim(at.wrapping_add(ahead)));
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(bytes: RawBytes<'_>, to: *mut u8) {
    // SAFETY: by the caller's promise.
    unsafe { bytes.copy_to(to) };
}

#[cfg(not(target_arch = "x86_64"))]
fn settle() {}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn finish_loads() {
    std::hint::spin_loop();
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ask(_: *const u8) {}

/// Copies all of `bytes` by the string move, whose stores are seen before all later ones.
///
/// # Safety
/// `to` is writable for `bytes.len()` bytes and does not overlap them.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) unsafe fn by_string_move(bytes: RawBytes<'_>, to: *mut u8) {
    // SAFETY: by the caller's promise; the direction flag is clear wherever functions are called.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes.len() => _,
            inout("rsi") bytes.as_ptr() => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn by_string_move(bytes: RawBytes<'_>, to: *mut u8) {
    // SAFETY: by the caller's promise.
    unsafe { bytes.copy_to(to) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pattern;
    use mpi_core::buffer::UserBuffer;

    #[repr(align(64))]
    struct Room([u8; 3 * PAGE]);

    #[test]
    fn what_has_room_is_unpacked_and_nothing_more() {
        for (len, room, skew) in [(0, 9, 0), (100, 100, 1), (5000, 4999, 7), (4999, 5000, 64)] {
            let bytes = pattern(len as u64, len);
            let mut target = [0xee; 6000];
            let at = UserBuffer(target.as_mut_ptr().wrapping_add(skew));
            let mut into = Unpacker::contiguous(at, room as u64);
            // SAFETY: the target has room behind the skew.
            let taken = unsafe { unpack_past(RawBytes::from(&bytes[..]), &mut into) };
            assert_eq!((taken, into.remaining()), (len.min(room), (room - taken) as u64));
            assert!(target[skew..skew + taken] == bytes[..taken]);
            assert!(target[..skew].iter().chain(&target[skew + taken..]).all(|byte| *byte == 0xee));
        }
    }

    #[test]
    fn every_length_near_the_edges_is_copied_and_nothing_more() {
        for len in (0..200).chain(4090..4200).chain([3 * PAGE]) {
            let bytes = pattern(len as u64, len + 1);
            let source = RawBytes::from(&bytes[1..]);
            let (mut a, mut b) = (Room([0xee; 3 * PAGE]), Room([0xee; 3 * PAGE]));
            let user = UserBuffer(source.as_ptr().cast_mut());
            let mut packer = Packer::contiguous(user, len as u64);
            // SAFETY: both rooms are as long as the longest message.
            unsafe {
                streamed(source, a.0.as_mut_ptr());
                assert_eq!(pack_streamed(&mut packer, b.0.as_mut_ptr(), b.0.len()), len);
            }
            assert_eq!(packer.remaining(), 0);
            for room in [a, b] {
                assert!(room.0[..len] == bytes[1..]);
                assert!(room.0[len..].iter().all(|byte| *byte == 0xee));
            }
        }
    }
}
