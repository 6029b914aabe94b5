//! The transport over a simulated network: every requirement under delay, loss, small buffers and
//! connections that break, seed by seed, each of which replays.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, PeerId, Token, Transport, Why};
use mpi_core::settings::TcpSecurity;

use super::net::Socket;
use super::sim_net::{HOME, Sim, Weather};
use super::tests::{small, world};
use super::{Tcp, TcpSettings};
use crate::conformance::{Recorder, World, check, pattern};
use crate::ring_order::{Connects, Ring};
use crate::sys::limits::Limits;

/// Seeds tried; more where FERRITE_TEST_SEEDS says so.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let more = std::env::var("FERRITE_TEST_SEEDS").ok().and_then(|text| text.parse().ok());
    0..more.unwrap_or(few)
}

pub(super) const FAIR: Weather =
    Weather { delay: Duration::from_micros(50), lose: 0.0, cut: 0.0, alter: 0.0, buffer: 64 << 10 };

#[test]
fn meets_all_requirements_under_delay() {
    for seed in seeds(2) {
        let weather = Weather { delay: Duration::from_millis(1), buffer: 20_000, ..FAIR };
        let _sim = Sim::begin(seed, weather);
        check(|| world(2, &small()));
    }
}

#[test]
fn meets_all_requirements_under_loss() {
    for seed in seeds(3) {
        let _sim = Sim::begin(seed, Weather { lose: 0.01, ..FAIR });
        let tcp = TcpSettings { streams: 1 + seed as u32 % 3, fragment_bytes: 40_000, ..small() };
        check(|| world(2, &tcp));
    }
}

#[test]
fn meets_all_requirements_while_connections_break() {
    for seed in seeds(3) {
        let sim = Sim::begin(seed, Weather { lose: 0.002, cut: 0.03, ..FAIR });
        let tcp = TcpSettings { streams: 1 + seed as u32 % 2, ..small() };
        check(|| world(2, &tcp));
        assert!(sim.connections() > 20, "nothing broke");
    }
}

#[test]
fn meets_all_requirements_while_bytes_are_changed() {
    for seed in seeds(3) {
        let _sim = Sim::begin(seed, Weather { lose: 0.002, alter: 0.03, ..FAIR });
        let security = if seed.is_multiple_of(2) { TcpSecurity::Tag } else { TcpSecurity::Encrypt };
        let (streams, fragment_bytes) = (1 + seed as u32 % 2, 40_000);
        check(|| world(2, &TcpSettings { security, streams, fragment_bytes, ..small() }));
    }
}

#[test]
fn who_was_given_up_hears_it_when_it_comes_again() {
    let _sim = Sim::begin(1, FAIR);
    let (mut ends, mut sinks) = (world(2, &small()), [(); 2].map(|()| Recorder::default()));
    ends[1].lose(PeerId(0), "a test");
    let header = Header { kind: FrameKind::Eager as u8, ..Header::default() };
    assert!(ends[0].send(PeerId(1), &header, Body::Bytes((&b"x"[..]).into())).is_ok());
    for _ in 0..10_000 {
        for (end, sink) in ends.iter_mut().zip(&mut sinks) {
            look(end, sink);
        }
    }
    let [(PeerId(1), Why::Undelivered { how, .. })] = &sinks[0].down[..] else {
        panic!("it seeks for ever: {:?}", sinks[0].down)
    };
    assert!(how.contains("has given this one up"), "{how}");
}

/// A device that changes something in every message is not waited for.
#[test]
fn who_gets_nothing_unchanged_is_told_so() {
    let _sim = Sim::begin(1, Weather { alter: 1.0, ..FAIR });
    let (mut ends, mut sinks) = (world(2, &small()), [(); 2].map(|()| Recorder::default()));
    let header = Header { kind: FrameKind::Eager as u8, ..Header::default() };
    assert!(ends[0].send(PeerId(1), &header, Body::Bytes((&b"x"[..]).into())).is_ok());
    while sinks[1].down.is_empty() {
        for (end, sink) in ends.iter_mut().zip(&mut sinks) {
            look(end, sink);
        }
        assert!(sinks[0].down.is_empty(), "the sender has heard nothing that was changed");
    }
    let (Why::Lost(how) | Why::Undelivered { how, .. }) = &sinks[1].down[0].1 else {
        panic!("it has not left")
    };
    assert!(how.contains("did not come as it was sent"), "{how}");
    assert!(sinks[1].frames.is_empty() && ends[1].counters().altered == 8);
}

