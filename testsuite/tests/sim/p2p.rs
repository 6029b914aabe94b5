//! Random point-to-point programs in simulated worlds, with a checker of the order rules
//! (MPI-5.0 §3.5), over every mode and length, exact receives and wildcards.

use std::cell::Cell;
use std::rc::Rc;

use mpi_core::buffer::UserBuffer;
use mpi_core::constants::{ANY_SOURCE, ANY_TAG};
use mpi_core::datatype::BYTE;
use mpi_core::handle::RequestHandle;
use mpi_core::p2p::{Message, Mode};
use mpi_core::status::Status;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::{Landings, SimOptions};

const LONGEST: usize = 100_000;

/// One message of the program; its place among those of its sender is in its first bytes.
#[derive(Clone, Debug)]
struct Sent {
    from: usize,
    to: usize,
    tag: i32,
    len: usize,
    mode: Mode,
}

/// One receive, and the message that it got, by number.
#[derive(Clone, Debug)]
struct Received {
    source: i32,
    tag: i32,
    got: Option<usize>,
}

/// What all ranks do.
#[derive(Debug)]
struct Program {
    messages: Vec<Sent>,
    /// Receives of each rank in the order of posting.
    receives: Vec<Vec<Received>>,
}

impl Program {
    fn random(seed: u64, ranks: usize) -> Program {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let count = random.random_range(0..ranks * 40);
        let lengths = [8, 9, 40, 41, 200, 8192, 8193, 30_000, LONGEST];
        let messages: Vec<Sent> = (0..count)
            .map(|_| Sent {
                from: random.random_range(0..ranks),
                to: random.random_range(0..ranks),
                tag: random.random_range(0..3),
                len: lengths[random.random_range(0..lengths.len())],
                mode: [Mode::Standard, Mode::Synchronous][random.random_range(0..2)],
            })
            .collect();
        let mut receives = vec![Vec::new(); ranks];
        // One kind of receive a rank, so that whatever matches what, all find a partner.
        let open: Vec<(bool, bool)> =
            (0..ranks).map(|_| (random.random(), random.random())).collect();
        for sent in &messages {
            let (any_source, any_tag) = open[sent.to];
            let place = random.random_range(0..=receives[sent.to].len());
            let receive = Received {
                source: if any_source { ANY_SOURCE } else { sent.from as i32 },
                tag: if any_tag { ANY_TAG } else { sent.tag },
                got: None,
            };
            receives[sent.to].insert(place, receive);
        }
        Program { messages, receives }
    }

    /// The bytes of message `number`: its number, then a pattern.
    fn content(&self, number: usize) -> Vec<u8> {
        let len = self.messages[number].len;
        let mut bytes = (number as u64).to_le_bytes().to_vec();
        bytes.extend((8..len).map(|at| (at * 31 + number * 7) as u8));
        bytes
    }

    /// Whether rank `to`'s receives got each of its messages once, whole, with the right
    /// status and in an order that §3.5 allows.
    fn check(&self, to: usize, receives: &[Received]) {
        let fits = |receive: &Received, sent: &Sent| {
            (receive.source == ANY_SOURCE || receive.source == sent.from as i32)
                && (receive.tag == ANY_TAG || receive.tag == sent.tag)
        };
        let got = |receive: &Received| receive.got.expect("every receive got something");
        let mut seen: Vec<usize> = receives.iter().map(got).collect();
        for (later, &number) in seen.iter().enumerate() {
            let sent = &self.messages[number];
            assert!(sent.to == to && fits(&receives[later], sent), "{number} at rank {to}");
            // A message sent earlier by the same rank that fits this receive too went to one
            // posted before it.
            for (earlier, other) in seen.iter().enumerate().filter(|(_, other)| **other < number) {
                let overtaken = &self.messages[*other];
                let both = overtaken.from == sent.from && fits(&receives[later], overtaken);
                assert!(!both || earlier < later, "message {number} overtook {other} at {to}");
            }
        }
        seen.sort_unstable();
        let all = self.messages.iter().enumerate().filter(|(_, m)| m.to == to).map(|(n, _)| n);
        assert!(seen.into_iter().eq(all), "rank {to} did not get each message once");
    }
}

