//! Random partitioned sends and receives in simulated worlds (MPI-5.0 chapter 4): other partitions at either end, made
//! ready in any order, one by one or together, with either end late by rounds, beside ordinary messages of the same
//! tags. A sender writes a partition just before it makes it ready, so that what leaves before is found.

use std::rc::Rc;

use crate::calls::INT64;
use mpi_core::buffer::UserBuffer;
use mpi_core::constants::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use mpi_core::datatype::{BYTE, Datatype, Form};
use mpi_core::error::{ErrorClass, Result};
use mpi_core::handle::{DatatypeHandle, RequestHandle};
use mpi_core::p2p::{Message, Mode};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::SimOptions;

/// Bytes of an element of data, and of the memory that one with gaps takes.
const ELEMENT: usize = 16;
const EXTENT: usize = 24;
const UNTOUCHED: u8 = 0xee;

/// A send and the receive that matches it.
#[derive(Debug)]
struct Pair {
    ranks: [usize; 2],
    tag: i32,
    elements: usize,
    /// How many partitions the sender has, and the receiver.
    partitions: [usize; 2],
    /// Whether the memory of either has gaps.
    gaps: [bool; 2],
    rounds: usize,
}

impl Pair {
    fn random(random: &mut ChaCha8Rng, ranks: usize) -> Pair {
        let parts = [1, 2, 3, 4, 6, 8, 12, 24];
        let mut one_of = |from: &[usize]| from[random.random_range(0..from.len())];
        let (partitions, tag) = ([one_of(&parts), one_of(&parts)], one_of(&[0, 1]) as i32);
        let elements = 24 * one_of(&[0, 1, 3, 20, 200, 1800]);
        let rounds = one_of(&[0, 1, 2, 4]);
        let mut rank = || random.random_range(0..ranks);
        let ranks = [rank(), rank()];
        let gaps = [random.random_bool(0.3), random.random_bool(0.3)];
        Pair { ranks, tag, elements, partitions, gaps, rounds }
    }

    /// The byte of the data of a round.
    fn byte(&self, round: usize, at: usize) -> u8 {
        (at * 31 + at / 251 + round * 101 + self.elements + self.ranks[0] * 7) as u8
    }
}

/// One end of a pair, with what it has done.
struct End {
    pair: usize,
    side: usize,
    memory: Vec<u8>,
    request: RequestHandle,
    active: bool,
    round: usize,
    /// Partitions that are not ready.
    waiting: Vec<usize>,
}

impl End {
    /// Where a byte of the data lies.
    fn place(gaps: bool, at: usize) -> usize {
        match gaps {
            true => at / ELEMENT * EXTENT + at % ELEMENT + if at % ELEMENT < 8 { 0 } else { 8 },
            false => at,
        }
    }

    fn make(mpi: &mut SimEntry<'_>, pairs: &[Pair], pair: usize, side: usize) -> End {
        let Pair { ranks, tag, elements, partitions, gaps, .. } = &pairs[pair];
        let mut memory = vec![UNTOUCHED; elements * if gaps[side] { EXTENT } else { ELEMENT }];
        let each = (elements / partitions[side]) as i64;
        let with_gaps = gaps[side].then(|| words_with_gaps(mpi));
        let (datatype, count) = match with_gaps {
            Some(datatype) => (datatype, each),
            None => (BYTE, each * ELEMENT as i64),
        };
        let message = message(&mut memory, (datatype, count), ranks[1 - side] as i32, *tag);
        let partitions = partitions[side] as i32;
        let request = match side {
            0 => mpi.partitioned().send_init(message, partitions),
            _ => mpi.partitioned().receive_init(message, partitions),
        };
        if let Some(datatype) = with_gaps {
            mpi.datatypes.free(datatype).unwrap();
        }
        let (active, round, waiting) = (false, 0, Vec::new());
        End { pair, side, memory, request: request.unwrap(), active, round, waiting }
    }

    fn start(&mut self, mpi: &mut SimEntry<'_>, pair: &Pair) {
        self.memory.fill(UNTOUCHED);
        self.active = true;
        self.waiting = (0..if self.side == 0 { pair.partitions[0] } else { 0 }).collect();
        mpi.start(self.request).unwrap();
    }