#[test]
fn who_did_not_look_blames_nobody() {
    let tcp = TcpSettings { patience: Duration::from_millis(300), ..small() };
    let sim = Sim::begin(1, FAIR);
    let mut ends = world(2, &tcp);
    // The first address leads nowhere.
    let routes = [1, ends[1].card().port].map(|port| ([127, 0, 0, 1], port).into());
    ends[0].peers_mut().set_routes(PeerId(1), routes.into());
    let mut world = World::new(ends);
    let header = Header { kind: FrameKind::Eager as u8, ..Header::default() };
    world.send(0, 1, &header, b"hello");
    sim.pass(Duration::from_secs(60));
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    assert!(world.got(0).down.is_empty(), "{:?}", world.got(0).down);
}

/// Whoever connects again finds the way that is open by now; the kernel would try it again after a second.
#[test]
fn a_way_that_opens_within_the_patience_is_found() {
    for patience in [400, 1000, 3000, 20_000].map(Duration::from_millis) {
        let tcp = TcpSettings { patience, ..small() };
        let sim = Sim::begin(1, FAIR);
        sim.bar_until(patience / 2);
        let took = meet(&sim, world(2, &tcp));
        assert!(took > patience / 2 && took < patience, "{took:?} with {patience:?}");
    }
}

/// Who has all does not go before the other can know that: what it said of it may be lost with the connection.
#[test]
fn who_leaves_makes_a_broken_connection_again_first() {
    let sim = Sim::begin(1, FAIR);
    let mut world = World::new(world(2, &small()));
    world.send(0, 1, &Header { kind: FrameKind::Eager as u8, ..Header::default() }, b"hello");
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    sim.cut_all();
    world.run_until("that is seen", |world| !world.transport(1).peers().is_connected(PeerId(0)));
    assert!(!world.transport(1).is_flushed());
    world.run_until("it may leave", |world| world.transport(1).is_flushed());
    let mut ends = world.into_ends();
    drop(ends.pop());
    let mut sink = Recorder::default();
    while !ends[0].is_flushed() {
        look(&mut ends[0], &mut sink);
    }
    assert!(matches!(sink.down[..], [] | [(_, Why::Finalized)]), "{:?}", sink.down);
}

/// Who still sends when the other is gone has that answered by a reset: by then it knows that the other has left.
#[test]
fn a_goodbye_that_is_lost_on_its_way_is_said_again_before_its_sender_is_gone() {
    for seed in seeds(20) {
        let sim = Sim::begin(seed, FAIR);
        let mut world = World::new(world(2, &TcpSettings { streams: 2, ..small() }));
        let hello = Header { kind: FrameKind::Eager as u8, ..Header::default() };
        world.send(0, 1, &hello, b"hello");
        world.send(1, 0, &hello, b"hello");
        world.run_until("all is there", |world| {
            (0..2).all(|rank| world.got(rank).frames.len() == 1)
                && (0..2).all(|rank| world.transport(rank).is_flushed())
        });
        let mut ends = world.into_ends();
        let (mut second, mut first) = (ends.remove(1), ends.remove(0));
        let mut sink = Recorder::default();
        sim.turn(Weather { lose: 0.5, ..FAIR });
        first.leave();
        while !first.has_left() {
            look(&mut first, &mut sink);
        }
        drop(first);
        second.leave();
        while sink.down.is_empty() {
            look(&mut second, &mut sink);
        }
        assert_eq!(sink.down, [(PeerId(0), Why::Finalized)], "seed {seed}");
    }
}