fn message(buf: &mut [u8], rank: i32, tag: i32) -> Message {
    let count = buf.len() as i64;
    Message {
        buf: UserBuffer(buf.as_mut_ptr()),
        count,
        datatype: BYTE,
        rank,
        tag,
        comm: COMM_WORLD,
    }
}

/// Posts this rank's part in a random order, sometimes testing in between, and waits for all.
fn live(mpi: &mut SimEntry<'_>, program: &Program, seed: u64) -> Vec<Received> {
    let me = mpi.identity.rank as usize;
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ (me as u64) << 32);
    let sends: Vec<usize> =
        (0..program.messages.len()).filter(|n| program.messages[*n].from == me).collect();
    let mut out: Vec<Vec<u8>> = sends.iter().map(|number| program.content(*number)).collect();
    let mut receives = program.receives[me].clone();
    let mut into = vec![vec![0xee_u8; LONGEST]; receives.len()];
    let (mut sending, mut receiving): (Vec<RequestHandle>, Vec<RequestHandle>) = Default::default();
    while sending.len() < sends.len() || receiving.len() < receives.len() {
        let turn = random.random_range(0..4);
        if turn < 2 && sending.len() < sends.len() {
            let sent = &program.messages[sends[sending.len()]];
            let buf = &mut out[sending.len()];
            sending.push(
                mpi.messages().isend(message(buf, sent.to as i32, sent.tag), sent.mode).unwrap(),
            );
        } else if turn < 3 && receiving.len() < receives.len() {
            let receive = &receives[receiving.len()];
            let buf = &mut into[receiving.len()];
            receiving
                .push(mpi.messages().ireceive(message(buf, receive.source, receive.tag)).unwrap());
        } else if turn == 3 {
            mpi.poll();
        }
    }
    for ((request, receive), buf) in receiving.into_iter().zip(&mut receives).zip(&into) {
        let status = mpi.wait_one(request).unwrap();
        receive.got = Some(identify(program, &status, buf));
    }
    for request in sending {
        mpi.wait_one(request).unwrap();
    }
    receives
}

/// Which message lies in `buf`; it must be whole and alone.
fn identify(program: &Program, status: &Status, buf: &[u8]) -> usize {
    let number = u64::from_le_bytes(buf[..8].try_into().unwrap()) as usize;
    let sent = &program.messages[number];
    assert_eq!((status.source, status.tag), (sent.from as i32, sent.tag), "of message {number}");
    assert_eq!(status.bytes, sent.len as u64);
    assert!(buf[..sent.len] == program.content(number)[..], "message {number} is damaged");
    assert!(buf[sent.len..].iter().all(|byte| *byte == 0xee), "{number} ran over its end");
    number
}

/// Runs a random program; how often a receiver told where bytes go, which always comes back with them.
fn run(seed: u64, ranks: u32, network: SimOptions) -> usize {
    let program = Rc::new(Program::random(seed, ranks as usize));
    let shared = Rc::clone(&program);
    let world = World { network, ..World::new(seed, ranks) };
    let outcome = world.start_mpi(move |mpi| live(mpi, &shared, seed));
    let outcome = outcome.unwrap_or_else(|hang| panic!("{hang}"));
    for (rank, receives) in outcome.results.iter().enumerate() {
        program.check(rank, receives.as_ref().expect("nobody dies here"));
    }
    let Landings { told, used } = outcome.landings;
    assert_eq!(told, used, "seed {seed}");
    told
}

#[test]
fn random_programs_match_by_the_rules() {
    for seed in 0..150 {
        run(seed, 1 + (seed % 5) as u32, SimOptions::default());
    }
}

