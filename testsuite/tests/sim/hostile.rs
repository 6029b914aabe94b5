//! A rank that keeps to no protocol: whole MPI processes get frames of every kind with any number
//! in any field, in the middle of messages of their own. They may refuse, drop or mistake what
//! comes for messages, but they do not panic, write outside a buffer or go round in circles.
//!
//! `FERRITE_TEST_SEEDS` asks for more seeds.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::seeds;
use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::callout::NoUserCode;
use mpi_core::constants::{ANY_SOURCE, ANY_TAG};
use mpi_core::datatype::{BYTE, Packer, Unpacker};
use mpi_core::entry::Entry;
use mpi_core::header::{FrameKind, Header};
use mpi_core::objects::Identity;
use mpi_core::p2p::{Message, Mode};
use mpi_core::port::{Body, Landing, PeerId, Sink, Token, Transport, Why};
use mpi_core::process::Process;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testsuite::sim::{COMM_WORLD, RankContext, SimEntry, World};
use transports::sim::{SimOptions, SimPort};

const HONEST: u32 = 2;
const BUFFER: usize = 3000;
/// Bytes around each receive buffer that nobody may write.
const GUARD: usize = 64;
const UNTOUCHED: u8 = 0xee;
const FRAMES: usize = 300;
/// By what the context in which partitioned ends find each other differs from that of other messages.
const PARTITIONED: u64 = 0x7061_7274_6974_696e;

/// The hostile rank hears nothing.
struct Deaf;

