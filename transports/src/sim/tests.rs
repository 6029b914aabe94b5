//! The simulated network: the transports' requirements, sameness by seed, faults.

use std::rc::Rc;

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{Activity, Body, PeerId, ProcessName, Token, Transport, Why};

use super::{Network, SharedNetwork, SimOptions, SimPort};
use crate::conformance::{Recorder, check, pattern};

fn world(seed: u64, size: u32, options: SimOptions) -> (SharedNetwork, Vec<SimPort>) {
    let network = Network::new(seed, options);
    let name = |rank| ProcessName { job: "sim".to_owned(), rank };
    let mut ports: Vec<SimPort> = (0..size).map(|r| SimPort::new(&network, &name(r))).collect();
    for port in &mut ports {
        (0..size).for_each(|rank| port.add_peer(PeerId(rank), &name(rank)));
    }
    (network, ports)
}

#[test]
fn meets_all_requirements() {
    let small =
        SimOptions { frame_bytes_max: 512, capacity: 3, refuse: 0.5, ..SimOptions::default() };
    let tiny =
        SimOptions { fragment_bytes_max: 4000, pull: 1.0, delay: 0..=0, ..SimOptions::default() };
    for seed in 0..4 {
        for options in [SimOptions::default(), small.clone(), tiny.clone()] {
            for size in [1, 2, 3] {
                let mut worlds = seed << 8;
                check(|| {
                    worlds += 1;
                    world(worlds, size, options.clone()).1
                });
            }
        }
    }
}

/// Sends numbered frames and some bulk data from each to each; returns the trace.
fn run(seed: u64, options: SimOptions) -> (u64, Vec<Vec<(u32, i32)>>) {
    let (network, mut ports) = world(seed, 3, options);
    let mut sinks: Vec<Recorder> = (0..3).map(|_| Recorder::default()).collect();
    let bulk = pattern(1, 100_000);
    for n in 0..30 {
        for (from, port) in ports.iter_mut().enumerate() {
            for to in 0..3 {
                let header = Header { tag: n, source: from as i32, ..Header::default() };
                let body = Body::Bytes(RawBytes::from(&bulk[..n as usize]));
                while port.send(PeerId(to), &header, body_again(&body)).is_err() {
                    port.poll(&mut sinks[from]);
                }
            }
        }
    }
    let source = Packer::contiguous(UserBuffer(bulk.as_ptr().cast_mut()), 100_000);
    ports[0].send_bulk(PeerId(2), &Header::default(), source, Token(9), None);
    let mut idle = 0;
    while idle < 100 {
        let polls = ports.iter_mut().zip(&mut sinks).map(|(port, sink)| port.poll(sink));
        idle = if polls.filter(|a| *a == Activity::Busy).count() > 0 { 0 } else { idle + 1 };
    }
    let trace = network.borrow().trace_hash();
    let frames = |sink: Recorder| sink.frames.iter().map(|f| (f.peer.0, f.header.tag)).collect();
    (trace, sinks.into_iter().map(frames).collect())
}

fn body_again<'a>(body: &Body<'a>) -> Body<'a> {
    match body {
        Body::Bytes(bytes) => Body::Bytes(*bytes),
        Body::Packed(_) => unreachable!("only bytes are sent here"),
    }
}

#[test]
fn a_seed_is_a_run() {
    let (first, frames) = run(5, SimOptions::default());
    assert_eq!(run(5, SimOptions::default()), (first, frames));
    assert_ne!(run(6, SimOptions::default()).0, first);
}

#[test]
fn datagram_faults_happen_when_asked_for() {
    let faulty = SimOptions { reorder: true, duplicate: 0.2, lose: 0.2, ..SimOptions::default() };
    let (_, got) = run(7, faulty);
    let of_pair = |to: usize, from| got[to].iter().filter(move |f| f.0 == from).map(|f| f.1);
    let (mut lost, mut doubled, mut turned) = (0, 0, 0);
    for (to, from) in (0..3).flat_map(|to| (0..3).map(move |from| (to, from))) {
        let tags: Vec<i32> = of_pair(to, from).collect();
        lost += (0..30).filter(|tag| !tags.contains(tag)).count();
        doubled += (0..30).filter(|tag| tags.iter().filter(|t| *t == tag).count() == 2).count();
        turned += tags.windows(2).filter(|pair| pair[0] > pair[1]).count();
    }
    assert!(lost > 0 && doubled > 0 && turned > 0, "{lost} {doubled} {turned}");
}

#[test]
fn the_dead_and_the_departed_are_told_apart() {
    let (network, mut ports) = world(1, 4, SimOptions::default());
    let mut sink = Recorder::default();
    let header = Header::default();
    let hello = || Body::Bytes(RawBytes::from(&b"hello"[..]));
    // Rank 1 says hello and leaves; rank 2 says hello and dies at once; the link to 3 is cut.
    while ports[0].send(PeerId(1), &header, hello()).is_ok() {}
    ports[1].send(PeerId(0), &header, hello()).unwrap();
    ports[2].send(PeerId(0), &header, hello()).unwrap();
    let ids: Vec<_> = ports.iter().map(SimPort::id).collect();
    network.borrow_mut().kill(ids[2]);
    network.borrow_mut().cut(ids[0], ids[3]);
    ports.remove(1);
    let mut zero = ports.remove(0);
    for _ in 0..50 {
        zero.poll(&mut sink);
    }
    assert_eq!(sink.frames.iter().map(|f| f.peer).collect::<Vec<_>>(), [PeerId(1)]);
    let why = |peer| sink.down.iter().find(|(p, _)| *p == PeerId(peer)).unwrap().1.clone();
    assert_eq!(why(1), Why::Finalized);
    assert!(matches!(why(2), Why::Lost(text) if text.contains("killed")));
    assert!(matches!(why(3), Why::Lost(text) if text.contains("cut")));
    for _ in 0..200 {
        zero.send(PeerId(1), &header, hello()).expect("a path to nowhere swallows all");
    }
    assert_eq!(Rc::strong_count(&network), 4);
}

#[test]
fn frames_wait_for_their_sender_to_be_known() {
    let network = Network::new(3, SimOptions::default());
    let name = |rank| ProcessName { job: "late".to_owned(), rank };
    let (mut a, mut b) = (SimPort::new(&network, &name(0)), SimPort::new(&network, &name(1)));
    a.add_peer(PeerId(8), &name(1));
    a.send(PeerId(8), &Header::default(), Body::Bytes(RawBytes::EMPTY)).unwrap();
    let mut sink = Recorder::default();
    for _ in 0..20 {
        b.poll(&mut sink);
    }
    assert!(sink.frames.is_empty());
    b.add_peer(PeerId(5), &name(0));
    b.poll(&mut sink);
    assert_eq!(sink.frames[0].peer, PeerId(5));
}
