//! Shared memory between processes that are threads, or mere values, of one test.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::Unpacker;
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, PeerId, ProcessName, Pulled, Token, Transport, Why};
use parking_lot::Mutex;

use super::arena::Arena;
use super::attach::connect;
use super::peer::State;
use super::{Bulk, LocalConfig, Shm, ShmSettings};
use crate::cards::{self, Directory, NODE};
use crate::conformance::{Recorder, World, check, pattern};
use crate::sync::{AtomicU32, Ordering};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

/// Cards that appear one after the other, as in a launcher's key-value space.
#[derive(Clone, Default)]
pub(crate) struct CardDirectory(Arc<Mutex<HashMap<String, String>>>);

impl CardDirectory {
    pub(crate) fn post(&self, rank: u32, card: String) {
        self.post_as(NODE, rank, card);
    }

    /// Shows a card of any kind.
    pub(crate) fn post_as(&self, kind: &str, rank: u32, card: String) {
        self.0.lock().insert(cards::key(kind, rank), card);
    }
}

impl Directory for CardDirectory {
    fn card(&mut self, kind: &'static str, rank: u32) -> Result<Option<String>, String> {
        Ok(self.0.lock().get(&cards::key(kind, rank)).cloned())
    }
}

pub(crate) fn config(rank: u32, size: u32, shm: ShmSettings) -> LocalConfig {
    let job = "test".to_string();
    LocalConfig { job, rank, size, ranks_on_node: size, secret: [3; 32], alone: false, shm }
}

pub(crate) fn small() -> ShmSettings {
    ShmSettings { alloc_bytes: 16 << 20, ..ShmSettings::default() }
}

pub(crate) fn join(directory: &CardDirectory, config: LocalConfig) -> Shm {
    introduce(Shm::new(config, Box::new(directory.clone())).unwrap(), directory)
}

/// Shows the newcomer's card, and makes the others known to it.
pub(super) fn introduce(mut shm: Shm, directory: &CardDirectory) -> Shm {
    let (rank, size) = (shm.config().rank, shm.config().size);
    directory.post(rank, shm.card());
    for other in (0..size).filter(|other| *other != rank) {
        shm.add_peer(PeerId(other), &ProcessName { job: "test".into(), rank: other });
    }
    shm
}

fn world(size: u32, shm: &ShmSettings) -> Vec<Shm> {
    let directory = CardDirectory::default();
    (0..size).map(|rank| join(&directory, config(rank, size, shm.clone()))).collect()
}

/// One whose arena nobody finds by its name.
fn join_hidden(directory: &CardDirectory, config: LocalConfig) -> Shm {
    let arena = Arena::new(config.shm.geometry(config.size)).unwrap();
    let mut name = connect::name(arena.fd()).unwrap();
    name[..8].fill(0xff);
    introduce(Shm::named(config, Box::new(directory.clone()), arena, name).unwrap(), directory)
}

fn hidden_world(size: u32) -> Vec<Shm> {
    let directory = CardDirectory::default();
    (0..size).map(|rank| join_hidden(&directory, config(rank, size, small().rounded()))).collect()
}

pub(crate) fn eager() -> Header {
    Header { kind: FrameKind::Eager as u8, context: 4, ..Header::default() }
}

#[test]
fn meets_all_requirements() {
    check(|| world(2, &small()));
}

#[test]
fn meets_all_requirements_where_nobody_is_let_in() {
    check(|| hidden_world(2));
}

#[test]
fn meets_all_requirements_where_one_is_not_let_in() {
    let pair = |hidden: u32| {
        let directory = CardDirectory::default();
        let config = |rank| config(rank, 2, small().rounded());
        let one = |rank| match rank == hidden {
            true => join_hidden(&directory, config(rank)),
            false => join(&directory, config(rank)),
        };
        vec![one(0), one(1)]
    };
    check(|| pair(0));
    check(|| pair(1));
}

