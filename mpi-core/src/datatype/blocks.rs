//! The inner loops of all copies between user memory and packed bytes: blocks of one length, at
//! equal steps or at listed places. Small blocks are moved by loops made for their size.
#![allow(unsafe_code)]

use crate::buffer::RawBytes;

/// Two places between which bytes move, in the direction that `PACK` says: packing goes from
/// user memory, unpacking to it.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) user: *mut u8,
    pub(super) packed: *mut u8,
}

impl Ends {
    /// Both moved on.
    #[inline]
    pub(super) fn at(self, user: i64, packed: u64) -> Ends {
        Ends {
            user: self.user.wrapping_offset(user as isize),
            packed: self.packed.wrapping_add(packed as usize),
        }
    }

    /// Moves `len` bytes.
    ///
    /// # Safety
    /// `len` bytes at both ends are valid for the access that `PACK` implies, and are disjoint.
    #[inline(always)]
    pub(super) unsafe fn bytes<const PACK: bool>(self, len: usize) {
        let (from, to) = if PACK { (self.user, self.packed) } else { (self.packed, self.user) };
        // SAFETY: by the caller's promise.
        unsafe { RawBytes::new(from.cast_const(), len).copy_to(to) }
    }

    /// Moves `len` bytes, of which there are often few: for those, two moves of half the length
    /// rounded up to a machine word, which may overlap each other, are cheaper than a call.
    ///
    /// # Safety
    /// As for [`Ends::bytes`].
    #[inline(always)]
    pub(super) unsafe fn few_bytes<const PACK: bool>(self, len: usize) {
        // SAFETY: both moves stay within the first and the last byte.
        unsafe {
            match len {
                8..=16 => self.twice::<PACK, 8>(len),
                17..=32 => self.twice::<PACK, 16>(len),
                4..=7 => self.twice::<PACK, 4>(len),
                _ => self.bytes::<PACK>(len),
            }
        }
    }

    /// Moves the first and the last `N` of `len` bytes.
    ///
    /// # Safety
    /// As for [`Ends::bytes`]; `len` is at least `N`.
    #[inline(always)]
    unsafe fn twice<const PACK: bool, const N: usize>(self, len: usize) {
        let rest = (len - N) as u64;
        // SAFETY: by the caller's promise; each place is written from its own source byte.
        unsafe {
            self.bytes::<PACK>(N);
            self.at(rest as i64, rest).bytes::<PACK>(N);
        }
    }
}

/// Calls `copy` at each of `count` places.
#[inline(always)]
pub(super) fn each(stride: i64, size: u64, ends: Ends, count: u64, mut copy: impl FnMut(Ends)) {
    for index in 0..count {
        copy(ends.at(stride.wrapping_mul(index as i64), size.wrapping_mul(index)));
    }
}

/// Chooses the loop for blocks of `$len` bytes: `$one::<PACK, N>` for the sizes that programs
/// have, `$any` for all others.
macro_rules! by_length {
    ($len:expr, [$($n:literal)*], $one:ident $args:tt, $any:expr) => {
        match $len {
            $($n => $one::<PACK, $n> $args,)*
            _ => $any,
        }
    };
}

/// `count` blocks of `len` bytes, `stride` apart in user memory and `pitch` apart in the packed
/// bytes.
///
/// # Safety
/// The user bytes of all blocks are valid for the access that `PACK` implies, so are the packed ones,
/// and the two do not overlap.
#[inline]
pub(super) unsafe fn grid<const PACK: bool>(
    len: usize,
    stride: i64,
    pitch: u64,
    ends: Ends,
    count: u64,
) {
    // SAFETY: the caller's promise is handed on.
    unsafe {
        by_length!(len, [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 32 40 48 64],
            grid_of(stride, pitch, ends, count),
            grid_any::<PACK>(len, stride, pitch, ends, count));
    }
}

/// # Safety
/// As for [`grid`] with blocks of `N` bytes.
unsafe fn grid_of<const PACK: bool, const N: usize>(
    stride: i64,
    pitch: u64,
    ends: Ends,
    count: u64,
) {
    // SAFETY: each block is within the caller's range. The branches let the compiler see the
    // most frequent steps as constants: every other element makes vector instructions.
    unsafe {
        if pitch == N as u64 && stride == 2 * N as i64 && N <= 8 {
            each(2 * N as i64, N as u64, ends, count, |ends| ends.bytes::<PACK>(N));
        } else if PACK && N == 8 && pitch == 8 {
            collect_words(stride, ends, count);
        } else if pitch == N as u64 {
            each(stride, N as u64, ends, count, |ends| ends.bytes::<PACK>(N));
        } else {
            each(stride, pitch, ends, count, |ends| ends.bytes::<PACK>(N));
        }
    }
}

