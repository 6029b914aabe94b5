//! Segments between two that share memory: what stays in place, and is fetched or brought (decision 62).

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::Unpacker;
use mpi_core::node_memory::{Audience, Exposure, Fetched, NodeMemory, SegmentId, Share, Source};
use mpi_core::port::PeerId;

use super::direct::caches::Caches;
use super::tests::{CardDirectory, config, eager, join, small};
use super::{Bulk, LocalConfig, Shm, ShmSettings};
use crate::conformance::{World, pattern};
use crate::profile::Profile;

/// Two that have met and share a segment.
fn at_a_segment(shm: &ShmSettings, on_node: u32) -> (World<Shm>, SegmentId) {
    let cards = CardDirectory::default();
    let shm = ShmSettings { alloc_bytes: 32 << 20, ..shm.clone() };
    let config = |rank| LocalConfig { ranks_on_node: on_node, ..config(rank, 2, shm.clone()) };
    let mut world = World::new((0..2).map(|rank| join(&cards, config(rank))).collect());
    world.send(0, 1, &eager(), b"hi");
    world.run_until("both have met", |world| !world.got(1).frames.is_empty());
    let mut part = |rank| (PeerId(rank), world.transport(rank as usize).prepare_part(2).unwrap());
    let parts = [part(0), part(1)];
    let mut open = |rank| world.transport(rank as usize).open_segment(rank, 5, &parts).unwrap();
    let segment = open(1);
    assert_eq!(open(0), segment);
    (world, segment)
}

#[test]
fn a_long_message_is_exposed_where_that_pays() {
    let across = ShmSettings { bulk: Bulk::CrossMemory, ..small() };
    let through = ShmSettings { bulk: Bulk::Pipeline, ..small() };
    let (one, all) = (Audience::One(1), Audience::Everyone);
    // More ranks than there are processors.
    let many = 10_000;
    for (settings, on_node, to, len, pays) in [
        (&across, 1, one, 100_000, true),
        (&across, 1, all, 100_000, true),
        (&across, 1, one, 10_000, false),
        (&across, many, one, 100_000, true),
        (&across, many, one, 30_000, false),
        (&across, many, all, 100_000, false),
        (&through, 1, one, 100_000, false),
        (&through, many, one, 100_000, false),
    ] {
        let (mut world, segment) = at_a_segment(settings, on_node);
        let told = world.transport(0).is_better_exposed(segment, to, len);
        assert_eq!(told, pays, "{len} bytes to {to:?}, {on_node} ranks, {:?}", settings.bulk);
    }
    let bytes = pattern(3, 100_000);
    let (mut world, segment) = at_a_segment(&through, 1);
    assert!(
        !world.transport(0).expose_fragment(segment, one, bytes.as_ptr(), 100_000),
        "none consents"
    );
}

#[test]
fn what_is_exposed_fills_the_room_there_is_and_no_more() {
    let (mut world, segment) = at_a_segment(&small(), 1);
    let (bytes, mut target) = (pattern(3, 100_000), vec![7u8; 100_000]);
    let (to, from) = (Audience::Everyone, Source::Public(0));
    for (address, len, room) in [
        (bytes.as_ptr(), 100_000, 100_000),
        (bytes.as_ptr(), 90_000, 100_000),
        (bytes.as_ptr(), u64::MAX, 40_000),
        (std::ptr::null(), 100_000, 50_000),
    ] {
        assert!(world.transport(0).expose_fragment(segment, to, address, len));
        let fragment = world.transport(1).read_fragment(segment, from).unwrap();
        assert_eq!((fragment.len, fragment.exposed), (0, len));
        target.fill(7);
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), room);
        let fetched = world.transport(1).fetch_fragment(segment, from, &mut into, false);
        world.transport(1).consume_fragment(segment, from);
        let expected = if address.is_null() { 0 } else { len.min(room) };
        let refused = expected == 0;
        assert_eq!(fetched, if refused { Fetched::Refused } else { Fetched::Whole(expected) });
        let (come, rest) = target.split_at(expected as usize);
        assert!(come == &bytes[..come.len()] && rest.iter().all(|byte| *byte == 7));
        if refused {
            assert_eq!(world.transport(0).exposure(segment, to), Exposure::Refused(1));
        }
        assert_eq!(world.transport(0).exposure(segment, to), Exposure::Taken);
    }
    assert!(!world.transport(0).expose_fragment(segment, to, bytes.as_ptr(), 100_000));
}

/// Memory of a process that both have mapped, filled with a pattern.
fn mapped(world: &mut World<Shm>, rank: usize, seed: u64, len: usize) -> &'static mut [u8] {
    let memory = world.transport(rank).memory().allocate(len, 1).unwrap();
    // SAFETY: `allocate` gave `len` bytes, which stay until the transport goes with the test.
    let memory = unsafe { std::slice::from_raw_parts_mut(memory, len) };
    memory.copy_from_slice(&pattern(seed, len));
    memory
}