    /// Makes some partitions ready, by any of the three calls.
    fn make_ready(&mut self, mpi: &mut SimEntry<'_>, pair: &Pair, random: &mut ChaCha8Rng) {
        self.waiting.shuffle(random);
        let one = self.waiting[0];
        let (low, mut high) = (one, one + 1);
        let mut chosen = vec![one];
        let way = random.random_range(0..3);
        if way == 1 {
            while self.waiting.contains(&high) && random.random_bool(0.8) {
                high += 1;
            }
            chosen = (low..high).collect();
        } else if way == 2 {
            chosen = self.waiting[..random.random_range(1..=self.waiting.len())].to_vec();
        }
        self.waiting.retain(|partition| !chosen.contains(partition));
        for &partition in &chosen {
            self.write(pair, partition);
        }
        let mut partitioned = mpi.partitioned();
        match way {
            0 => partitioned.ready(self.request, one as i32),
            1 => partitioned.ready_range(self.request, (low as i32, high as i32 - 1)),
            _ => partitioned.ready_list(self.request, chosen.iter().map(|one| *one as i32)),
        }
        .unwrap();
    }

    fn bytes_of(&self, pair: &Pair, partition: usize) -> std::ops::Range<usize> {
        let each = pair.elements * ELEMENT / pair.partitions[self.side];
        partition * each..(partition + 1) * each
    }

    fn write(&mut self, pair: &Pair, partition: usize) {
        for at in self.bytes_of(pair, partition) {
            self.memory[End::place(pair.gaps[0], at)] = pair.byte(self.round, at);
        }
    }

    /// Looks at a partition, which must have its bytes if it has arrived.
    fn look(&self, mpi: &mut SimEntry<'_>, pair: &Pair, partition: usize) {
        if mpi.partitioned().has_arrived(self.request, partition as i32).unwrap() && self.active {
            for at in self.bytes_of(pair, partition) {
                let found = self.memory[End::place(pair.gaps[1], at)];
                assert_eq!(found, pair.byte(self.round, at), "byte {at} of {pair:?}");
            }
        }
    }

    /// Ends a round that is complete.
    fn end(&mut self, mpi: &mut SimEntry<'_>, pair: &Pair) {
        let Some(report) = mpi.test(self.request).unwrap() else { return };
        assert!(report.failure.is_none(), "{:?}", report.failure);
        assert!(!report.released && self.waiting.is_empty(), "{pair:?}");
        if self.side == 1 {
            let status = report.status;
            assert_eq!((status.source, status.tag), (pair.ranks[0] as i32, pair.tag));
            assert_eq!(status.bytes, (pair.elements * ELEMENT) as u64);
            (0..pair.partitions[1]).for_each(|partition| self.look(mpi, pair, partition));
            if pair.gaps[1] {
                let mut gaps = self.memory.chunks(EXTENT).map(|element| &element[8..16]);
                assert!(gaps.all(|gap| gap == [UNTOUCHED; 8]), "written between elements");
            }
        }
        self.active = false;
        self.round += 1;
    }

    /// One step, of those that are possible; whether nothing is left to do.
    fn step(&mut self, mpi: &mut SimEntry<'_>, pair: &Pair, random: &mut ChaCha8Rng) -> bool {
        if self.active {
            match random.random_range(0..3) {
                0 if !self.waiting.is_empty() => self.make_ready(mpi, pair, random),
                1 if self.side == 1 => {
                    self.look(mpi, pair, random.random_range(0..pair.partitions[1]));
                }
                _ => self.end(mpi, pair),
            }
        } else if self.round < pair.rounds {
            self.start(mpi, pair);
        } else if random.random_bool(0.3) {
            assert!(mpi.free_request(self.request).unwrap().is_none());
            return true;
        }
        false
    }
}

/// Every second word of two, which is no run of memory.
fn words_with_gaps(mpi: &mut SimEntry<'_>) -> DatatypeHandle {
    let int64 = mpi.datatypes.get(INT64).unwrap().clone();
    let gaps = Datatype::vector(2, 1, 2, &int64, Form::Int).unwrap();
    gaps.commit();
    mpi.datatypes.add(gaps).unwrap()
}

fn message(buf: &mut [u8], of: (DatatypeHandle, i64), rank: i32, tag: i32) -> Message {
    let (datatype, count) = of;
    Message { buf: UserBuffer(buf.as_mut_ptr()), count, datatype, rank, tag, comm: COMM_WORLD }
}

