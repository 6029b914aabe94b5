//! How long bodies are stored: by the processor's string move, or by vector moves, which go past the caches where
//! another process will read them and lines are dear to fetch.
//!
//! A line of shared memory is in its last reader's cache, or in one that both share, and a vector move fetches it
//! before it overwrites it. The string move (`rep movsb`) is told how much it will overwrite, and a processor may then
//! do without. Two bare processes on a Zen 5, an exchange with a copy of the own block, by vectors and so: 4 KiB 0.27
//! and 0.18 µs, 16 KiB 0.72 and 0.54, 64 KiB 3.0 and 2.6, of which storing 1.06 and 0.54; past the caches 1.65 and 5.9
//! for the latter two. On a Zen 4 it was as fast as vectors at best, and took 1.4 times as long where both ends did not
//! begin alike within their pages. So both are timed, by length, and the better one is taken ([`known`]).
//!
//! Where string moves would crawl (see `alike`) bodies go by vectors, and nothing is learned of them.
//!
//! What is stored in the program's own memory is timed apart: other caches hold those lines.
//!
//! In: bodies, and room. Out: the same, stored.

mod known;

use std::time::Instant;

use mpi_core::boards::Copying;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};

use crate::copy;
use crate::sys::alike;
use known::Beside;
#[cfg(not(test))]
pub(crate) use known::{far_nanos, is_light, is_quick};

/// Shorter bodies are stored by vector moves, which do not go past the caches: to time them would cost as much.
pub(crate) const LONG_BYTES: usize = 4096;
/// What is known of the place where something is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ground {
    /// Something was stored there before, or nothing is compared with what was.
    Known,
    /// Nothing was, so that its pages are still to be found, which may take longer than to store all of it: whatever
    /// stores there looks dear beside what stores elsewhere.
    New,
}

/// What a test wants it to be, whatever its processor is like.
#[cfg(test)]
pub(crate) use tests::{far_nanos, is_light, is_quick};

/// Stores all of `bytes`, which are long, at `to`; vectors are to go past the caches or not.
///
/// # Safety
/// As [`copy::streamed`].
#[inline(never)]
pub(crate) unsafe fn store(bytes: RawBytes<'_>, to: *mut u8, past: bool) {
    // SAFETY: by the caller's promise.
    unsafe { store_long(bytes, to, Beside::shared(past), Ground::Known) };
}

/// Stores up to `room` bytes of a message at `to`, and returns how many; as [`store`], but for a message
/// that is short or not one run.
///
/// # Safety
/// As [`copy::pack_streamed`].
#[inline(never)]
pub(crate) unsafe fn pack(
    source: &mut Packer,
    to: *mut u8,
    room: usize,
    past: bool,
    ground: Ground,
) -> usize {
    let len = source.remaining().min(room as u64) as usize;
    let run = if len >= LONG_BYTES { source.as_contiguous() } else { None };
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
    unsafe { store_long(RawBytes::new(at, len), to, Beside::shared(past), ground) };
    source.skip(len as u64);
    len
}

/// Copies as many of `bytes` as have room where a message goes, in the program's own memory, and returns how many.
///
/// # Safety
/// As `Unpacker::unpack_from`.
pub(crate) unsafe fn unpack(mut bytes: RawBytes<'_>, what: Copying, into: &mut Unpacker) -> usize {
    let run = if bytes.len() >= LONG_BYTES { into.as_contiguous() } else { None };
    let Some((to, room)) = run.filter(|(_, room)| *room >= LONG_BYTES as u64) else {
        // SAFETY: by the caller's promise.
        return unsafe {
            match what {
                Copying::Own => into.unpack_from(bytes),
                Copying::Out => into.bring_from(bytes),
            }
        };
    };
    let beside = match what {
        Copying::Own => Beside::Own,
        Copying::Out => Beside::Out,
    };
    let bytes = bytes.take(room.min(bytes.len() as u64) as usize);
    // SAFETY: there is as much room left, by the caller's promise.
    unsafe { store_long(bytes, to, beside, Ground::Known) };
    into.skip(bytes.len() as u64);
    bytes.len()
}

#[inline]
unsafe fn store_long(bytes: RawBytes<'_>, to: *mut u8, beside: Beside, ground: Ground) {
    let [from, onto] = [bytes.as_ptr().addr(), to.addr()].map(|at| at as u64);
    let (by_string, timed) = match alike::are_nearly(from, onto, bytes.len()) {
        true => (false, false),
        false => known::choose(beside, bytes.len(), ground),
    };
    let begin = timed.then(Instant::now);
    // SAFETY: by the caller's promise, both.
    unsafe {
        match by_string {
            true => by_string_move(bytes, to),
            false => by_vectors(bytes, to, beside),
        }
    }
    if let Some(begin) = begin {
        known::learn(beside, by_string, begin.elapsed().as_nanos() as u64, bytes.len());
    }
}

