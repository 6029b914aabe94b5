//! How much the last cache before memory holds: what does not fit into it passes through it anyway, and a copy more on
//! its way is a way to memory and back more.
//!
//! In: the kernel's list of caches. Out: whether bytes have room.

use std::sync::OnceLock;

/// Where the kernel does not say; and no more than this is counted on, since whatever a larger one holds it holds for
/// many processors.
const MOST: u64 = 32 << 20;
/// No last cache is smaller, so that few bytes need no look.
const LEAST: u64 = 1 << 20;

/// The last cache, once it was asked for.
#[derive(Default)]
pub(super) struct LastLevel(OnceLock<u64>);

impl LastLevel {
    /// What a test wants it to hold.
    #[cfg(test)]
    pub(super) fn of(bytes: u64) -> LastLevel {
        LastLevel(OnceLock::from(bytes))
    }

    /// Whether so many bytes fill it.
    pub(super) fn is_filled_by(&self, bytes: u64) -> bool {
        bytes >= LEAST && bytes >= *self.0.get_or_init(measured)
    }

    /// Whether so many bytes take more than half of it.
    pub(super) fn is_more_than_half(&self, bytes: u64) -> bool {
        self.is_filled_by(bytes.saturating_mul(2).saturating_sub(1))
    }
}

fn measured() -> u64 {
    let first = machine::affinity().first().copied();
    let bytes = first.and_then(machine::last_level_bytes);
    tracing::info!(?bytes, "the last cache before memory");
    bytes.unwrap_or(MOST).clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_have_room_and_very_many_have_not() {
        for cache in [LastLevel::default(), LastLevel::of(LEAST), LastLevel::of(MOST)] {
            assert!(!cache.is_more_than_half(LEAST / 2) && !cache.is_filled_by(LEAST - 1));
            assert!(cache.is_filled_by(MOST) && cache.is_more_than_half(MOST / 2 + 1));
        }
    }
}