#[test]
fn a_narrow_network_changes_nothing_but_time() {
    let narrow = SimOptions {
        capacity: 1,
        refuse: 0.5,
        frame_bytes_max: 256,
        fragment_bytes_max: 1000,
        pull: 0.2,
        delay: 0..=100_000,
        ..SimOptions::default()
    };
    let run = |seed: u64| run(seed, 2 + (seed % 3) as u32, narrow.clone());
    let told: usize = (1000..1060).map(run).sum();
    assert!(told > 100, "receivers told {told} times where bytes go");
}

/// The way of a small message past every queue (`mpi-core/src/messages/fast.rs`), from never open to
/// always, must not show in what a program gets.
#[test]
fn the_fast_path_changes_nothing() {
    for front in [0.0, 0.2, 1.0] {
        let ordered = SimOptions { front, capacity: 4, delay: 0..=2_000, ..SimOptions::default() };
        let reordered = SimOptions { front, reorder: true, ..ordered.clone() };
        for seed in 2000..2040 {
            run(seed, 2 + (seed % 3) as u32, ordered.clone());
            run(seed, 2 + (seed % 3) as u32, reordered.clone());
        }
    }
}

/// Blocking sends of up to 64 KiB that cross each other, from the first on, with short ones before them.
#[test]
fn who_sends_first_and_receives_then_comes_to_its_end() {
    for seed in 3000..3040 {
        let network = SimOptions {
            frame_bytes_max: 128 << 10,
            refuse: 0.3,
            capacity: 1 + seed as u32 % 4,
            ..SimOptions::default()
        };
        let world = World { network, ..World::new(seed, 2) };
        let outcome = world.start_mpi(|mpi| {
            let (me, other) = (mpi.identity.rank as u8, 1 - mpi.identity.rank as i32);
            for round in 0..20 {
                for len in [8, 64 << 10] {
                    mpi.messages()
                        .send(message(&mut vec![me; len], other, round), Mode::Standard)
                        .unwrap();
                }
                for len in [8, 64 << 10] {
                    let mut into = vec![7; len];
                    mpi.messages().receive(message(&mut into, other, round)).unwrap();
                    assert!(into.iter().all(|byte| i32::from(*byte) == other));
                }
            }
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

/// In how many of a hundred worlds the sender of a long message goes on before its receiver does.
fn senders_ahead(processors: Option<u32>) -> u32 {
    let ahead = Rc::new(Cell::new(0));
    for seed in 0..100 {
        let network = SimOptions { pull: 1.0, processors, ..SimOptions::default() };
        let (sent, ahead) = (Rc::new(Cell::new(false)), Rc::clone(&ahead));
        let world = World { network, ..World::new(seed, 2) };
        let outcome = world.start_mpi(move |mpi| {
            let mut bytes = vec![0; LONGEST];
            if mpi.identity.rank == 0 {
                mpi.messages().send(message(&mut bytes, 1, 0), Mode::Standard).unwrap();
                sent.set(true);
            } else {
                mpi.messages().receive(message(&mut bytes, 0, 0)).unwrap();
                ahead.set(ahead.get() + u32::from(sent.get()));
            }
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
    ahead.get()
}

/// Others may wait for what the sender does next, which has been waiting for its receiver.
#[test]
fn on_a_shared_processor_a_sender_may_go_on_before_who_has_fetched_its_message() {
    assert_eq!(senders_ahead(None), 0);
    assert!(senders_ahead(Some(1)) > 10);
}

#[test]
fn a_receive_without_a_send_is_a_deadlock() {
    let hang = World::new(1, 2).start_mpi(|mpi| {
        let mut buf = [0];
        let other = 1 - mpi.identity.rank as i32;
        mpi.messages().receive(message(&mut buf, other, 0)).map(drop)
    });
    let hang = hang.unwrap_err();
    assert!(hang.deadlock && hang.ranks.len() == 2, "{hang}");
}
