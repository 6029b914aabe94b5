//! The one set of requirements for transports that reach the memory of peers ([`Rma`]), as test bodies.
//!
//! In: as for [`crate::conformance`], two ends or more. Out: a panic that says which promise of
//! [`mpi_core::one_sided`] was broken.

use mpi_core::buffer::UserBuffer;
use mpi_core::header::{FrameKind, Header};
use mpi_core::one_sided::{Atomic, NotBegun, Place, Rma};
use mpi_core::port::{Offer, PeerId, Token};

use crate::conformance::{World, pattern};

/// Runs the whole set over worlds that `make` makes.
pub fn check<T: Rma>(mut make: impl FnMut() -> Vec<T>) {
    for requirement in [
        puts_and_gets_move_every_byte,
        who_is_told_after_a_flush_finds_it_done,
        additions_of_all_are_counted,
        a_word_is_swapped_by_one_alone,
        many_operations_wait_for_room,
    ] {
        let mut world = World::new(make());
        open(&mut world);
        requirement(&mut world);
    }
}

fn eager(context: u64) -> Header {
    Header { kind: FrameKind::Eager as u8, context, ..Header::default() }
}

fn peer(end: usize) -> PeerId {
    PeerId(end as u32)
}

fn place_of(bytes: &mut [u8]) -> UserBuffer {
    UserBuffer(bytes.as_mut_ptr())
}

/// The address of words that peers change: as they do so at any time, they are looked at by `read` alone.
fn place_of_words(words: &mut [u64]) -> UserBuffer {
    UserBuffer(words.as_mut_ptr().cast())
}

/// Connects all pairs.
fn open<T: Rma>(world: &mut World<T>) {
    let count = world.count();
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to) {
        world.send(from, to, &eager(1), b"open");
    }
    world.run_until("all pairs are connected", |world| {
        (0..count).all(|end| world.got(end).frames.len() == count - 1)
    });
    (0..count).for_each(|end| world.got(end).frames.clear());
}

/// What `end` begins under `token` is begun, as soon as there is room.
fn begin<T: Rma>(
    world: &mut World<T>,
    end: usize,
    mut start: impl FnMut(&mut T) -> Result<(), NotBegun>,
) {
    world.run_until("there is room for an operation", |world| start(world.transport(end)).is_ok());
}

/// Waits until what was written is there.
fn wait_sent<T: Rma>(world: &mut World<T>, end: usize, token: Token) {
    world.run_until("a put is over", |world| world.got(end).sent.contains(&token));
}

/// Waits until what was read is here.
fn wait<T: Rma>(world: &mut World<T>, end: usize, token: Token) {
    world.run_until("something is read", |world| world.got(end).landed.contains(&token));
}

fn expose<T: Rma>(world: &mut World<T>, end: usize, memory: UserBuffer, len: usize) -> Offer {
    world.transport(end).expose(memory, len).expect("memory can be exposed").1
}

fn puts_and_gets_move_every_byte<T: Rma>(world: &mut World<T>) {
    let (from, to) = (0, world.count() - 1);
    let mut window = vec![0xee; 400_000];
    let len = window.len();
    let at = place_of(&mut window);
    let (exposure, memory) = world.transport(to).expose(at, len).expect("memory can be exposed");
    let reach = world.transport(from).reach(peer(to)).expect("there is a connection");
    let mut model = vec![0xee; len];
    for (n, (offset, len)) in
        (1..).zip([(0, 1), (7, 8), (4090, 100), (99, 5000), (100_001, 250_000)])
    {
        let mut source = pattern(n, len);
        model[offset..offset + len].copy_from_slice(&source);
        let (source, place) = (place_of(&mut source), Place { memory, offset: offset as u64 });
        begin(world, from, |end| end.put(peer(to), source, len, place, Token(n)));
        wait_sent(world, from, Token(n));
        world.run_until("it is there", |world| world.transport(from).flush(peer(to)));
        if reach.gets {
            let mut back = vec![0; len + 20];
            let (into, place) =
                (place_of(&mut back[..len]), Place { memory, offset: offset as u64 });
            begin(world, from, |end| end.get(peer(to), into, len, place, Token(100 + n)));
            wait(world, from, Token(100 + n));
            assert!(back[..len] == model[offset..offset + len], "{len} bytes were read wrong");
            assert!(back[len..].iter().all(|byte| *byte == 0), "reading ran over its end");
        }
    }
    world.transport(to).conceal(exposure);
    assert!(window == model, "the bytes that were written are wrong, or others");
}

