//! What a process keeps for others to send to it (paper 001, figure 6), and that a message in a ring in memory
//! completes no receive (paper 000), counted over this host's verbs devices; all processes' ends are in this one.
//!
//!     buffers ud|rc-shared|rc DEVICES NUMBERS    rows `row buffers HOW PEERS KIB KiB`, for each number of peers
//!     buffers ring DEVICES MESSAGES              two ends that have a ring each; fails if a receive completes
//!
//! By `ud` one queue pair hears all peers, by `rc-shared` all connections share a receive queue, and by `rc` each has a
//! receive queue of its own, which is an end of its own here: what it keeps for its one peer is what a queue of its own
//! would.

use std::process::ExitCode;

use mpi_core::buffer::RawBytes;
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, PeerId, ProcessName, Transport};
use mpi_core::settings::DataOrder;
use transports::conformance::{World, pattern};
use transports::datagrams::Datagrams;
use transports::rdma::{Rdma, RdmaConfig, RdmaCounters, RdmaSettings};
use transports::verbs::{Rc, Ud, UdConfig, UdSettings, VerbsConfig, VerbsSettings};

const JOB: &str = "buffers";
const SECRET: [u8; 32] = [7; 32];
/// What each peer says, and how often.
const BYTES: usize = 1000;
const TIMES: u64 = 4;

fn verbs(devices: &[&str], rank: usize) -> VerbsSettings {
    VerbsSettings { devices: devices[rank % devices.len()].to_owned(), ..VerbsSettings::default() }
}

fn rc(devices: &[&str], rank: usize, data_order: DataOrder) -> Rdma<Rc> {
    let settings = VerbsSettings { data_order, ..verbs(devices, rank) };
    let verbs = VerbsConfig { job: JOB.to_owned(), rank: rank as u32, secret: SECRET, settings };
    let fabric = Rc::open(verbs).unwrap_or_else(|why| panic!("{why}"));
    let settings = RdmaSettings::default();
    let config = RdmaConfig { job: JOB.to_owned(), rank: rank as u32, settings };
    Rdma::new(config, fabric).unwrap_or_else(|why| panic!("{why}"))
}

fn ud(devices: &[&str], rank: usize) -> Datagrams<Ud> {
    let settings = UdSettings { verbs: verbs(devices, rank), ..UdSettings::default() };
    let config = UdConfig { job: JOB.to_owned(), rank: rank as u32, secret: SECRET, settings };
    Datagrams::<Ud>::open(config).unwrap_or_else(|why| panic!("{why}"))
}

fn name(rank: u32) -> ProcessName {
    ProcessName { job: JOB.to_owned(), rank }
}

/// The first end and so many others, which know the first and which it knows.
fn star<T: Transport>(
    peers: usize,
    open: impl Fn(usize) -> T,
    card: impl Fn(&T) -> String,
    meet: impl Fn(&mut T, PeerId, &str),
) -> World<T> {
    let mut ends: Vec<T> = (0..=peers).map(open).collect();
    let cards: Vec<String> = ends.iter().map(card).collect();
    for rank in 1..=peers {
        let peer = PeerId(rank as u32);
        ends[0].add_peer(peer, &name(rank as u32));
        meet(&mut ends[0], peer, &cards[rank]);
        ends[rank].add_peer(PeerId(0), &name(0));
        meet(&mut ends[rank], PeerId(0), &cards[0]);
    }
    World::new(ends)
}

fn star_rc(devices: &[&str], peers: usize, order: DataOrder) -> World<Rdma<Rc>> {
    let open = |rank| rc(devices, rank, order);
    star(peers, open, Rdma::card, |end, peer, card| {
        end.meet(peer, card, false).unwrap_or_else(|why| panic!("{why}"));
    })
}

fn star_ud(devices: &[&str], peers: usize) -> World<Datagrams<Ud>> {
    let open = |rank| ud(devices, rank);
    star(peers, open, Datagrams::card, |end, peer, card| {
        end.meet(peer, card, true).unwrap_or_else(|why| panic!("{why}"));
    })
}

fn header(n: u64) -> Header {
    Header { kind: FrameKind::Eager as u8, context: n, ..Header::default() }
}

/// All others say something to the first end, as soon as there is room for it.
fn talk<T: Transport>(world: &mut World<T>) {
    let mut said = vec![0; world.count() - 1];
    let all = TIMES as usize * said.len();
    world.run_until("all has come", |world| {
        for (said, from) in said.iter_mut().zip(1..) {
            let body = pattern(*said, BYTES);
            let body = Body::Bytes(RawBytes::from(&body[..]));
            if *said < TIMES && world.transport(from).send(PeerId(0), &header(*said), body).is_ok()
            {
                *said += 1;
            }
        }
        world.got(0).frames.len() == all
    });
    assert!(world.got(0).frames.iter().all(|got| got.body == pattern(got.header.context, BYTES)));
}

/// Bytes that a process with so many peers keeps for them.
fn kept(how: &str, devices: &[&str], peers: usize) -> usize {
    let connected = |peers| {
        let mut world = star_rc(devices, peers, DataOrder::Any);
        talk(&mut world);
        world.transport(0).receive_bytes()
    };
    match how {
        "ud" => {
            let mut world = star_ud(devices, peers);
            talk(&mut world);
            world.transport(0).carrier().receive_bytes()
        }
        "rc-shared" => connected(peers),
        _ => (0..peers).map(|_| connected(1)).sum(),
    }
}

/// Both ends of a pair say something in turn.
fn in_turn(world: &mut World<Rdma<Rc>>, messages: u64) {
    for n in 0..messages {
        for (from, to, own) in [(0, 1, 1), (1, 0, 0)] {
            world.got(to).frames.clear();
            let body = pattern(n, BYTES);
            world.run_until("there is room", |world| {
                let body = Body::Bytes(RawBytes::from(&body[..]));
                world.transport(from).send(PeerId(own), &header(n), body).is_ok()
            });
            world.run_until("it is there", |world| !world.got(to).frames.is_empty());
            assert_eq!(world.got(to).frames[0].body, body, "message {n} is damaged");
        }
    }
}

/// Messages in rings; how many receives completed for them.
fn ring(devices: &[&str], messages: u64) -> bool {
    let mut world = star_rc(devices, 1, DataOrder::InOrder);
    in_turn(&mut world, 40);
    let counters = |world: &mut World<Rdma<Rc>>| [0, 1].map(|end| world.transport(end).counters());
    let before = counters(&mut world);
    in_turn(&mut world, messages);
    let after = counters(&mut world);
    let grown = |of: fn(&RdmaCounters) -> u64| {
        (0..2).map(|end| of(&after[end]) - of(&before[end])).sum::<u64>()
    };
    let (rings, receives) = (grown(|one| one.ring_frames_in), grown(|one| one.messages_in));
    println!("{rings} messages in rings completed {receives} receives");
    rings == 2 * messages && receives == 0
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [what, devices, numbers] = words[..] else {
        eprintln!("buffers ud|rc-shared|rc|ring DEVICES NUMBERS");
        return ExitCode::from(2);
    };
    let devices: Vec<&str> = devices.split(',').collect();
    for number in numbers.split(',').map(|number| number.parse().expect("a number")) {
        if what == "ring" {
            if !ring(&devices, number) {
                return ExitCode::FAILURE;
            }
        } else {
            let kib = kept(what, &devices, number as usize) as f64 / 1024.0;
            println!("row buffers {what} {number} {kib:.1} KiB");
        }
    }
    ExitCode::SUCCESS
}
