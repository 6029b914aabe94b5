//! How much the processor's caches hold: the last one before memory, since what does not fit into it passes through
//! it anyway, and a copy more on its way is a way to memory and back more.
//!
//! In: the kernel's list of caches. Out: whether bytes have room.

use std::sync::OnceLock;

use mpi_core::tuning::{LAST_CACHE_LEAST_BYTES, LAST_CACHE_MOST_BYTES};

/// What the caches hold, once it was asked for.
#[derive(Default)]
pub(in crate::shm) struct Caches {
    last: OnceLock<u64>,
}

impl Caches {
    /// What a test wants the last one to hold.
    #[cfg(test)]
    pub(in crate::shm) fn with_last(bytes: u64) -> Caches {
        Caches { last: OnceLock::from(bytes) }
    }

    /// Whether so many bytes fill the last one.
    pub(in crate::shm) fn are_filled_by(&self, bytes: u64) -> bool {
        bytes >= LAST_CACHE_LEAST_BYTES && bytes >= *self.last.get_or_init(last_bytes)
    }

    /// Whether so many bytes are more than the last one holds: what just fills it may still find all of it there.
    pub(in crate::shm) fn are_exceeded_by(&self, bytes: u64) -> bool {
        self.are_filled_by(bytes.saturating_sub(1))
    }
}

fn last_bytes() -> u64 {
    let bytes = here().and_then(machine::last_level_bytes);
    tracing::info!(?bytes, "the last cache before memory");
    bytes.unwrap_or(LAST_CACHE_MOST_BYTES).clamp(LAST_CACHE_LEAST_BYTES, LAST_CACHE_MOST_BYTES)
}

/// A processor that this process may run on.
fn here() -> Option<usize> {
    machine::affinity().first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_have_room_and_very_many_have_not() {
        for caches in [
            Caches::default(),
            Caches::with_last(LAST_CACHE_LEAST_BYTES),
            Caches::with_last(LAST_CACHE_MOST_BYTES),
        ] {
            assert!(!caches.are_filled_by(LAST_CACHE_LEAST_BYTES - 1));
            assert!(caches.are_filled_by(LAST_CACHE_MOST_BYTES));
        }
    }

    #[test]
    fn what_just_fills_a_cache_does_not_exceed_it() {
        let caches = Caches::with_last(8 << 20);
        let of = |bytes| (caches.are_filled_by(bytes), caches.are_exceeded_by(bytes));
        assert_eq!(of((8 << 20) - 1), (false, false));
        assert_eq!(of(8 << 20), (true, false));
        assert_eq!(of((8 << 20) + 1), (true, true));
    }
}