#[test]
fn the_first_message_needs_no_help_of_its_sender() {
    let mut ends = world(2, &small());
    let body = Body::Bytes(RawBytes::from(&b"hi"[..]));
    assert!(ends[0].send(PeerId(1), &eager(), body).is_ok());
    assert!(!ends[0].is_flushed(), "who is gone before it is found has said nothing");
    let mut sink = Recorder::default();
    assert!(ends[1].contacts.has_connect_request());
    ends[1].contacts.look_soon();
    for _ in 0..2 {
        ends[1].poll(&mut sink);
    }
    assert_eq!(sink.frames.len(), 1);
    assert!(ends[0].is_flushed() && ends[0].is_connected(PeerId(1)));
}

#[test]
fn who_leaves_without_a_look_holds_nobody_up() {
    let mut ends = world(2, &small());
    assert!(ends[0].send(PeerId(1), &eager(), Body::Bytes(RawBytes::EMPTY)).is_ok());
    drop(ends.pop());
    assert!(ends[0].is_flushed());
}

#[test]
fn who_is_gone_or_somebody_else_is_not_entered() {
    let directory = CardDirectory::default();
    let mut a = join(&directory, config(0, 3, small()));
    let b = join(&directory, config(1, 3, small()));
    assert!(!a.contacts.enter(PeerId(2), &b.contacts.card.name), "another rank");
    let mut name = b.contacts.card.name;
    name[15] ^= 1;
    assert!(!a.contacts.enter(PeerId(1), &name), "another process in its place");
    b.contacts.arena.leave();
    assert!(
        a.contacts.enter(PeerId(1), &b.contacts.card.name)
            && a.contacts.peers[1].state == State::Down
    );
    let mut sink = Recorder::default();
    a.poll(&mut sink);
    assert_eq!(sink.down, [(PeerId(1), Why::Finalized)]);
}

#[test]
fn whoever_asks_for_a_connection_is_looked_up_and_nobody_else() {
    let mut ends = world(3, &small());
    let connect_flag = ends[0].contacts.arena.geometry().connect_flag(1);
    super::hostile_tests::word::<AtomicU32>(&ends[0], connect_flag)
        .store(u32::MAX, Ordering::Release);
    assert!(ends[0].contacts.has_connect_request());
    ends[0].contacts.answer_connect_requests();
    assert!(ends[0].is_connected(PeerId(1)) && !ends[0].is_connected(PeerId(2)));
    assert!(!ends[0].contacts.has_met_all());
    ends[2].contacts.meet_all();
    assert!(ends[0].contacts.has_met_all() && !ends[2].contacts.has_met_all());
    (0..2).for_each(|rank| ends[2].contacts.lose(PeerId(rank), "it is gone"));
    assert!(ends[2].contacts.has_met_all());
    ends[0].contacts.answer_connect_requests();
    assert!(!ends[0].contacts.has_connect_request());
}

#[test]
fn meets_all_requirements_by_cross_memory_copy() {
    check(|| world(2, &ShmSettings { bulk: Bulk::CrossMemory, ..small() }));
}

#[test]
fn meets_all_requirements_with_the_smallest_parts() {
    let shm = ShmSettings {
        lane_cells: 4,
        slots: 2,
        slot_bytes: 64,
        ring_bytes: 4096,
        chunk_bytes: 1024,
        chunks_per_peer: 1,
        bulk: Bulk::Pipeline,
        ..small()
    };
    check(|| world(3, &shm));
}

#[test]
fn bodies_that_nobody_reads_yet_stay_as_they_are() {
    let mut world = World::new(world(2, &small()));
    world.send(0, 1, &eager(), b"hi");
    world.run_until("the two have met", |world| world.got(1).frames.pop().is_some());
    for round in 0..5 {
        let bodies: Vec<_> =
            (0..20).map(|n| pattern(20 * round + n, 41 + 13 * n as usize)).collect();
        for body in &bodies {
            let body = Body::Bytes(RawBytes::from(&body[..]));
            assert!(world.transport(0).send(PeerId(1), &eager(), body).is_ok());
        }
        world.run_until("all have come", |world| world.got(1).frames.len() == bodies.len());
        let come = std::mem::take(&mut world.got(1).frames);
        assert!(come.into_iter().map(|frame| frame.body).eq(bodies));
    }
}