impl Sink for Deaf {
    fn frame(&mut self, _: PeerId, _: &Header, _: RawBytes<'_>) {}
    fn begin_eager(&mut self, _: PeerId, _: &Header, _: u64) -> Option<(Unpacker, Token)> {
        None
    }
    fn begin(&mut self, _: PeerId, _: &Header, _: u64) -> Landing {
        Landing::Discard
    }
    fn landed(&mut self, _: PeerId, _: Token) {}
    fn sent(&mut self, _: Token) {}
    fn peer_down(&mut self, _: PeerId, _: Why) {}
}

/// A number that may mean something, or the end of a range, or anything.
fn number(random: &mut ChaCha8Rng) -> u64 {
    match random.random_range(0..4) {
        0 => random.random_range(0..4),
        1 => [u64::MAX, i64::MAX as u64, u64::from(u32::MAX), 1 << 31][random.random_range(0..4)],
        // The handle of a request, by its form.
        2 => 0x1000_0000 * random.random_range(0..4u64) + random.random_range(0..16u64),
        _ => random.random(),
    }
}

fn header(random: &mut ChaCha8Rng, context: u64, sequence: u16) -> Header {
    Header {
        kind: random.random_range(0..11),
        credit: random.random(),
        sequence: if random.random_bool(0.8) { sequence } else { random.random() },
        inline_len: random.random(),
        context: match random.random_range(0..4) {
            0 => number(random),
            3 if random.random_bool(0.2) => context ^ PARTITIONED,
            far => context + u64::from(far == 1),
        },
        source: [0, 1, 2, 3, -1, i32::MIN, i32::MAX][random.random_range(0..7)],
        tag: [0, 1, 2, -1, i32::MIN, i32::MAX][random.random_range(0..6)],
    }
}

/// Sends what follows no rule.
fn attack(mut context: RankContext, seed: u64, world: &Cell<u64>) {
    let names = context.names();
    let mut port = context.take_port();
    for (peer, name) in (0..).zip(&names) {
        port.add_peer(PeerId(peer), name);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut numbers = [0u16; HONEST as usize];
    let long = vec![7u8; 2 * BUFFER];
    for count in 0..FRAMES as u64 {
        let to = random.random_range(0..HONEST);
        let mut header = header(&mut random, world.get(), numbers[to as usize]);
        let words: Vec<u8> = (0..6).flat_map(|_| number(&mut random).to_le_bytes()).collect();
        let len = random.random_range(0..=words.len());
        if random.random_bool(0.1) {
            header.context = number(&mut random);
            let len = random.random_range(0..long.len());
            let source = Packer::contiguous(UserBuffer(long.as_ptr().cast_mut()), len as u64);
            port.send_bulk(PeerId(to), &header, source, Token(count), None);
        } else if port.send(PeerId(to), &header, Body::Bytes(RawBytes::from(&words[..len]))).is_ok()
            && header.sequence == numbers[to as usize]
            && FrameKind::from_wire(header.kind).is_some_and(FrameKind::is_message)
        {
            numbers[to as usize] = header.sequence.wrapping_add(1);
        }
        port.poll(&mut Deaf);
    }
    // Whoever still asks for bytes gets none.
    for _ in 0..1000 {
        port.poll(&mut Deaf);
    }
}

fn message(buf: &mut [u8], rank: i32, tag: i32) -> Message {
    let (count, buf) = (buf.len() as i64, UserBuffer(buf.as_mut_ptr()));
    Message { buf, count, datatype: BYTE, rank, tag, comm: COMM_WORLD }
}

fn polls(mpi: &mut SimEntry<'_>, count: u32) {
    for _ in 0..count {
        mpi.poll();
    }
}

/// Sends to and receives from everybody, as far as that comes about; whether anything came.
fn suffer(mpi: &mut SimEntry<'_>, seed: u64) -> bool {
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    let mut out = vec![vec![1u8; 20_000]; 8];
    let mut into = vec![vec![UNTOUCHED; BUFFER + 2 * GUARD]; 24];
    let hostile = HONEST as i32;
    let mut requests = Vec::new();
    for (turn, buf) in into.iter_mut().enumerate() {
        let source = [hostile, hostile, ANY_SOURCE, 0][turn % 4];
        let tag = [0, 1, ANY_TAG][turn % 3];
        let room = &mut buf[GUARD..GUARD + BUFFER];
        if turn % 6 == 1 {
            let (message, partitions) = (message(room, hostile, turn as i32 % 3), 1);
            let receive = mpi.partitioned().receive_init(message, partitions).expect("a receive");
            mpi.start(receive).expect("a start");
            polls(mpi, 20);
            continue;
        }
        requests.push(mpi.messages().ireceive(message(room, source, tag)).expect("a receive"));
        if let Some(buf) = out.get_mut(turn) {
            let len = random.random_range(0..buf.len());
            let to = message(&mut buf[..len], [hostile, 0, 1][turn % 3], 0);
            requests.push(mpi.messages().isend(to, Mode::Standard).expect("a send"));
        }
        polls(mpi, 20);
        let _ = mpi.messages().iprobe(ANY_SOURCE, ANY_TAG, COMM_WORLD);
    }
    polls(mpi, 2000);
    for buf in &into {
        let guards = buf[..GUARD].iter().chain(&buf[GUARD + BUFFER..]);
        assert!(guards.into_iter().all(|byte| *byte == UNTOUCHED), "written outside a buffer");
    }
    let has_come = into.iter().flatten().any(|byte| *byte != UNTOUCHED);
    // What is not complete never will be; the memory stays until the process is gone.
    std::mem::forget((out, into));
    has_come
}

#[test]
fn frames_that_follow_no_rule_do_no_harm() {
    let mut reached = 0;
    let seeds = seeds(200);
    for seed in 0..seeds {
        let context_of_world = Rc::new(Cell::new(0));
        let network = SimOptions { capacity: 4, pull: 0.5, ..SimOptions::default() };
        let world = World { network, ..World::new(seed, HONEST + 1) };
        let outcome = world.start(move |mut context| {
            if context.rank == HONEST {
                attack(context, seed, &context_of_world);
                return false;
            }
            let mut process: Process<SimPort> =
                Process::new(Some(context.take_port()), &NoUserCode, Arc::default());
            let RankContext { ref job, rank, size, .. } = context;
            process.join(Identity { job: job.clone(), rank, size });
            process.begin_world();
            context_of_world.set(process.comm(COMM_WORLD).expect("the world").context);
            suffer(&mut Entry::new(&mut process), seed)
        });
        let outcome = outcome.unwrap_or_else(|hang| panic!("{hang}"));
        reached += u64::from(outcome.results.contains(&Some(true)));
    }
    assert!(reached > seeds / 2, "the frames reached messages with {reached} seeds only");
}