#[test]
fn what_both_have_mapped_is_copied_by_the_reader_without_the_kernel() {
    for (past, room) in [(false, 100_000), (true, 100_000), (false, 70_001), (true, 7)] {
        let (mut world, segment) = at_a_segment(&small(), 1);
        let bytes = mapped(&mut world, 0, 3, 100_000);
        let (to, from) = (Audience::Everyone, Source::Public(0));
        assert!(world.transport(0).expose_fragment(segment, to, bytes.as_ptr(), 100_000));
        assert_eq!(world.transport(1).read_fragment(segment, from).unwrap().exposed, 100_000);
        let mut target = vec![7u8; 100_000];
        let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), room);
        let fetched = world.transport(1).fetch_fragment(segment, from, &mut into, past);
        assert_eq!(fetched, Fetched::Whole(room));
        world.transport(1).consume_fragment(segment, from);
        assert_eq!(world.transport(0).exposure(segment, to), Exposure::Taken);
        let (come, rest) = target.split_at(room as usize);
        assert!(come == &bytes[..come.len()] && rest.iter().all(|byte| *byte == 7));
        let counters = world.transport(1).counters();
        assert_eq!((counters.bytes_in_place, counters.bytes_cross_memory), (room, 0));
    }
}

#[test]
fn a_part_of_what_both_have_mapped_is_copied_from_its_place() {
    let (mut world, segment) = at_a_segment(&small(), 1);
    let bytes = mapped(&mut world, 0, 3, 100_000);
    let (to, from) = (Audience::One(1), Source::Private(0));
    assert!(world.transport(0).expose_fragment(segment, to, bytes.as_ptr(), 100_000));
    assert!(world.transport(1).read_fragment(segment, from).is_some());
    let mut target = vec![7u8; 1000];
    let mut into = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), 1000);
    assert!(world.transport(1).fetch_part(segment, from, 70_000, &mut into));
    assert!(target == bytes[70_000..71_000]);
    assert_eq!(world.transport(1).counters().bytes_cross_memory, 0);
}

#[test]
fn a_message_is_left_where_readers_have_it_mapped_if_that_pays() {
    let (one, all) = (Audience::One(1), Audience::Everyone);
    let through = ShmSettings { bulk: Bulk::Pipeline, ..small() };
    // More ranks than there are processors.
    let many = 10_000;
    for (settings, on_node, to, len, pays) in [
        (&small(), 1, one, 4096, true),
        (&small(), 1, all, 4096, true),
        (&small(), 1, one, 4095, false),
        (&small(), many, one, 40_000, true),
        (&small(), many, one, 30_000, false),
        (&small(), many, all, 70_000, true),
        (&small(), many, all, 40_000, false),
        (&through, 1, one, 100_000, false),
    ] {
        let (mut world, segment) = at_a_segment(settings, on_node);
        let there = mapped(&mut world, 0, 3, 100_000).as_ptr();
        let elsewhere = vec![0; 100_000];
        let shm = world.transport(0);
        assert_eq!(shm.is_better_left(segment, to, there, len), pays, "{len} bytes to {to:?}");
        assert!(!shm.is_better_left(segment, to, elsewhere.as_ptr(), len));
        assert!(!shm.is_better_left(segment, to, there, 32 << 20), "more than there is");
    }
}

/// A machine whose kernel takes so many times as long for a copy as vector moves do.
fn machine(kernel: u64) -> Option<Profile> {
    let vectors = 2000;
    Some(Profile {
        vectors,
        string: vectors,
        past: 2 * vectors,
        cross_memory: Some(kernel * vectors / 10),
    })
}

#[test]
fn a_message_is_exposed_where_the_kernel_copies_it_for_less_than_the_ring() {
    let (one, all, many) = (Audience::One(1), Audience::Everyone, 10_000);
    for (on_node, kernel, to, len, exposed) in [
        // Each has a processor: both copy at the same time.
        (1, 9, one, 1 << 20, true),
        (1, 15, one, 1 << 20, false),
        (1, 9, all, 1 << 20, true),
        (1, 9, one, 16 << 10, false),
        // They share processors: one copies after the other.
        (many, 15, one, 1 << 20, true),
        (many, 25, one, 1 << 20, false),
        (many, 15, all, 1 << 20, false),
        (many, 15, one, 30 << 10, false),
    ] {
        let (mut world, segment) = at_a_segment(&small(), on_node);
        let shm = world.transport(0);
        shm.segments.profile = machine(kernel);
        shm.segments.caches = Caches::with_last(32 << 20);
        let told = shm.is_better_exposed(segment, to, len);
        assert_eq!(told, exposed, "{len} bytes to {to:?}, {on_node} ranks, {kernel} tenths");
    }
}

#[test]
fn what_no_cache_holds_is_exposed_sooner() {
    let (to, len, messages) = (Audience::One(1), 512 << 10, 8);
    let footprint = messages * len + (2 << 20);
    for on_node in [10_000, 1] {
        let (mut world, segment) = at_a_segment(&small(), on_node);
        let shm = world.transport(0);
        shm.share_caches(segment, Share { streams: 2, messages });
        let kernel = if on_node == 1 { 11 } else { 25 };
        let mut is_exposed = |cache: u64| {
            shm.segments.profile = machine(kernel);
            shm.segments.caches = Caches::with_last(cache);
            shm.is_better_exposed(segment, to, len)
        };
        assert_eq!([footprint + 1, footprint].map(&mut is_exposed), [false, on_node > 1]);
    }
}

#[test]
fn a_far_reader_is_exposed_what_costs_less_to_fetch_than_to_store_for_it() {
    let (mut world, segment) = at_a_segment(&small(), 1);
    let shm = world.transport(0);
    shm.segments.profile = machine(15);
    let mut is_exposed = |is_near| {
        shm.segments.get(segment).unwrap().prove(Audience::One(1), is_near);
        shm.is_better_exposed(segment, Audience::One(1), 1 << 20)
    };
    assert_eq!([true, false].map(&mut is_exposed), [false, true]);
}