#[test]
fn who_awaits_a_hello_sleeps_until_it_rings() {
    let mut world = World::new(hidden_world(2));
    let waiting = world.transport(0);
    let body = Body::Bytes(RawBytes::from(&b"hi"[..]));
    assert!(waiting.send(PeerId(1), &eager(), body).is_err());
    assert_eq!(waiting.contacts.greeted, 1);
    assert!(
        !waiting.contacts.refused,
        "a refusal that ends with a setup message needs no short sleep"
    );
    world.send(0, 1, &eager(), b"hi");
    world.run_until("both have met", |world| !world.got(1).frames.is_empty());
}

/// News that would end a sleep may never come, since this process waits for nothing.
#[test]
fn who_gives_its_turn_does_not_sleep() {
    let directory = CardDirectory::default();
    let hasty = ShmSettings { yield_micros: 0, ..small() };
    let mut shm = join(&directory, config(0, 1000, hasty));
    shm.contacts.until_look = 1000;
    shm.yield_processor();
    assert_eq!((shm.counters().sleeps, shm.look_at_all), (0, true));
    (0..32).for_each(|_| shm.yield_processor());
    assert_eq!(shm.contacts.until_look, 1, "setup messages would never be looked for");
}

#[test]
fn library_memory_is_read_in_place() {
    let mut world = World::new(world(2, &small()));
    world.send(0, 1, &eager(), b"hi");
    world.run_until("both have met", |world| !world.got(1).frames.is_empty());
    let len = 100_000;
    let memory = world.transport(0).memory().allocate(len, 1).unwrap();
    let bytes = pattern(1, len);
    // SAFETY: `allocate` gave `len` bytes.
    unsafe { RawBytes::from(&bytes[..]).copy_to(memory) };
    let offer = world.transport(0).offer(PeerId(1), memory, len as u64);
    let mut target = vec![0u8; len];
    let mut to = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), len as u64);
    let pulled = world.transport(1).pull(PeerId(0), &offer, len as u64, &mut to, Token(0));
    assert_eq!(pulled, Pulled::Done);
    assert!(target == bytes);
    let counters = world.transport(1).counters();
    assert_eq!(counters.bytes_in_place, len as u64);
    assert_eq!((counters.bytes_cross_memory, counters.bytes_pipelined), (0, 0));
    assert!(world.transport(0).memory().free(memory));
    assert!(!world.transport(0).memory().free(memory));
}

#[test]
fn memory_that_the_arena_has_not_is_refused() {
    let mut shm = world(1, &small()).remove(0);
    assert!(shm.memory().allocate(17 << 20, 1).is_none());
    assert!(shm.memory().allocate(15 << 20, 1).is_some());
    assert!(shm.memory().allocate(2 << 20, 1).is_none());
}

#[test]
fn a_stranger_is_refused_and_counted() {
    let directory = CardDirectory::default();
    let mut a = join_hidden(&directory, config(0, 2, small().rounded()));
    let mut other = config(1, 2, small().rounded());
    other.secret = [4; 32];
    let mut b = join_hidden(&directory, other);
    assert!(b.send(PeerId(0), &eager(), Body::Bytes(RawBytes::EMPTY)).is_err());
    let mut sink = Recorder::default();
    a.contacts.look_soon();
    a.poll(&mut sink);
    assert_eq!(a.counters().strangers, 1);
    assert!(!a.is_connected(PeerId(1)) && sink.frames.is_empty());
}