/// Packs `count` words of 8 bytes, `stride` apart: four loads for two stores, since a processor
/// stores as few words a cycle as it does pairs of them.
///
/// # Safety
/// As for [`grid`] with blocks of 8 bytes, which are packed.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "there one loop does all"))]
unsafe fn collect_words(stride: i64, mut ends: Ends, mut count: u64) {
    #[cfg(target_arch = "x86_64")]
    while count >= 4 {
        use std::arch::x86_64::{_mm_loadl_epi64, _mm_storeu_si128, _mm_unpacklo_epi64};

        let user = |index: i64| ends.at(stride.wrapping_mul(index), 0).user.cast_const();
        let packed = |at: u64| ends.at(0, at).packed;
        // SAFETY: four words at both ends are within the caller's range; none needs to be aligned.
        unsafe {
            let word = |index| _mm_loadl_epi64(user(index).cast());
            let pairs =
                [(0, 1), (2, 3)].map(|(one, other)| _mm_unpacklo_epi64(word(one), word(other)));
            _mm_storeu_si128(packed(0).cast(), pairs[0]);
            _mm_storeu_si128(packed(16).cast(), pairs[1]);
        }
        ends = ends.at(stride.wrapping_mul(4), 32);
        count -= 4;
    }
    // SAFETY: the words that are left.
    each(stride, 8, ends, count, |ends| unsafe { ends.bytes::<true>(8) });
}

/// # Safety
/// As for [`grid`].
unsafe fn grid_any<const PACK: bool>(len: usize, stride: i64, pitch: u64, ends: Ends, count: u64) {
    // SAFETY: each block is within the caller's range, and as long as its arm says.
    unsafe {
        match len {
            17..=32 => {
                each(stride, pitch, ends, count, |ends| ends.twice::<PACK, 16>(len));
            }
            33..=64 => {
                each(stride, pitch, ends, count, |ends| ends.twice::<PACK, 32>(len));
            }
            65..=128 => {
                each(stride, pitch, ends, count, |ends| ends.twice::<PACK, 64>(len));
            }
            _ => each(stride, pitch, ends, count, |ends| ends.bytes::<PACK>(len)),
        }
    }
}

/// Blocks of `len` bytes at `disps`, packed one after the other.
///
/// # Safety
/// The user bytes of all blocks are valid for the access that `PACK` implies, so are the packed ones,
/// and the two do not overlap.
pub(super) unsafe fn gather<const PACK: bool>(len: usize, disps: &[i64], ends: Ends) {
    // SAFETY: the caller's promise is handed on.
    unsafe {
        by_length!(len, [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 32 40 48 64],
            gather_of(disps, ends),
            gather_any::<PACK>(len, disps, ends));
    }
}

/// # Safety
/// As for [`gather`] with blocks of `N` bytes.
unsafe fn gather_of<const PACK: bool, const N: usize>(disps: &[i64], ends: Ends) {
    for (index, disp) in disps.iter().enumerate() {
        // SAFETY: each block is within the caller's range.
        unsafe { ends.at(*disp, (index * N) as u64).bytes::<PACK>(N) }
    }
}

/// # Safety
/// As for [`gather`].
unsafe fn gather_any<const PACK: bool>(len: usize, disps: &[i64], ends: Ends) {
    for (index, disp) in disps.iter().enumerate() {
        // SAFETY: each block is within the caller's range.
        unsafe { ends.at(*disp, (index * len) as u64).bytes::<PACK>(len) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// For each packed byte of `count` blocks of `len`: its place in the packed bytes and its place
    /// in user memory.
    fn pairs(len: usize, stride: i64, pitch: u64, count: u64) -> Vec<(usize, i64)> {
        let block = |index: u64| {
            (0..len).map(move |byte| {
                ((pitch * index) as usize + byte, stride * index as i64 + byte as i64)
            })
        };
        (0..count).flat_map(block).collect()
    }

    proptest! {
        #[test]
        fn a_grid_is_copied_as_byte_after_byte_says(
            len in prop_oneof![1usize..=20, Just(24), Just(32), 33usize..=130],
            gap in 0i64..40,
            is_downwards: bool,
            spread in prop_oneof![Just(0u64), 1u64..20],
            count in 0u64..12,
        ) {
            let (stride, pitch) = (len as i64 + gap, len as u64 + spread);
            let stride = if is_downwards { -stride } else { stride };
            let room = 12 * (len + 40);
            let places = pairs(len, stride, pitch, count);
            let mut user: Vec<u8> = (0..2 * room).map(|byte| (byte % 251) as u8).collect();
            let mut packed = vec![255; room];
            let mut expected = packed.clone();
            for (to, from) in &places {
                expected[*to] = user[(room as i64 + from) as usize];
            }
            let start = user.as_mut_ptr().wrapping_add(room);
            let ends = Ends { user: start, packed: packed.as_mut_ptr() };
            // SAFETY: twelve blocks fit on either side of the middle, and in the packed bytes.
            unsafe { grid::<true>(len, stride, pitch, ends, count) };
            prop_assert_eq!(&packed, &expected);

            let mut scattered = vec![0; 2 * room];
            let mut expected = scattered.clone();
            for (from, to) in &places {
                expected[(room as i64 + to) as usize] = packed[*from];
            }
            let start = scattered.as_mut_ptr().wrapping_add(room);
            let ends = Ends { user: start, packed: packed.as_mut_ptr() };
            // SAFETY: as above.
            unsafe { grid::<false>(len, stride, pitch, ends, count) };
            prop_assert_eq!(scattered, expected);
        }
    }
}
