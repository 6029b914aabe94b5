//! What moving bytes costs on this machine: one value, from which every choice within a node is made.
//!
//! The first long message measures it, once, on memory of this process alone: a copy by vector moves, by the
//! processor's string move (`rep movsb`) and by non-temporal stores, and one by the kernel out of an address space.
//! Where the caches of a peer are, each pair finds out by itself (see [`Class`]).
//!
//! In: the processor and the kernel. Out: nanoseconds.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use mpi_core::buffer::RawBytes;
use mpi_core::room::Room;
use mpi_core::tuning::{COPIED_AT_ONCE_BYTES, FAR_FACTOR, MEMORY_FACTOR, STRING_MARGIN, TRIALS};

use crate::copy;
use crate::sys::cma;

/// Bytes that all costs are for.
pub(crate) const UNIT: u64 = COPIED_AT_ONCE_BYTES as u64;

/// Where the caches of two processes are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    /// Their processors share the last cache.
    SameCache,
    /// They do not.
    OtherCache,
}

/// Nanoseconds for [`UNIT`] bytes that are in the caches of this processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Profile {
    /// By vector moves.
    pub vectors: u64,
    /// By the string move.
    pub string: u64,
    /// By non-temporal stores.
    pub past: u64,
    /// By the kernel, from one address space to another; nothing where it refuses.
    pub cross_memory: Option<u64>,
}

impl Profile {
    /// That of this machine.
    pub(crate) fn of_this_machine() -> &'static Profile {
        static PROFILE: OnceLock<Profile> = OnceLock::new();
        PROFILE.get_or_init(|| {
            let profile = Profile::measure();
            tracing::info!(?profile, "nanoseconds to copy {UNIT} bytes");
            profile
        })
    }

    fn measure() -> Profile {
        let (mut from, mut to) = (Room::default(), Room::default());
        let (from, to) = (from.of(UNIT as usize), to.of(UNIT as usize));
        // SAFETY: both have as many bytes, and are two.
        let bytes = || unsafe { RawBytes::new(black_box(from), UNIT as usize) };
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let kernel = || {
            // SAFETY: as above.
            unsafe { cma::read_exact(own, from.addr() as u64, to, UNIT as usize) }.is_ok()
        };
        let cross_memory = kernel().then(|| least(|| _ = kernel()));
        // SAFETY: as above, three times; rooms begin on a page.
        unsafe {
            Profile {
                vectors: least(|| bytes().copy_to(black_box(to))),
                string: least(|| copy::by_string_move(bytes(), black_box(to))),
                past: least(|| copy::streamed(bytes(), black_box(to))),
                cross_memory,
            }
        }
    }

    /// Whether long bodies are stored by the string move: well below, since its cost varies with how both ends lie.
    pub(crate) fn stores_by_string(&self) -> bool {
        self.string + self.string / STRING_MARGIN < self.vectors
    }

    /// A copy within the caches of one processor.
    pub(crate) fn copy(&self) -> u64 {
        if self.stores_by_string() { self.string } else { self.vectors }
    }

    /// To store bytes where a process of that class reads them.
    pub(crate) fn store(&self, class: Class) -> u64 {
        match class {
            Class::SameCache => self.copy(),
            Class::OtherCache => self.past.min(FAR_FACTOR * self.vectors),
        }
    }

    /// To take bytes from where a process of that class has stored them. From another cache that cannot be measured by
    /// one process; a non-temporal store waits for memory as such a load does for that cache, and stands for it.
    pub(crate) fn load(&self, class: Class) -> u64 {
        match class {
            Class::SameCache => self.vectors,
            Class::OtherCache => self.past.max(self.vectors).min(FAR_FACTOR * self.vectors),
        }
    }

    /// The same machine as seen by messages that no cache holds.
    pub(crate) fn in_memory(&self) -> Profile {
        let cross_memory = self.cross_memory.map(|nanos| nanos + self.vectors);
        Profile {
            vectors: MEMORY_FACTOR * self.vectors,
            string: MEMORY_FACTOR * self.string,
            cross_memory,
            ..*self
        }
    }
}

/// The least time of some.
fn least(mut copy: impl FnMut()) -> u64 {
    let time = |_| {
        let begin = Instant::now();
        copy();
        begin.elapsed().as_nanos() as u64
    };
    (0..TRIALS).map(time).min().unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_copies_and_says_how_fast() {
        let profile = Profile::of_this_machine();
        assert_eq!(profile, Profile::of_this_machine());
        // From a terabyte to ten megabytes in a second.
        assert!((64..6_400_000).contains(&profile.copy()), "{profile:?}");
    }

    #[test]
    fn the_string_move_is_taken_where_it_is_well_below() {
        let profile = |string| Profile { vectors: 1000, string, past: 4000, cross_memory: None };
        assert_eq!(
            [500, 799, 801, 1000].map(|string| profile(string).stores_by_string()),
            [true, true, false, false]
        );
    }

    #[test]
    fn a_reader_elsewhere_is_stored_for_past_the_caches_where_that_costs_less() {
        let profile = |past| Profile { vectors: 1000, string: 1000, past, cross_memory: None };
        assert_eq!([1500, 9000].map(|past| profile(past).store(Class::OtherCache)), [1500, 3000]);
        assert_eq!(profile(1500).store(Class::SameCache), 1000);
    }
}
