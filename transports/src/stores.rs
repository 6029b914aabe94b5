//! How long bodies are stored: by the processor's string move, or by vector moves, which go past the caches where
//! another process will read them and lines are dear to fetch.
//!
//! A line of shared memory is in its last reader's cache, or in one that both share, and a vector move fetches it
//! before it overwrites it. The string move (`rep movsb`) is told how much it will overwrite, and a processor may then
//! do without. Two bare processes on a Zen 5, an exchange with a copy of the own block, by vectors and so: 4 KiB 0.27
//! and 0.18 µs, 16 KiB 0.72 and 0.54, 64 KiB 3.0 and 2.6, of which storing 1.06 and 0.54; past the caches 1.65 and 5.9
//! for the latter two. On a Zen 4 it was as fast as vectors at best, and took 1.4 times as long where both ends did not
//! begin alike within their pages. So both are timed, by length, and the better one is taken. What goes past the
//! caches costs its reader more as well, which is not seen here: beside such vectors the string move need not even be
//! as good to be taken.
//!
//! What is stored in the program's own memory, or for who goes on with it there, is timed apart: other caches hold
//! those lines.
//!
//! In: bodies, and room. Out: the same, stored.

use std::cell::RefCell;
use std::time::Instant;

use mpi_core::boards::Copying;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};

use crate::copy;
use crate::trials::Rivals;

/// Shorter bodies are stored by vector moves, which do not go past the caches: to time them would cost as much.
pub(crate) const LONG_BYTES: usize = 4096;
/// Lengths are told apart by powers of four, from [`LONG_BYTES`] on.
const CLASSES: usize = 4;
/// String moves are light if 64 KiB take at most so many nanoseconds and nothing else is better: a line that a far
/// cache holds costs little more than one that is near then. (Zen 5, 64 KiB stored for a far reader by ordinary
/// vectors 7.9 µs, past the caches 1.3, so 1.4, and copied out by it in 1.8, 2.3 and 1.8; the kernel fetches as much
/// in 6.)
const LIGHT_NANOS: u64 = 2500;

/// What goes past the caches costs its reader, who fetches it from memory, one part in so many of what it costs its
/// writer. (Two bare processes, far, exchange 64 KiB in 4.0 µs by string moves and in 4.5 past the caches, though the
/// latter store them in 1.3, not in 1.4.)
const SPARED: u64 = 4;

/// What is known of the two ways for bodies of about one length.
#[derive(Clone, Copy)]
struct Known {
    /// By string moves is the one way.
    ways: Rivals,
    /// The dearer way has just been tried, and what comes next goes the other one, by string moves or not, so that
    /// both are known of about the same moment.
    answer: Option<bool>,
    /// What the trial took, until that has gone; nanoseconds for 64 KiB.
    trial: Option<u64>,
}

/// The same for all lengths.
type OfLengths = [Known; CLASSES];

const NOTHING: OfLengths = [Known::new(); CLASSES];

/// What string moves are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beside {
    /// Vectors that go to shared memory through the caches.
    Caches,
    /// Vectors that go past them.
    Past,
    /// Vectors from one place of the program's own memory to another.
    Own,
    /// Vectors from shared memory to the program's own.
    Out,
    /// Vectors from the program's own memory to where others go on with what they store.
    On,
}

const KINDS: usize = 5;

/// What is known of the place where something is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ground {
    /// Something was stored there before, or nothing is compared with what was.
    Known,
    /// Nothing was, so that its pages are still to be found, which may take longer than to store all of it: whatever
    /// stores there looks dear beside what stores elsewhere.
    New,
}

thread_local! {
    /// What this thread has found out, by what string moves are compared with: it is the processor's, whoever
    /// reads it.
    static KNOWN: RefCell<[OfLengths; KINDS]> = const { RefCell::new([NOTHING; KINDS]) };
}

/// Whether storing costs little, although lines are dear to fetch if it is for a reader whose caches are far; `None` as
/// long as that is not known.
#[cfg(not(test))]
pub(crate) fn is_light(is_far: bool) -> Option<bool> {
    KNOWN.with_borrow(|known| {
        let beside = Beside::shared(is_far);
        let known = &known[beside as usize];
        let is_judged = known.iter().any(|known| known.ways.is_judged());
        is_judged.then(|| known.iter().any(|known| known.is_light(beside)))
    })
}

/// Whether storing for a reader whose caches are far is known to cost little, be it by string moves or past the caches.
#[cfg(not(test))]
pub(crate) fn is_quick() -> bool {
    KNOWN.with_borrow(|known| known[Beside::Past as usize].iter().any(Known::is_quick))
}

