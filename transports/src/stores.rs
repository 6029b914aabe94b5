//! How long bodies are stored: by vector moves or, where the processor does better by it, by its string move; and past
//! the caches where a process reads them whose caches are elsewhere.
//!
//! The string move (`rep movsb`) knows how much it will overwrite, and some processors then do without fetching the
//! lines. Which is better the profile says, once. Where string moves would crawl (see `alike`) bodies go by vectors.
//!
//! In: bodies, and room. Out: the same, stored.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::node_memory::Copying;
use mpi_core::tuning::LONG_STORE_BYTES;

use crate::copy::{self, by_string_move};
use crate::profile::Profile;
use crate::sys::alike;

/// Stores all of `bytes`, which are long, at `to`; past the caches or not.
///
/// # Safety
/// As [`copy::streamed`].
#[inline(never)]
pub(crate) unsafe fn store(bytes: RawBytes<'_>, to: *mut u8, past: bool) {
    // SAFETY: by the caller's promise, each.
    unsafe {
        match past {
            true => copy::streamed(bytes, to),
            false if goes_by_string(bytes, to) => by_string_move(bytes, to),
            false => bytes.copy_to(to),
        }
    }
}

/// Stores up to `room` bytes of a message at `to`, and returns how many; as [`store`], but for any message.
///
/// # Safety
/// As [`copy::pack_streamed`].
#[inline(never)]
pub(crate) unsafe fn pack(source: &mut Packer, to: *mut u8, room: usize, past: bool) -> usize {
    let len = source.remaining().min(room as u64) as usize;
    let run = if len >= LONG_STORE_BYTES { source.as_contiguous() } else { None };
    let Some((at, _)) = run else {
        // SAFETY: by the caller's promise, both.
        return unsafe {
            match past {
                true => copy::pack_streamed(source, to, room),
                false => source.pack_into(to, room),
            }
        };
    };
    // SAFETY: as many bytes are left of the message, and of the room, by the caller's promise.
    unsafe { store(RawBytes::new(at, len), to, past) };
    source.skip(len as u64);
    len
}

/// Copies as many of `bytes` as have room where a message goes, in the program's own memory, and returns how many.
///
/// # Safety
/// As `Unpacker::unpack_from`.
pub(crate) unsafe fn unpack(mut bytes: RawBytes<'_>, what: Copying, into: &mut Unpacker) -> usize {
    let run = if bytes.len() >= LONG_STORE_BYTES { into.as_contiguous() } else { None };
    let run =
        run.filter(|(to, room)| *room >= LONG_STORE_BYTES as u64 && goes_by_string(bytes, *to));
    // SAFETY: by the caller's promise, each; there is as much room left.
    unsafe {
        match (run, what) {
            (Some((to, room)), _) => {
                let bytes = bytes.take(room.min(bytes.len() as u64) as usize);
                by_string_move(bytes, to);
                into.skip(bytes.len() as u64);
                bytes.len()
            }
            (None, Copying::Own) => into.unpack_from(bytes),
            (None, Copying::Out) => into.bring_from(bytes),
        }
    }
}

/// Whether long bytes go by the string move.
#[inline]
fn goes_by_string(bytes: RawBytes<'_>, to: *mut u8) -> bool {
    let [from, onto] = [bytes.as_ptr().addr(), to.addr()].map(|at| at as u64);
    Profile::of_this_machine().stores_by_string() && !alike::are_nearly(from, onto, bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pattern;
    use mpi_core::buffer::UserBuffer;

    const ROOM: usize = 80_000;

    #[repr(align(64))]
    struct Room([u8; ROOM]);

    #[test]
    fn all_is_stored_whichever_way_it_goes_and_nothing_more() {
        for len in [1, 4095, 4096, 4097, 20_000, 65_536, 70_001] {
            let bytes = pattern(len as u64, len + 3);
            let source = RawBytes::from(&bytes[3..]);
            for way in 0..3 {
                let (mut a, mut b) = (Room([0xee; ROOM]), Room([0xee; ROOM]));
                let mut packer =
                    Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), len as u64);
                // SAFETY: both rooms are longer than the longest body.
                let packed = unsafe {
                    match way {
                        2 => by_string_move(source, a.0.as_mut_ptr()),
                        past => store(source, a.0.as_mut_ptr(), past == 1),
                    }
                    pack(&mut packer, b.0.as_mut_ptr(), ROOM, way == 1)
                };
                assert_eq!((packed, packer.remaining()), (len, 0));
                for Room(room) in [a, b] {
                    assert!(
                        room[..len] == bytes[3..] && room[len..].iter().all(|byte| *byte == 0xee)
                    );
                }
            }
        }
    }

    #[test]
    fn a_message_in_two_fragments_goes_on_where_the_first_ended() {
        let bytes = pattern(1, 10_000);
        let mut packer = Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), 10_000);
        // A room that is moved out of its type need not begin on a line, as what goes past the caches has to.
        let mut room = Room([0; ROOM]);
        // SAFETY: each fragment has the room that it is given, and begins on a line.
        let packed = unsafe {
            let mut pack = |at, room| pack(&mut packer, at, room, true);
            let at = room.0.as_mut_ptr();
            (pack(at, 4096), pack(at.add(4096), 6016))
        };
        assert!(packed == (4096, 5904) && room.0[..10_000] == bytes);
    }

    #[test]
    fn what_has_room_is_copied_and_nothing_more() {
        for (len, room) in [(100, 100), (5000, 4999), (4999, 5000), (70_000, 4096), (9000, 10)] {
            for what in [Copying::Own, Copying::Out] {
                let bytes = pattern(len as u64, len);
                let mut target = vec![0xee; ROOM];
                let at = UserBuffer(target.as_mut_ptr());
                let mut into = Unpacker::contiguous(at, room as u64);
                // SAFETY: the target has the room.
                let taken = unsafe { unpack(RawBytes::from(&bytes[..]), what, &mut into) };
                assert_eq!((taken, into.remaining()), (len.min(room), (room - taken) as u64));
                assert!(
                    target[..taken] == bytes[..taken] && target[taken..].iter().all(|b| *b == 0xee)
                );
            }
        }
    }
}