fn who_is_told_after_a_flush_finds_it_done<T: Rma>(world: &mut World<T>) {
    let (from, to) = (0, world.count() - 1);
    let mut window = vec![0; 64 << 10];
    let len = window.len();
    let at = place_of(&mut window);
    let memory = expose(world, to, at, len);
    for round in 0..50 {
        let mut source = pattern(round, len);
        let bytes = place_of(&mut source);
        let place = Place { memory, offset: 0 };
        begin(world, from, |end| end.put(peer(to), bytes, len, place, Token(round)));
        world.run_until("it is there", |world| world.transport(from).flush(peer(to)));
        world.send(from, to, &eager(round), b"look");
        world.run_until("it is told", |world| world.got(to).frames.len() as u64 == round + 1);
        // SAFETY: the bytes of `window`, to which nothing is under way.
        let found = unsafe { std::slice::from_raw_parts(at.0, len) };
        assert!(found == source, "round {round}: what was told of is not there");
    }
}

fn additions_of_all_are_counted<T: Rma>(world: &mut World<T>) {
    let (count, to) = (world.count(), 0);
    let mut words = [5u64, 0];
    let at = place_of_words(&mut words);
    let memory = expose(world, to, at, 16);
    let origins: Vec<usize> = (1..count).collect();
    if origins.iter().any(|end| !world.transport(*end).reach(peer(to)).is_some_and(|r| r.changes)) {
        return;
    }
    let rounds = 100;
    let mut before = vec![0u64; origins.len() * rounds];
    let results = place_of_words(&mut before);
    for n in 0..origins.len() * rounds {
        let (end, how) = (origins[n % origins.len()], Atomic::Add(n as u64));
        let into = results.offset(8 * n as i64);
        let (place, token) = (Place { memory, offset: 8 }, Token(n as u64));
        begin(world, end, |end| end.change(peer(to), into, place, how, token));
    }
    for n in 0..origins.len() * rounds {
        wait(world, origins[n % origins.len()], Token(n as u64));
    }
    let total = (before.len() as u64 - 1) * before.len() as u64 / 2;
    // SAFETY: the words of `words`, to which nothing is under way.
    let found =
        unsafe { [at.0.cast::<u64>().read_volatile(), at.0.cast::<u64>().add(1).read_volatile()] };
    assert_eq!(found, [5, total], "the sum of all additions, beside a word that nobody changes");
    let mut seen: Vec<u64> = before;
    seen.sort_unstable();
    // Each addition but 0 makes a new sum; so only the one before the 0 can be seen twice.
    seen.dedup();
    assert!(seen.len() >= origins.len() * rounds - 1, "two additions found the same sum");
}

fn a_word_is_swapped_by_one_alone<T: Rma>(world: &mut World<T>) {
    let (count, to) = (world.count(), 0);
    let mut words = [0u64; 1];
    let at = place_of_words(&mut words);
    let memory = expose(world, to, at, 8);
    let place = Place { memory, offset: 0 };
    let origins: Vec<usize> = (1..count).collect();
    if origins.iter().any(|end| !world.transport(*end).reach(peer(to)).is_some_and(|r| r.changes)) {
        return;
    }
    for round in 0..20u64 {
        let mut before = vec![u64::MAX; origins.len()];
        let results = place_of_words(&mut before);
        for (n, &end) in origins.iter().enumerate() {
            let how = Atomic::CompareSwap {
                expected: round * 1000,
                new: if n == 0 { (round + 1) * 1000 } else { (round + 1) * 1000 + n as u64 },
            };
            let (into, token) = (results.offset(8 * n as i64), Token(round * 64 + n as u64));
            begin(world, end, |end| end.change(peer(to), into, place, how, token));
        }
        for (n, &end) in origins.iter().enumerate() {
            wait(world, end, Token(round * 64 + n as u64));
        }
        let winners = before.iter().filter(|value| **value == round * 1000).count();
        assert_eq!(winners, 1, "round {round}: {before:?}");
        // SAFETY: the word of `words`, to which nothing is under way.
        unsafe { at.0.cast::<u64>().write_volatile((round + 1) * 1000) };
    }
}

fn many_operations_wait_for_room<T: Rma>(world: &mut World<T>) {
    let (from, to) = (0, world.count() - 1);
    let count = 2000;
    let mut window = vec![0; count * 8];
    let at = place_of(&mut window);
    let memory = expose(world, to, at, count * 8);
    let mut source: Vec<u8> = pattern(3, count * 8);
    let bytes = place_of(&mut source);
    for n in 0..count {
        let (at, token) = (8 * n, Token(n as u64));
        let (from_here, place) = (bytes.offset(at as i64), Place { memory, offset: at as u64 });
        begin(world, from, |end| end.put(peer(to), from_here, 8, place, token));
    }
    world.run_until("all are there", |world| world.transport(from).flush(peer(to)));
    world.run_until("the sink has heard of all", |world| world.got(from).sent.len() == count);
    assert!(window == source, "some of many small writes are wrong");
}