/// Does this rank's part in an order of the seed's.
fn live(mpi: &mut SimEntry<'_>, pairs: &[Pair], seed: u64) {
    let me = mpi.identity.rank as usize;
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ (me as u64) << 32);
    let mut unmade = [0, 1].map(|side| {
        let mut mine = Vec::from_iter((0..pairs.len()).filter(|n| pairs[*n].ranks[side] == me));
        mine.reverse();
        mine
    });
    let mut ends: Vec<End> = Vec::new();
    // A rank that is behind leaves its ends to the others for a while.
    let eager = random.random_range(0.05..1.0);
    while !ends.is_empty() || unmade.iter().any(|side| !side.is_empty()) {
        mpi.poll();
        if !random.random_bool(eager) {
            continue;
        }
        let side = random.random_range(0..2);
        if random.random_bool(0.3)
            && let Some(pair) = unmade[side].pop()
        {
            ends.push(End::make(mpi, pairs, pair, side));
        } else if !ends.is_empty() {
            let at = random.random_range(0..ends.len());
            let pair = &pairs[ends[at].pair];
            if ends[at].step(mpi, pair, &mut random) {
                ends.swap_remove(at);
            }
        }
    }
}

/// Ordinary messages, of the same tags, of each rank to each, and receives that take any.
fn besides(mpi: &mut SimEntry<'_>, begun: &mut Vec<RequestHandle>, memory: &mut [u8]) {
    let size = mpi.identity.size as usize;
    let (into, out) = memory.split_at_mut(size);
    for rank in 0..size {
        let one = (BYTE, 1);
        let any = message(&mut into[rank..], one, ANY_SOURCE, ANY_TAG);
        begun.push(mpi.messages().ireceive(any).unwrap());
        let to = message(&mut out[rank..], one, rank as i32, rank as i32 % 2);
        begun.push(mpi.messages().isend(to, Mode::Standard).unwrap());
    }
}

fn run(seed: u64, ranks: usize, network: SimOptions) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let pairs = random.random_range(1..3 * ranks + 1);
    let pairs = Rc::new(Vec::from_iter((0..pairs).map(|_| Pair::random(&mut random, ranks))));
    let world = World { network, ..World::new(seed, ranks as u32) };
    let outcome = world.start_mpi(move |mpi| {
        let size = mpi.identity.size as usize;
        let (mut begun, mut memory) = (Vec::new(), vec![9; 2 * size]);
        besides(mpi, &mut begun, &mut memory);
        live(mpi, &pairs, seed);
        for request in begun {
            mpi.wait_one(request).unwrap();
        }
        assert!(memory.iter().all(|byte| *byte == 9));
    });
    outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}"));
}

#[test]
fn random_partitions_arrive_with_their_bytes() {
    for seed in 0..200 {
        run(seed, 1 + seed as usize % 3, SimOptions::default());
    }
}

#[test]
fn a_narrow_or_disorderly_network_changes_nothing() {
    let narrow = SimOptions {
        capacity: 1,
        refuse: 0.5,
        frame_bytes_max: 256,
        fragment_bytes_max: 1000,
        pull: 0.2,
        delay: 0..=100_000,
        ..SimOptions::default()
    };
    let disorderly =
        SimOptions { reorder: true, duplicate: 0.1, pull: 1.0, ..SimOptions::default() };
    for seed in 1000..1030 {
        run(seed, 1 + seed as usize % 3, narrow.clone());
        run(seed, 2 + seed as usize % 2, disorderly.clone());
    }
}

/// What one rank makes, the other end of which may be another rank.
fn kept(
    mpi: &mut SimEntry<'_>,
    bytes: &mut [u8],
    partitions: i32,
    rank: i32,
    send: bool,
) -> RequestHandle {
    let message = message(bytes, (BYTE, bytes.len() as i64 / i64::from(partitions)), rank, 5);
    match send {
        true => mpi.partitioned().send_init(message, partitions),
        false => mpi.partitioned().receive_init(message, partitions),
    }
    .unwrap()
}