/// Who hears the goodbye ends the connection, without one of its own.
#[test]
fn who_has_said_goodbye_looks_for_nobody_any_more() {
    let sim = Sim::begin(1, FAIR);
    let mut world = World::new(world(2, &small()));
    world.send(0, 1, &Header { kind: FrameKind::Eager as u8, ..Header::default() }, b"hello");
    world.run_until("it is there", |world| {
        world.got(1).frames.len() == 1 && world.transport(0).is_flushed()
    });
    let (mut ends, start) = (world.into_ends(), sim.time());
    let mut sinks = [(); 2].map(|()| Recorder::default());
    ends[0].leave();
    while !ends[0].has_left() || sinks[1].down.is_empty() {
        for (end, sink) in ends.iter_mut().zip(&mut sinks) {
            look(end, sink);
        }
    }
    for _ in 0..100 {
        look(&mut ends[0], &mut sinks[0]);
    }
    assert!(ends[0].has_left() && sim.time() - start < Duration::from_millis(100));
    assert_eq!(sim.connections(), 1);
}

/// Of two that connect at the start one waits for the other, who must not keep it for himself that he has given up.
#[test]
fn who_cannot_make_a_connection_that_is_waited_for_ends_the_job() {
    let tcp = TcpSettings { patience: Duration::from_millis(300), ..small() };
    let sim = Sim::begin(1, FAIR);
    let mut ends = world(2, &tcp);
    sim.bar_until(Duration::from_secs(60));
    let (mut rings, mut sinks) =
        ([0, 1].map(|rank| Ring::new(rank, 2)), [(); 2].map(|()| Recorder::default()));
    while sinks[1].down.is_empty() {
        for end in 0..2 {
            rings[end].go_on(&mut ends[end], |_| false);
            look(&mut ends[end], &mut sinks[end]);
        }
    }
    assert!(matches!(sinks[1].down[..], [(_, Why::Undelivered { .. })]), "{:?}", sinks[1].down);
}

#[test]
fn each_stream_has_its_own_patience() {
    let tcp = TcpSettings { streams: 2, patience: Duration::from_millis(300), ..small() };
    let sim = Sim::begin(1, FAIR);
    let mut ends = world(2, &tcp);
    let header = Header { kind: FrameKind::Rts as u8, ..Header::default() };
    let body = || Body::Bytes((&b"x"[..]).into());
    assert!(ends[0].send(PeerId(1), &header, body()).is_ok());
    // The peer computes. Its host has answered on the first stream; the other is needed now.
    sim.pass(Duration::from_millis(301));
    let source = pattern(1, 50_000);
    let from = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), source.len() as u64);
    ends[0].send_bulk(PeerId(1), &Header { context: 7, ..header }, from, Token(1), None);
    let mut sink = Recorder::default();
    for _ in 0..100 {
        ends[0].poll(&mut sink);
    }
    assert!(sink.down.is_empty(), "{:?}", sink.down);
}

/// One poll as the port has it when the last look is long ago.
fn look(end: &mut Tcp, sink: &mut Recorder) {
    end.look_at_once();
    end.poll(sink);
}

/// Ranks that call `MPI_Test` between two work requests meet, whoever of them looks seldom.
#[test]
fn who_looks_seldom_reaches_others_and_is_reached() {
    const WORK: Duration = Duration::from_secs(12);
    for looks in [[60, 1], [1, 60], [1, 1]] {
        let sim = Sim::begin(1, FAIR);
        let (mut ends, mut sinks) = (world(2, &small()), [(); 2].map(|()| Recorder::default()));
        let header = Header { kind: FrameKind::Eager as u8, ..Header::default() };
        let body = Body::Bytes((&b"x"[..]).into());
        assert!(ends[0].send(PeerId(1), &header, body).is_ok());
        for turn in 0.. {
            assert!(turn < 10, "{looks:?}: they do not meet");
            for step in 0..60 {
                sim.pass(WORK / 60);
                for end in [0, 1].into_iter().filter(|end| step % (60 / looks[*end]) == 0) {
                    look(&mut ends[end], &mut sinks[end]);
                }
            }
            if !sinks[1].frames.is_empty() {
                break;
            }
        }
        assert!(sinks.iter().all(|sink| sink.down.is_empty()), "{:?}", sinks[0].down);
    }
}

/// Who has connected is listened to as often as a connection, also where it is the only one.
#[test]
fn a_guest_is_heard_as_soon_as_a_peer() {
    let sim = Sim::begin(1, FAIR);
    let (mut ends, mut sinks) = (world(2, &small()), [(); 2].map(|()| Recorder::default()));
    ends[0].approach(PeerId(1));
    while ends[1].guests.all.is_empty() {
        ends[1].poll(&mut sinks[1]);
    }
    for _ in 0..5000 {
        ends[1].poll(&mut sinks[1]);
    }
    sim.pass(FAIR.delay);
    look(&mut ends[0], &mut sinks[0]);
    sim.pass(FAIR.delay);
    for _ in 0..=64 {
        ends[1].poll(&mut sinks[1]);
    }
    assert!(ends[1].peers().is_connected(PeerId(0)));
}