/// What a test wants it to be, whatever its processor is like.
#[cfg(test)]
pub(crate) use tests::{is_light, is_quick};

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
                Copying::Own | Copying::On => into.unpack_from(bytes),
                Copying::Out => into.bring_from(bytes),
            }
        };
    };
    let beside = match what {
        Copying::Own => Beside::Own,
        Copying::Out => Beside::Out,
        Copying::On => Beside::On,
    };
    let bytes = bytes.take(room.min(bytes.len() as u64) as usize);
    // SAFETY: there is as much room left, by the caller's promise.
    unsafe { store_long(bytes, to, beside, Ground::Known) };
    into.skip(bytes.len() as u64);
    bytes.len()
}

impl Beside {
    fn shared(past: bool) -> Beside {
        if past { Beside::Past } else { Beside::Caches }
    }

    /// Whether string moves that cost so much are to be taken, where vectors cost that.
    fn prefers_string(self, string: u64, vector: u64) -> bool {
        string <= vector + self.spared(vector)
    }

    /// What the reader is spared by string moves, where vectors cost their writer so much.
    fn spared(self, vector: u64) -> u64 {
        match self {
            Beside::Past => vector / SPARED,
            Beside::Caches | Beside::Own | Beside::Out | Beside::On => 0,
        }
    }
}

#[inline]
unsafe fn store_long(bytes: RawBytes<'_>, to: *mut u8, beside: Beside, ground: Ground) {
    let (row, class) = (beside as usize, class(bytes.len()));
    let choose = |known: &mut Known| match ground {
        Ground::Known => known.choose(beside),
        Ground::New => (known.ways.is_judged() && known.is_string_better(beside), false),
    };
    let (by_string, timed) = KNOWN.with_borrow_mut(|known| choose(&mut known[row][class]));
    let begin = timed.then(Instant::now);
    // SAFETY: by the caller's promise, both.
    unsafe {
        match by_string {
            true => by_string_move(bytes, to),
            false => by_vectors(bytes, to, beside),
        }
    }
    if let Some(begin) = begin {
        let (nanos, len) = (begin.elapsed().as_nanos() as u64, bytes.len() as u64);
        KNOWN.with_borrow_mut(|known| known[row][class].learn(beside, by_string, nanos, len));
    }
}

#[inline]
unsafe fn by_vectors(bytes: RawBytes<'_>, to: *mut u8, beside: Beside) {
    // SAFETY: by the caller's promise, both.
    unsafe {
        match beside {
            Beside::Past => copy::streamed(bytes, to),
            Beside::Caches | Beside::Own | Beside::On => bytes.copy_to(to),
            Beside::Out => bytes.bring_to(to),
        }
    }
}

/// The class of so many bytes.
fn class(len: usize) -> usize {
    ((len.max(LONG_BYTES) / LONG_BYTES).ilog2() as usize / 2).min(CLASSES - 1)
}

impl Known {
    const fn new() -> Known {
        Known { ways: Rivals::new(), answer: None, trial: None }
    }

    /// Counts a body; whether it is stored by string moves, and whether that is timed: as trials of the dearer
    /// way are, and what comes after each.
    fn choose(&mut self, beside: Beside) -> (bool, bool) {
        if let Some(by_string) = self.answer.take() {
            return (by_string, true);
        }
        if !self.ways.is_judged() {
            return (self.ways.is_one_next(), true);
        }
        let (better, tries) = (self.is_string_better(beside), self.ways.is_due());
        self.answer = tries.then_some(better);
        (self.ways.choose(better), tries)
    }

    /// Nanoseconds for 64 KiB by string moves and by vectors.
    fn nanos(&self) -> [u64; 2] {
        [self.ways.one, self.ways.other].map(|way| way.of(1 << 16))
    }

    /// Whether string moves are to be taken.
    fn is_string_better(&self, beside: Beside) -> bool {
        let [string, vector] = self.nanos();
        beside.prefers_string(string, vector)
    }

    fn is_light(&self, beside: Beside) -> bool {
        self.ways.is_judged() && self.is_string_better(beside) && self.nanos()[0] <= LIGHT_NANOS
    }

    fn is_quick(&self) -> bool {
        self.ways.is_judged() && self.nanos().iter().any(|nanos| *nanos <= LIGHT_NANOS)
    }

