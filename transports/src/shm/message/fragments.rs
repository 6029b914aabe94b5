//! How long the fragments are in which messages go through the ring or an exchange buffer: short ones first, so that
//! the receiver begins early, and longer ones the more has gone, since each costs both ends a cell.
//!
//! In: the length of a message, and what has gone of it. Out: its next fragment, and which messages may go eagerly.

use mpi_core::header::INLINE_BYTES;
use mpi_core::tuning::{
    ANSWER_FACTOR, ANSWER_FRAGMENT_BYTES, FIRST_FRAGMENT_BYTES, STEADY_FRAGMENT_BYTES,
};

use crate::shm::settings::ShmSettings;

/// Bytes of the next fragment of a message of which `moved` have gone, when a chunk has `most`: whole lines.
#[inline]
pub(in crate::shm) fn fragment(moved: u64, most: usize) -> usize {
    let moved = usize::try_from(moved).unwrap_or(most);
    grown(moved.clamp(FIRST_FRAGMENT_BYTES, STEADY_FRAGMENT_BYTES), moved, most)
}

/// The same of a message that goes through the exchange buffer.
#[inline]
pub(in crate::shm) fn answer_fragment(moved: u64, most: usize) -> usize {
    let moved = usize::try_from(moved).unwrap_or(most);
    grown((moved / 2).clamp(ANSWER_FRAGMENT_BYTES, STEADY_FRAGMENT_BYTES), moved, most)
}

/// At least `least` bytes, growing with what has gone, in whole lines.
#[inline]
fn grown(least: usize, moved: usize, most: usize) -> usize {
    least.max(moved / 4).min(most) & !63
}

/// The longest message that goes in one fragment.
pub(in crate::shm) fn whole_most(shm: &ShmSettings) -> u64 {
    (FIRST_FRAGMENT_BYTES as u64).min(shm.chunk_bytes.into()).max(shm.slot_bytes.into())
}

/// Fragments of a message that is cut like this.
pub(in crate::shm) fn fragments(
    len: u64,
    most: usize,
    fragment: impl Fn(u64, usize) -> usize,
) -> u32 {
    let (mut moved, mut count) = (0, 0);
    while moved < len {
        moved += fragment(moved, most) as u64;
        count += 1;
    }
    count
}

/// The longest message that may go eagerly: one that half a lane and half the ring hold.
pub(in crate::shm) fn eager_most(shm: &ShmSettings) -> u64 {
    let (half, chunk) = (shm.lane_cells / 2, shm.chunk_bytes as usize);
    let mut most = 0;
    for _ in 0..half {
        most += fragment(most, chunk) as u64;
    }
    let ring = shm.ring_bytes / 2;
    let wanted =
        u64::from(shm.eager_bytes) * if shm.exchange_bytes > 0 { ANSWER_FACTOR } else { 1 };
    most.min(ring).min(wanted).max(INLINE_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_begin_small_and_grow_to_a_chunk() {
        let most = 16 << 10;
        let sizes = |fragment: fn(u64, usize) -> usize| -> Vec<usize> {
            let mut moved = 0;
            let next = || {
                let next = fragment(moved, most);
                moved += next as u64;
                Some(next)
            };
            std::iter::from_fn(next).take(6).collect()
        };
        assert_eq!(sizes(fragment)[..4], [8 << 10, 8 << 10, 16 << 10, 16 << 10]);
        assert_eq!(sizes(answer_fragment), [4 << 10, 4 << 10, 4 << 10, 6 << 10, 9 << 10, 27 << 9]);
        assert_eq!(
            (fragment(100 << 10, 32 << 10), fragment(1 << 20, 32 << 10)),
            (25 << 10, 32 << 10)
        );
        assert_eq!(fragment((64 << 10) + 300, 32 << 10) % 64, 0);
        assert_eq!(fragments(8193, most, fragment), 2);
        assert_eq!([1, 64 << 10].map(|len| fragments(len, most, fragment)), [1, 5]);
        assert_eq!([1, 64 << 10].map(|len| fragments(len, most, answer_fragment)), [1, 8]);
        assert_eq!(fragments(4097, 4096, fragment), 2);
    }
}
