//! Copies by the kernel whose two ends lie nearly alike within their pages.
//!
//! The kernel copies by the processor's string move. On an AMD Zen 3 that crawls if it stores a few bytes further
//! behind the beginning of a page than it loads, as it does between a buffer of `malloc` and a page, or neighbouring
//! array elements. So such a copy is made further behind and moved to where it belongs by vector moves, while a near
//! cache has it.
//!
//! In: two addresses. Out: whether what lies there is better copied so.

use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use mpi_core::tuning::{
    ALIKE_BEHIND_BYTES, ALIKE_BYTES, ALIKE_LEAST_BYTES, ALIKE_SLOW, ALIKE_WAY_BYTES, LINE_BYTES,
    TRIALS,
};

use super::memory::PAGE;
use super::process_vm::read_plainly;

/// Whether `len` bytes are better not copied from `from` to `to` in one.
#[inline]
pub(crate) fn are_nearly(from: u64, to: u64, len: usize) -> bool {
    lie_nearly(from, to) && len >= ALIKE_LEAST_BYTES && matters()
}

/// Whether what comes to `to` lies a few bytes further behind the beginning of its page than at `from`.
#[inline]
fn lie_nearly(from: u64, to: u64) -> bool {
    (1..ALIKE_BYTES).contains(&(to.wrapping_sub(from) % PAGE as u64))
}

/// Where at `room` to put what goes from one place to the other: as far behind it, at most [`ALIKE_BEHIND_BYTES`].
pub(super) fn way_through(from: u64, room: u64, to: u64) -> usize {
    let is_apart = |at: u64| !lie_nearly(from, at) && !lie_nearly(at, to);
    // Two of three lines are apart from one place each.
    let mut lines = (0..ALIKE_BEHIND_BYTES).step_by(LINE_BYTES);
    lines.find(|behind| is_apart(room + *behind as u64)).unwrap_or(ALIKE_BEHIND_BYTES)
}

/// Whether this processor's string moves crawl there.
#[cold]
fn matters() -> bool {
    static MATTERS: OnceLock<bool> = OnceLock::new();
    *MATTERS.get_or_init(|| {
        let [apart, nearly] = [LINE_BYTES, LINE_BYTES / 4].map(measure);
        let matters =
            matches!((&apart, &nearly), (Ok(apart), Ok(nearly)) if *nearly > *apart * ALIKE_SLOW);
        tracing::info!(
            ?apart,
            ?nearly,
            matters,
            "copies whose ends lie nearly alike in their pages"
        );
        matters
    })
}

/// How long such a copy takes whose target lies so many bytes further behind the beginning of a page than its source.
fn measure(further: usize) -> io::Result<Duration> {
    let from = vec![1u8; ALIKE_WAY_BYTES];
    let mut to = vec![0u8; ALIKE_WAY_BYTES + PAGE + LINE_BYTES];
    let own = std::process::id() as i32;
    let source = from.as_ptr().addr() as u64;
    let skew = source.wrapping_sub(to.as_ptr().addr() as u64) % PAGE as u64;
    let target = to[skew as usize + further..].as_mut_ptr();
    let mut best = Duration::MAX;
    for _ in 0..TRIALS {
        let begin = Instant::now();
        // SAFETY: the target begins at most a page and a line behind the first byte, and there are so many more.
        unsafe { read_plainly(own, source, target, ALIKE_WAY_BYTES)? };
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_through_lies_nearly_like_neither_end() {
        for room in 0..PAGE as u64 {
            for (from, to) in [(0, 8), (64, 65), (100, 131), (4090, 5), (0, 64 + 8)] {
                let at = room + way_through(from, room, to) as u64;
                assert!(!lie_nearly(from, at) && !lie_nearly(at, to));
            }
        }
    }

    #[test]
    fn ends_that_lie_nearly_alike_are_told_from_others() {
        let are = |further: u64| are_nearly(8192, 4096 * 7 + further, 4096);
        assert!([0, 32, 64, 4095].into_iter().all(|further| !are(further)));
        assert!([1, 16, 31].into_iter().all(|further| are(further) == matters()));
        assert!(
            !are_nearly(8192, 8192 + 4096 + 8, ALIKE_LEAST_BYTES - 1),
            "short ones are left alone"
        );
    }
}