    fn learn(&mut self, beside: Beside, by_string: bool, nanos: u64, bytes: u64) {
        let ways = &mut self.ways;
        if by_string { &mut ways.one } else { &mut ways.other }.learn(nanos, bytes);
        let took = (nanos << 16) / bytes.max(1);
        let Some(trial) = self.trial.take() else {
            self.trial = self.answer.map(|_| took);
            return;
        };
        let (string, vector) = if by_string { (took, trial) } else { (trial, took) };
        if beside.prefers_string(string, vector) != by_string {
            self.ways.doubt();
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
    }

    pub(crate) fn is_light(_is_far: bool) -> Option<bool> {
        LIGHT.get()
    }

    pub(crate) fn is_quick() -> bool {
        LIGHT.get() == Some(true)
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
        let Room(mut room) = Room([0; ROOM]);
        // SAFETY: each piece has the room that it is given.
        let packed = unsafe {
            let mut pack = |at, room| pack(&mut packer, at, room, true, Ground::Known);
            (pack(room.as_mut_ptr(), 4096), pack(room.as_mut_ptr().add(4096), 6016))
        };
        assert!(packed == (4096, 5904) && room[..10_000] == bytes);
    }

    #[test]
    fn what_has_room_is_copied_and_nothing_more() {
        for (len, room) in [(100, 100), (5000, 4999), (4999, 5000), (70_000, 4096), (9000, 10)] {
            for what in [Copying::Own, Copying::Out, Copying::On].into_iter().cycle().take(24) {
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
    fn lengths_are_told_apart_by_powers_of_four() {
        let classes = [4096, 16_383, 16_384, 65_535, 65_536, 1 << 18, 1 << 24].map(class);
        assert_eq!(classes, [0, 0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn the_better_way_is_taken_but_for_trials() {
        let mut known = Known::new();
        let mut run = |bodies: usize, string: u64, vector: u64| {
            let one = |_: &usize| {
                let (by_string, timed) = known.choose(Beside::Caches);
                if timed {
                    known.learn(
                        Beside::Caches,
                        by_string,
                        if by_string { string } else { vector },
                        1 << 16,
                    );
                }
                by_string
            };
            (0..bodies).filter(one).count()
        };
        assert_eq!(run(6, 500, 1000), 3, "three of each at first");
        assert!(run(1000, 500, 1000) > 970);
        run(4000, 2000, 1000);
        assert!(run(1000, 2000, 1000) < 30);
    }

    /// Times change under way: pages are known after the first rounds, and others make use of the caches. What is
    /// dearer at any moment is not taken for cheaper since it was tried at another one.
    #[test]
    fn what_was_learned_at_different_times_is_not_compared() {
        let mut known = Known::new();
        let mut body = |faults: u64| {
            let (by_string, timed) = known.choose(Beside::Caches);
            if timed {
                let nanos = if by_string { 1500 } else { 2000 } + faults;
                known.learn(Beside::Caches, by_string, nanos, 1 << 16);
            }
            by_string
        };
        // In waves of every length, each of which begins dear and ends cheap, and as suddenly the other way round.
        for wave in [20, 100, 150, 300, 700] {
            let dear = (0..wave).filter(|_| !body(9000)).count();
            let cheap = (0..wave).filter(|_| !body(0)).count();
            assert!(dear + cheap <= 6, "{dear} and {cheap} of {wave} by vectors");
        }
    }

    /// How many of so many bodies go by vectors, which cost 2000, beside string moves that seemed dear at first.
    fn by_vectors_of(beside: Beside, bodies: usize, string: u64) -> usize {
        let mut known = Known::new();
        let mut body = |string: u64| {
            let (by_string, timed) = known.choose(beside);
            if timed {
                let nanos = if by_string { string } else { 2000 };
                known.learn(beside, by_string, nanos, 1 << 16);
            }
            by_string
        };
        for _ in 0..6 {
            body(20_000);
        }
        (0..bodies).filter(|_| !body(string)).count()
    }

    #[test]
    fn a_wrong_judgement_does_not_last() {
        let wrong = by_vectors_of(Beside::Caches, 1000, 1500);
        assert!((32..100).contains(&wrong), "{wrong} of 1000 by vectors");
    }

    #[test]
    fn what_costs_readers_less_is_not_doubted_for_what_it_costs_the_writer() {
        let [once, twice] = [1000, 5000].map(|bodies| by_vectors_of(Beside::Past, bodies, 2200));
        assert!(twice - once < 10, "{once} by vectors, and then {twice}");
    }

    #[test]
    fn what_is_stored_on_new_ground_is_no_trial() {
        let (bytes, mut room) = (pattern(1, LONG_BYTES), Room([0; ROOM]));
        let samples = || KNOWN.with_borrow(|known| known[Beside::Past as usize][0].ways);
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

    #[test]
    fn storing_is_light_if_it_is_quick_and_nothing_else_is_quicker() {
        let known = |string, vector, beside| {
            let mut known = Known::new();
            for _ in 0..3 {
                known.learn(beside, true, string, 1 << 16);
                known.learn(beside, false, vector, 1 << 16);
            }
            assert_eq!(known.is_quick(), string.min(vector) <= LIGHT_NANOS);
            known.is_light(beside)
        };
        let (quick, slow) = (LIGHT_NANOS, LIGHT_NANOS + 1);
        for beside in [Beside::Caches, Beside::Past] {
            assert!(known(quick, slow, beside) && known(quick, quick, beside));
            assert!(!known(slow, 2 * slow, beside) && !known(quick, quick / 2, beside));
            let nothing = Known::new();
            assert!(!nothing.is_light(beside) && !nothing.is_quick(), "nothing is known");
        }
        assert!(known(1400, 1300, Beside::Past), "its reader is spared more");
        assert!(!known(1400, 1300, Beside::Caches));
    }
}