#[test]
fn a_peer_that_nobody_is_any_more_is_reported() {
    let directory = CardDirectory::default();
    let mut a = join(&directory, config(0, 2, small()));
    drop(join(&directory, config(1, 2, small())));
    assert!(a.send(PeerId(1), &eager(), Body::Bytes(RawBytes::EMPTY)).is_err());
    let mut sink = Recorder::default();
    a.poll(&mut sink);
    assert_eq!(sink.down.len(), 1);
}

#[test]
fn a_peer_whose_memory_cannot_be_mapped_is_reported() {
    let directory = CardDirectory::default();
    let mut a = join(&directory, config(0, 2, small()));
    let b = join(&directory, config(1, 2, small()));
    let hello = super::attach::hello::Hello {
        rank: 1,
        to_rank: 0,
        fences: true,
        geometry: *b.contacts.arena.geometry(),
        probe: (0, 0),
        from: b.contacts.card.name,
        to: a.contacts.card.name,
        job: b.contacts.job,
    };
    b.contacts
        .socket
        .as_ref()
        .unwrap()
        .send(&a.contacts.card.name, &hello.to_bytes(&[3; 32]), None)
        .unwrap();
    let mut sink = Recorder::default();
    a.contacts.look_soon();
    a.poll(&mut sink);
    assert_eq!(sink.down.len(), 1, "a hello without a descriptor");
    assert_eq!(a.counters().strangers, 0);
}

#[test]
fn all_that_a_peer_sent_comes_before_its_end() {
    let mut ends = world(2, &small());
    let mut sink = Recorder::default();
    for _ in 0..40 {
        ends[1].send(PeerId(0), &eager(), Body::Bytes(RawBytes::EMPTY)).unwrap();
        while sink.frames.is_empty() {
            ends[0].contacts.look_soon();
            ends[0].poll(&mut sink);
        }
    }
    ends[0].contacts.lose(PeerId(1), "nobody is there");
    while sink.down.is_empty() {
        ends[0].poll(&mut sink);
    }
    assert_eq!(sink.frames.len(), 40);
}

#[test]
fn what_a_peer_sent_before_it_left_is_read() {
    let directory = CardDirectory::default();
    let mut ends =
        vec![join(&directory, config(0, 2, small())), join(&directory, config(1, 2, small()))];
    let mut leaver = ends.pop().unwrap();
    let mut sink = Recorder::default();
    let body = pattern(5, 5000);
    let mut sent = false;
    while !(sent && leaver.is_flushed()) {
        let bytes = Body::Bytes(RawBytes::from(&body[..]));
        sent = sent || leaver.send(PeerId(0), &eager(), bytes).is_ok();
        ends[0].contacts.look_soon();
        // It goes to who has asked for a connection, and looks at the lane with its next poll.
        ends[0].poll(&mut sink);
        leaver.poll(&mut sink);
        assert_eq!(sink.frames, []);
    }
    drop(leaver);
    ends[0].contacts.look_soon();
    let mut got = Recorder::default();
    while got.frames.is_empty() {
        ends[0].poll(&mut got);
    }
    assert!(got.frames[0].body == body);
}

/// A program that waits by tests never sleeps.
#[test]
fn who_only_polls_notices_who_has_left() {
    let mut ends = world(2, &small());
    let mut leaver = ends.pop().unwrap();
    let (mut sink, mut other) = (Recorder::default(), Recorder::default());
    for sent in 0..2 {
        while leaver.send(PeerId(0), &eager(), Body::Bytes(RawBytes::EMPTY)).is_err() {
            leaver.poll(&mut other);
            ends[0].poll(&mut sink);
        }
        while sent == 0 && sink.frames.is_empty() {
            leaver.poll(&mut other);
            ends[0].poll(&mut sink);
        }
    }
    drop(leaver);
    let start = Instant::now();
    while sink.down.is_empty() {
        ends[0].poll(&mut sink);
        assert!(start.elapsed() < PATIENCE, "it has left long since");
    }
    assert_eq!(sink.down, [(PeerId(1), Why::Finalized)]);
    assert_eq!(sink.frames.len(), 2, "what it had sent comes first");
}