/// Silent strangers keep descriptors for a while only if they are many, and then only some of them.
#[test]
fn a_crowd_of_silent_guests_is_not_kept() {
    let sim = Sim::begin(1, FAIR);
    let (mut ends, mut sink) = (world(1, &small()), Recorder::default());
    let at = SocketAddr::from(([127, 0, 0, 1], ends[0].card().port));
    let _crowd: Vec<Socket> = (0..150).map(|_| Socket::begin_connect(at).unwrap()).collect();
    sim.pass(Duration::from_secs(1));
    look(&mut ends[0], &mut sink);
    let count = ends[0].guests.all.len();
    assert!(count > 64, "too few: {count}");
    // One look after a long time does not count as listening for so long.
    sim.pass(Duration::from_secs(60));
    look(&mut ends[0], &mut sink);
    assert_eq!(ends[0].guests.all.len(), count);
    for _ in 0..100 {
        let wait = ends[0].put_off().unwrap_or(Duration::from_secs(60));
        sim.pass(wait);
        look(&mut ends[0], &mut sink);
    }
    assert_eq!((ends[0].guests.all.len(), ends[0].put_off()), (64, None));
}

/// As many as one source may have here, and some more.
fn a_crowd(at: SocketAddr) -> Vec<Socket> {
    let share = (Limits::of_this_process().descriptors / 4).min(1024) / 2;
    (0..share + 50).map(|_| Socket::begin_connect(at).unwrap()).collect()
}

/// Where a stranger comes from who is not where the ranks are.
const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9)), 1);

/// The time until a frame of rank 1 reaches rank 0, and nobody is given up.
fn meet(sim: &Sim, ends: Vec<Tcp>) -> Duration {
    let mut world = World::new(ends);
    let begin = sim.time();
    world.send(1, 0, &Header { kind: FrameKind::Eager as u8, ..Header::default() }, b"hello");
    world.run_until("they have met", |world| world.got(0).frames.len() == 1);
    assert!([0, 1].iter().all(|end| world.got(*end).down.is_empty()));
    sim.time() - begin
}

