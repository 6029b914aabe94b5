//! How long pieces are written where ranks share processors.
//!
//! Past the caches they come from memory to all readers alike; by ordinary stores readers on the writer's
//! own processor find them in its cache, but lines that a far one holds have to be taken from it first. Which
//! of both is cheaper differs between machines, for the writer by a third in the one direction (256 KiB
//! for seven readers, second-level caches far from each other: 44 µs past the caches, 31 ordinary) or by
//! three times in the other (processors with a last-level cache each). So both are timed now and then.
//!
//! Of a reader who is alone nothing else need be known. What a look at its count takes (see [`crate::shm::Reach`])
//! tells little here, since it is often here already: perhaps as writers on one processor look by turns at counts in
//! one page, and the processor comes to fetch the next one by itself. (Zen 3, 8 ranks, processors far from each other:
//! 8 to 16 of the 32 streams between both were found far. All-to-all of as many, by looks and by costs: 32 KiB 152 and
//! 125 µs, 64 KiB 284 and 219; near each other as long.)
//!
//! In: the pieces of one stream. Out: the same, stored, one way or the other.

use mpi_core::datatype::Packer;

use crate::past::Past;
use crate::stores::{self, Ground};

/// What is known of the two ways.
#[derive(Debug, Default)]
pub(super) struct Copies(Past);

impl Copies {
    /// Copies the next `len` bytes of `source` to `to`, which is such ground.
    ///
    /// # Safety
    /// As [`stores::pack`].
    pub(super) unsafe fn pack(
        &mut self,
        source: &mut Packer,
        to: *mut u8,
        len: usize,
        ground: Ground,
    ) {
        let mut pack = |past| {
            // SAFETY: by the caller's promise.
            unsafe { stores::pack(source, to, len, past, ground) };
        };
        match ground {
            Ground::Known => self.0.write(len, pack),
            Ground::New => pack(self.0.is_better()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Room([u8; 8192]);

    #[test]
    fn all_is_copied_and_new_ground_teaches_nothing() {
        let (bytes, mut room) = ([7u8; 8192], Room([0; 8192]));
        let user = mpi_core::buffer::UserBuffer(bytes.as_ptr().cast_mut());
        let mut copies = Copies::default();
        let mut pack = |ground, Room(room): &mut Room| {
            room.fill(0);
            let mut source = Packer::contiguous(user, 8192);
            // SAFETY: the room has as many bytes and begins on a line.
            unsafe { copies.pack(&mut source, room.as_mut_ptr(), 8192, ground) };
            assert!(*room == bytes);
            copies.0.is_judged()
        };
        assert!((0..5).all(|_| !pack(Ground::New, &mut room)));
        assert_eq!((0..100).filter(|_| !pack(Ground::Known, &mut room)).count(), 1);
    }
}
