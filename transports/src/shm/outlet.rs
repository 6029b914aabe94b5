//! How the pieces of a long message are written to the memory of the receive.
//!
//! Memory that no cache has is fetched by an ordinary store before it is overwritten, and a third
//! of what the memory moves is for nothing; a store past the cache does not ask. For memory that
//! a cache has it is the other way round (4 MiB one way, two bare processes that share a cache:
//! cold 300 µs ordinary and 235 past it, warm 144 and 168). Nobody says which it is, so now and
//! then a piece is timed, and now and then one is written the other way.

use crate::copy;
use crate::past::Past;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;

/// Shorter pieces are always written the ordinary way.
const LONG_BYTES: usize = 16 << 10;

/// What is known of the two ways.
#[derive(Debug)]
pub(super) struct Outlet(Past);

impl Outlet {
    /// Nothing is known.
    pub(super) fn new() -> Outlet {
        Outlet(Past::behind_new_pages())
    }

    /// Writes a piece to where `to` stands.
    ///
    /// # Safety
    /// The piece is readable; the user memory is writable and does not overlap it.
    pub(super) unsafe fn write(&mut self, piece: RawBytes<'_>, to: &mut Unpacker) {
        let len = piece.len();
        let run = to.as_contiguous().filter(|(_, room)| len >= LONG_BYTES && *room >= len as u64);
        let Some((at, _)) = run else {
            // SAFETY: by the caller's promise.
            unsafe { to.unpack_from(piece) };
            return;
        };
        // SAFETY: by the caller's promise; the run has room for the piece.
        self.0.write(len, |past| unsafe {
            if past {
                copy::past_the_cache(piece, at);
            } else {
                copy::claim_pages(at, len);
                piece.copy_to(at);
            }
        });
        to.skip(len as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pattern;
    use crate::past::BYTES_PER_LOOK;
    use mpi_core::buffer::UserBuffer;

    #[test]
    fn every_piece_is_written_whichever_way_it_goes() {
        for (skew, len) in [(0, 20_000), (1, 16_384), (13, 40_001), (64, 3), (7, 0)] {
            let mut outlet = Outlet::new();
            for turn in 0..2 + BYTES_PER_LOOK / LONG_BYTES {
                let bytes = pattern(turn as u64, len);
                let mut room = vec![0xee; len + 200];
                let user = UserBuffer(room.as_mut_ptr().wrapping_add(skew));
                let mut to = Unpacker::contiguous(user, len as u64 + 5);
                // SAFETY: the room is longer than skew, piece and what must stay.
                unsafe { outlet.write(RawBytes::from(&bytes[..]), &mut to) };
                assert_eq!(to.remaining(), 5);
                assert!(room[skew..skew + len] == bytes);
                assert!(room[..skew].iter().chain(&room[skew + len..]).all(|b| *b == 0xee));
            }
        }
    }
}