#[inline]
unsafe fn by_vectors(bytes: RawBytes<'_>, to: *mut u8, beside: Beside) {
    // SAFETY: by the caller's promise, both.
    unsafe {
        match beside {
            Beside::Past => copy::streamed(bytes, to),
            Beside::Caches | Beside::Own => bytes.copy_to(to),
            Beside::Out => bytes.bring_to(to),
        }
    }
}

/// Copies all of `bytes` by the string move, whose stores are seen before all later ones.
///
/// # Safety
/// As [`store`].
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn by_string_move(bytes: RawBytes<'_>, to: *mut u8) {
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
unsafe fn by_string_move(bytes: RawBytes<'_>, to: *mut u8) {
    // SAFETY: by the caller's promise.
    unsafe { bytes.copy_to(to) };
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::conformance::pattern;
    use mpi_core::buffer::UserBuffer;
    use std::cell::Cell;

    thread_local! {
        static LIGHT: Cell<Option<bool>> = const { Cell::new(Some(false)) };
        static FAR_NANOS: Cell<Option<u64>> = const { Cell::new(Some(u64::MAX)) };
    }

    pub(crate) fn is_light(_is_far: bool) -> Option<bool> {
        LIGHT.get()
    }

    pub(crate) fn is_quick() -> bool {
        LIGHT.get() == Some(true)
    }

    pub(crate) fn far_nanos() -> Option<u64> {
        FAR_NANOS.get()
    }

    /// Says what is known from now on of what storing 64 KiB for a far reader takes at best.
    pub(crate) fn prove_far_nanos(nanos: Option<u64>) {
        FAR_NANOS.set(nanos);
    }

    /// Says what is known from now on of what storing costs.
    pub(crate) fn prove_light(is_light: Option<bool>) {
        LIGHT.set(is_light);
    }

    const ROOM: usize = 80_000;

    #[repr(align(64))]
    struct Room([u8; ROOM]);

    #[test]
    fn all_is_stored_whichever_way_it_goes_and_nothing_more() {
        for len in [1, 4095, 4096, 4097, 20_000, 65_536, 70_001] {
            let bytes = pattern(len as u64, len + 3);
            let source = RawBytes::from(&bytes[3..]);
            let grounds = [Ground::Known, Ground::Known, Ground::New].into_iter().cycle();
            for (past, ground) in [false, true].into_iter().cycle().zip(grounds).take(150) {
                let (mut a, mut b) = (Room([0xee; ROOM]), Room([0xee; ROOM]));
                let mut packer =
                    Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), len as u64);
                // SAFETY: both rooms are longer than the longest body.
                let packed = unsafe {
                    store(source, a.0.as_mut_ptr(), past);
                    pack(&mut packer, b.0.as_mut_ptr(), ROOM, past, ground)
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
    fn a_message_in_two_pieces_goes_on_where_the_first_ended() {
        let bytes = pattern(1, 10_000);
        let mut packer = Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), 10_000);
        // A room that is moved out of its type need not begin on a line, as what goes past the caches has to.
        let mut room = Room([0; ROOM]);
        // SAFETY: each piece has the room that it is given, and begins on a line.
        let packed = unsafe {
            let mut pack = |at, room| pack(&mut packer, at, room, true, Ground::Known);
            let at = room.0.as_mut_ptr();
            (pack(at, 4096), pack(at.add(4096), 6016))
        };
        assert!(packed == (4096, 5904) && room.0[..10_000] == bytes);
    }

    #[test]
    fn what_has_room_is_copied_and_nothing_more() {
        for (len, room) in [(100, 100), (5000, 4999), (4999, 5000), (70_000, 4096), (9000, 10)] {
            for what in [Copying::Own, Copying::Out].into_iter().cycle().take(24) {
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

    #[test]
    fn what_is_stored_on_new_ground_is_no_trial() {
        let (bytes, mut room) = (pattern(1, LONG_BYTES), Room([0; ROOM]));
        let samples = || known::ways(Beside::Past, LONG_BYTES);
        let mut store = |ground| {
            let at = UserBuffer(bytes.as_ptr().cast_mut());
            let mut packer = Packer::contiguous(at, LONG_BYTES as u64);
            // SAFETY: the room is longer.
            unsafe { pack(&mut packer, room.0.as_mut_ptr(), ROOM, true, ground) };
        };
        (0..50).for_each(|_| store(Ground::New));
        assert!(!samples().one.is_known() && !samples().other.is_known());
        (0..6).for_each(|_| store(Ground::Known));
        assert!(samples().is_judged());
    }
}