fn class<T>(result: Result<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

/// Long partitions leave one by one: all that are ready have come before the last one is.
#[test]
fn what_is_ready_does_not_wait_for_the_rest() {
    for seed in 0..10 {
        let outcome = World::new(seed, 2).start_mpi(|mpi| {
            let (me, mut bytes) = (mpi.identity.rank as i32, vec![1; 8 << 17]);
            let request = kept(mpi, &mut bytes, 8, 1 - me, me == 0);
            mpi.start(request).unwrap();
            let mut word = [0];
            let ordinary = message(&mut word, (BYTE, 1), 1 - me, 0);
            for partition in 0..8 {
                if me == 0 {
                    mpi.partitioned().ready(request, partition).unwrap();
                    mpi.messages().receive(ordinary).unwrap();
                } else {
                    mpi.block_until(|process| {
                        process.partitioned().has_arrived(request, partition).unwrap()
                    });
                    for later in partition + 1..8 {
                        assert!(!mpi.partitioned().has_arrived(request, later).unwrap());
                    }
                    mpi.messages().send(ordinary, Mode::Standard).unwrap();
                }
            }
            mpi.wait_one(request).unwrap();
            mpi.free_request(request).unwrap();
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn ends_of_different_lengths_are_told_at_the_receiver() {
    for seed in 0..20 {
        let outcome = World::new(seed, 2).start_mpi(move |mpi| {
            let me = mpi.identity.rank as i32;
            let shorter = seed % 2 == 0;
            let lens = [if shorter { 300_000 } else { 900_000 }, 600_000];
            let mut bytes = vec![me as u8; lens[me as usize]];
            let request = kept(mpi, &mut bytes, 3, 1 - me, me == 0);
            for _ in 0..2 {
                mpi.start(request).unwrap();
                if me == 0 {
                    mpi.partitioned().ready_range(request, (0, 2)).unwrap();
                    assert_eq!(class(mpi.wait_one(request)), None);
                } else {
                    let expected = if shorter { ErrorClass::COUNT } else { ErrorClass::TRUNCATE };
                    assert_eq!(class(mpi.wait_one(request)), Some(expected));
                }
            }
            mpi.free_request(request).unwrap();
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn mistakes_are_told() {
    let outcome = World::new(7, 1).start_mpi(|mpi| {
        let (mut out, mut into) = ([1; 12], [0; 12]);
        let [send, receive] = [true, false].map(|is_send| {
            let bytes = if is_send { &mut out } else { &mut into };
            kept(mpi, bytes, 4, 0, is_send)
        });
        let (request, arg) = (Some(ErrorClass::REQUEST), Some(ErrorClass::ARG));
        assert_eq!(class(mpi.partitioned().ready(send, 0)), request, "before its start");
        assert!(mpi.partitioned().has_arrived(receive, 3).unwrap(), "of one that is not active");
        mpi.start(send).unwrap();
        mpi.start(receive).unwrap();
        assert_eq!(class(mpi.partitioned().ready(receive, 0)), request);
        assert_eq!(class(mpi.partitioned().has_arrived(send, 0)), request);
        assert_eq!(class(mpi.partitioned().has_arrived(receive, 4)), arg);
        for number in [-1, 4] {
            assert_eq!(class(mpi.partitioned().ready(send, number)), arg);
        }
        assert_eq!(class(mpi.partitioned().ready_range(send, (3, 4))), arg);
        mpi.partitioned().ready_range(send, (2, 1)).unwrap();
        mpi.partitioned().ready(send, 1).unwrap();
        assert_eq!(class(mpi.partitioned().ready(send, 1)), arg, "twice");
        for active in [send, receive] {
            assert_eq!(class(mpi.free_request(active)), request, "while it goes on");
            assert_eq!(class(mpi.cancel(active)), request);
            assert_eq!(class(mpi.start(active)), request);
        }
        mpi.partitioned().ready_list(send, [3, 0, 2]).unwrap();
        assert_eq!(class(mpi.partitioned().ready(send, 2)), arg, "in a round that is complete");
        mpi.wait_one(send).unwrap();
        mpi.wait_one(receive).unwrap();
        assert_eq!(into, out);
        mpi.free_request(send).unwrap();
        mpi.free_request(receive).unwrap();
    });
    outcome.unwrap_or_else(|hang| panic!("{hang}"));
}

#[test]
fn arguments_that_no_end_can_have_are_refused() {
    let outcome = World::new(8, 1).start_mpi(|mpi| {
        let mut bytes = [0; 8];
        let sound = message(&mut bytes, (BYTE, 2), 0, 0);
        let mut refused =
            |message: Message, partitions: i32, sends: ErrorClass, receives: ErrorClass| {
                let mut partitioned = mpi.partitioned();
                assert_eq!(class(partitioned.send_init(message, partitions)), Some(sends));
                assert_eq!(class(partitioned.receive_init(message, partitions)), Some(receives));
            };
        refused(sound, -1, ErrorClass::ARG, ErrorClass::ARG);
        refused(Message { count: -1, ..sound }, 2, ErrorClass::COUNT, ErrorClass::COUNT);
        refused(Message { count: i64::MAX, ..sound }, 2, ErrorClass::COUNT, ErrorClass::COUNT);
        refused(Message { rank: 1, ..sound }, 2, ErrorClass::RANK, ErrorClass::RANK);
        refused(Message { rank: ANY_SOURCE, ..sound }, 2, ErrorClass::RANK, ErrorClass::RANK);
        refused(Message { tag: ANY_TAG, ..sound }, 2, ErrorClass::TAG, ErrorClass::TAG);
    });
    outcome.unwrap_or_else(|hang| panic!("{hang}"));
}

/// To and from nobody: partitions are made ready all the same, and the receive is complete at once.
#[test]
fn nobody_gets_partitions_and_none_come_from_there() {
    let outcome = World::new(9, 1).start_mpi(|mpi| {
        let mut bytes = [3; 8];
        let send = kept(mpi, &mut bytes, 2, PROC_NULL, true);
        let receive = kept(mpi, &mut bytes, 2, PROC_NULL, false);
        for _ in 0..2 {
            mpi.start(send).unwrap();
            mpi.start(receive).unwrap();
            assert!(mpi.partitioned().has_arrived(receive, 1).unwrap());
            assert_eq!(mpi.wait_one(receive).unwrap().source, PROC_NULL);
            mpi.partitioned().ready(send, 1).unwrap();
            assert!(mpi.test(send).unwrap().is_none());
            mpi.partitioned().ready(send, 0).unwrap();
            mpi.wait_one(send).unwrap();
        }
        mpi.free_request(send).unwrap();
        mpi.free_request(receive).unwrap();
    });
    outcome.unwrap_or_else(|hang| panic!("{hang}"));
}

/// A receive that is given up before its sender makes itself known is found by it all the same.
#[test]
fn who_is_given_up_keeps_its_place_in_the_order() {
    for seed in 0..20 {
        let outcome = World::new(seed, 2).start_mpi(|mpi| {
            let me = mpi.identity.rank as i32;
            let mut bytes = vec![[7, 0][me as usize]; 6];
            let first = kept(mpi, &mut [0; 4], 2, 1 - me, me == 0);
            let second = kept(mpi, &mut bytes, 2, 1 - me, me == 0);
            mpi.free_request(first).unwrap();
            mpi.start(second).unwrap();
            if me == 0 {
                mpi.partitioned().ready_range(second, (0, 1)).unwrap();
            }
            mpi.wait_one(second).unwrap();
            assert_eq!(bytes, [7; 6]);
            mpi.free_request(second).unwrap();
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn who_waits_is_told_what_for() {
    let outcome = World::new(1, 1).start_mpi(|mpi| {
        let (mut out, mut into) = ([0; 8], [0; 8]);
        let [send, receive] = [true, false].map(|is_send| {
            let bytes = if is_send { &mut out } else { &mut into };
            let request = kept(mpi, bytes, 2, 0, is_send);
            mpi.start(request).unwrap();
            request
        });
        mpi.procedure = 1;
        let wait = |_| Some("MPI_Wait");
        let told = [send, receive].map(|one| mpi.waits_for_requests([one]).describe(wait));
        let [to, from] = ["dest 0, tag 5", "source 0, tag 5"]
            .map(|what| format!("in MPI_Wait({what}) on MPI_COMM_WORLD"));
        assert_eq!(told, [to, from]);
        mpi.partitioned().ready_range(send, (0, 1)).unwrap();
        mpi.await_all(&[send, receive]).unwrap();
    });
    outcome.unwrap_or_else(|hang| panic!("{hang}"));
}