#[test]
fn a_crowd_from_one_source_has_its_share_of_the_descriptors_and_delays_nobody() {
    for source in [HOME, ELSEWHERE] {
        let sim = Sim::begin(1, FAIR);
        let (mut ends, mut sink) = (world(2, &small()), Recorder::default());
        sim.come_from(source);
        let crowd = a_crowd(SocketAddr::from(([127, 0, 0, 1], ends[0].card().port)));
        sim.come_from(HOME);
        sim.pass(FAIR.delay);
        look(&mut ends[0], &mut sink);
        assert_eq!(ends[0].guests.all.len(), crowd.len() - 50);
        let took = meet(&sim, ends);
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

/// Ranks come from the same address as a crowd, and compute: what they said is heard before they
/// have to go, and who could not say anything seeks again.
#[test]
fn a_crowd_costs_no_rank_its_way() {
    for has_said_who_it_is in [true, false] {
        let sim = Sim::begin(1, FAIR);
        let (mut ends, mut sinks) = (world(2, &small()), [(); 2].map(|()| Recorder::default()));
        ends[1].approach(PeerId(0));
        while ends[0].guests.all.is_empty() {
            sim.pass(FAIR.delay);
            look(&mut ends[0], &mut sinks[0]);
        }
        sim.pass(FAIR.delay);
        if has_said_who_it_is {
            look(&mut ends[1], &mut sinks[1]);
        }
        let _crowd = a_crowd(SocketAddr::from(([127, 0, 0, 1], ends[0].card().port)));
        sim.pass(FAIR.delay);
        look(&mut ends[0], &mut sinks[0]);
        assert_eq!(ends[0].peers().is_connected(PeerId(1)), has_said_who_it_is);
        let serials: Vec<u64> = ends[0].guests.all.iter().map(|guest| guest.serial).collect();
        assert!(!serials.contains(&0), "the rank came first, and is still there");
        let took = meet(&sim, ends);
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

/// A rank that computes is not sent away for the sake of a crowd from elsewhere.
#[test]
fn a_crowd_from_elsewhere_sends_no_rank_away() {
    let sim = Sim::begin(1, FAIR);
    let (mut ends, mut sinks) = (world(2, &small()), [(); 2].map(|()| Recorder::default()));
    ends[1].approach(PeerId(0));
    while ends[0].guests.all.is_empty() {
        sim.pass(FAIR.delay);
        look(&mut ends[0], &mut sinks[0]);
    }
    sim.come_from(ELSEWHERE);
    let crowd = a_crowd(SocketAddr::from(([127, 0, 0, 1], ends[0].card().port)));
    sim.pass(FAIR.delay);
    look(&mut ends[0], &mut sinks[0]);
    assert_eq!(ends[0].guests.all[0].serial, 0);
    meet(&sim, ends);
    assert_eq!(sim.connections(), crowd.len() + 1);
}

/// What a storm came to: its trace, connections that were made again, and those that ended because
/// something was changed.
struct Wreck {
    trace: u64,
    repairs: u64,
    altered: u64,
}

/// Frames both ways and a large message among three, in the worst weather.
fn storm(seed: u64) -> Wreck {
    let weather = Weather { lose: 0.01, cut: 0.02, alter: 0.005, buffer: 20_000, ..FAIR };
    let sim = Sim::begin(seed, weather);
    let security = if seed.is_multiple_of(2) { TcpSecurity::Tag } else { TcpSecurity::Encrypt };
    let mut world = World::new(world(
        3,
        &TcpSettings { streams: 2, fragment_bytes: 20_000, security, ..small() },
    ));
    let source = pattern(seed, 300_000);
    let mut target = vec![0; source.len()];
    let to = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), target.len() as u64);
    world.got(2).landings.push((7, to));
    let header = |context| Header { kind: FrameKind::Eager as u8, context, ..Header::default() };
    let from = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), source.len() as u64);
    world.send(0, 2, &header(1), b"first");
    world.transport(0).send_bulk(PeerId(2), &header(7), from, Token(1), None);
    for n in 0..40 {
        for (from, to) in [(0, 1), (1, 2), (2, 0), (2, 1)] {
            world.send(from, to, &header(100 + n), &pattern(n, 1 + n as usize * 300));
        }
    }
    world.run_until("all has come", |world| {
        let landed = !world.got(2).landed.is_empty() && !world.got(0).sent.is_empty();
        landed && world.got(1).frames.len() == 80 && world.got(2).frames.len() == 41
    });
    let in_order = |from: u32, end: usize, world: &mut World<Tcp>| {
        let of = world.got(end).frames.iter().filter(|frame| frame.peer == PeerId(from));
        let numbers: Vec<u64> = of.map(|frame| frame.header.context).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    };
    for (from, to) in [(0, 1), (1, 2), (2, 0), (2, 1), (0, 2)] {
        in_order(from, to, &mut world);
    }
    assert!(source == target, "the large message is damaged");
    for frame in &world.got(1).frames {
        let n = frame.header.context - 100;
        assert_eq!(frame.body, pattern(n, 1 + n as usize * 300), "a frame is damaged");
    }
    let counters = [0, 1, 2].map(|end| world.transport(end).counters());
    let (repairs, altered) = (
        counters.map(|one| one.repairs).iter().sum(),
        counters.map(|one| one.altered).iter().sum(),
    );
    Wreck { trace: sim.trace(), repairs, altered }
}

#[test]
fn storms_lose_and_double_nothing_and_a_seed_replays() {
    let (mut traces, mut repairs, mut altered) = (Vec::new(), 0, 0);
    for seed in seeds(20) {
        let wreck = storm(seed);
        traces.push(wreck.trace);
        repairs += wreck.repairs;
        altered += wreck.altered;
    }
    assert!(repairs > altered && altered > 0, "{repairs} repairs, {altered} for changed bytes");
    assert_eq!(storm(0).trace, traces[0], "a seed does not replay");
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len() as u64, seeds(20).end, "seeds do not differ");
}
