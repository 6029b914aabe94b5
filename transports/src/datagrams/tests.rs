//! UDP between processes that are mere values of one test.

use std::net::SocketAddr;

use mpi_core::buffer::RawBytes;
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, PeerId, ProcessName, Transport, Why};

use super::Counters;
use crate::conformance::{Recorder, World, check, pattern};
use crate::sys::inet::Run;
use crate::tcp::Card;
use crate::udp::{Socket, Udp, UdpConfig, UdpSettings};

pub(crate) fn config(rank: u32, udp: UdpSettings) -> UdpConfig {
    let (job, interfaces) = ("test".to_string(), String::new());
    UdpConfig { job, rank, secret: [3; 32], interfaces, route: None, one_host: true, udp }
}

/// A small window, so that a path is full before a test has sent too much.
pub(crate) fn small() -> UdpSettings {
    UdpSettings { window_bytes: 128 << 10, eager_bytes: 32 << 10, ..UdpSettings::default() }
}

/// The port at which a transport hears.
pub(crate) fn port(of: &Udp) -> u16 {
    Card::from_text(&of.card()).unwrap().port
}

/// Transports that know each other's names.
fn names(size: u32, udp: &UdpSettings) -> Vec<Udp> {
    let mut ends: Vec<Udp> =
        (0..size).map(|rank| Udp::new(config(rank, udp.clone())).unwrap()).collect();
    for end in &mut ends {
        for rank in 0..size {
            end.add_peer(PeerId(rank), &ProcessName { job: "test".into(), rank });
        }
    }
    ends
}

/// Transports that know each other's addresses.
pub(crate) fn world(size: u32, udp: &UdpSettings) -> Vec<Udp> {
    let mut ends = names(size, udp);
    let ports: Vec<u16> = ends.iter().map(port).collect();
    for end in &mut ends {
        for (rank, port) in (0..size).zip(&ports) {
            end.set_routes(PeerId(rank), vec![SocketAddr::from(([127, 0, 0, 1], *port))]);
        }
    }
    ends
}

#[test]
fn meets_all_requirements() {
    check(|| world(2, &small()));
}

#[test]
fn meets_all_requirements_in_short_datagrams() {
    check(|| world(2, &UdpSettings { datagram_bytes: 1472, ..small() }));
}

#[test]
fn meets_all_requirements_among_three() {
    check(|| world(3, &UdpSettings { sockets: 1, ..small() }));
}

fn eager(n: u64) -> Header {
    Header { kind: FrameKind::Eager as u8, context: n, ..Header::default() }
}

/// What a socket has received: datagrams as they came.
fn caught(socket: &Socket) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 1 << 16];
    let mut all = Vec::new();
    while let Some((len, _)) = socket.receive(&mut buffer).unwrap() {
        all.push(buffer[..len].to_vec());
    }
    all
}

fn here(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn throw(from: &Socket, to: u16, bytes: &[u8]) {
    // SAFETY: a slice.
    assert!(unsafe { from.send(here(to), &[Run::new(bytes.as_ptr(), bytes.len())], 0) }.unwrap());
}

/// A world of two in which a third party hears what rank 0 says to rank 1 and may throw it again.
struct Overheard {
    world: World<Udp>,
    tap: Socket,
    port: u16,
}

impl Overheard {
    fn new() -> Overheard {
        let mut ends = names(2, &small());
        let tap = Socket::on(here(0)).unwrap();
        let port = port(&ends[1]);
        ends[0].set_routes(PeerId(1), vec![here(tap.port().unwrap())]);
        Overheard { world: World::new(ends), tap, port }
    }

    fn counters(&mut self) -> Counters {
        self.world.transport(1).counters()
    }
}

#[test]
fn a_message_is_one_datagram_and_nobody_shakes_hands() {
    let mut ends = names(2, &small());
    let port = port(&ends[1]);
    ends[0].set_routes(PeerId(1), vec![here(port)]);
    let mut world = World::new(ends);
    world.send(0, 1, &eager(1), b"hello");
    assert_eq!((world.transport(0).counters().sent, world.transport(1).counters().peers), (1, 0));
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    let counters = world.transport(1).counters();
    assert_eq!((counters.received, counters.peers, counters.refused), (1, 1, 0));
}

#[test]
fn nothing_is_kept_for_who_has_no_right_tag() {
    let mut here = Overheard::new();
    here.world.send(0, 1, &eager(1), b"hello");
    let [datagram] = &caught(&here.tap)[..] else { panic!("one datagram") };
    let received = |world: &mut World<Udp>| world.transport(1).counters().received;
    for bit in 0..datagram.len() * 8 {
        let mut changed = datagram.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let before = received(&mut here.world);
        throw(&here.tap, here.port, &changed);
        // Where the length was changed it is taken for several.
        here.world.run_until("it was looked at", |world| received(world) > before);
    }
    for len in 0..datagram.len() {
        let before = received(&mut here.world);
        throw(&here.tap, here.port, &datagram[..len]);
        here.world.run_until("it was looked at", |world| received(world) > before);
    }
    let counters = here.counters();
    assert_eq!((counters.refused, counters.peers), (counters.received, 0));
    assert!(here.world.got(1).frames.is_empty());
}

#[test]
fn what_comes_again_is_counted_and_changes_nothing() {
    let mut here = Overheard::new();
    for n in 0..20 {
        here.world.send(0, 1, &eager(n), b"hello");
    }
    let all = caught(&here.tap);
    for _ in 0..3 {
        all.iter().rev().for_each(|datagram| throw(&here.tap, here.port, datagram));
    }
    let expected = 3 * all.len() as u64;
    here.world
        .run_until("all have come", |world| world.transport(1).counters().received == expected);
    let counters = here.counters();
    assert_eq!((counters.repeated, counters.refused), (2 * all.len() as u64, 0));
    let contexts = here.world.got(1).frames.iter().map(|frame| frame.header.context);
    assert!(contexts.eq(0..20));
}

#[test]
fn ranks_of_other_jobs_and_secrets_are_strangers() {
    for (job, secret) in [("other", [3; 32]), ("test", [4; 32])] {
        let mut ends = names(2, &small());
        let mut stranger =
            Udp::new(UdpConfig { job: job.into(), secret, ..config(0, small()) }).unwrap();
        stranger.add_peer(PeerId(1), &ProcessName { job: job.into(), rank: 1 });
        stranger.set_routes(PeerId(1), vec![here(port(&ends[1]))]);
        let body = Body::Bytes(RawBytes::from(&b"evil"[..]));
        stranger.send(PeerId(1), &eager(1), body).unwrap();
        ends[0] = stranger;
        let mut world = World::new(ends);
        world.run_until("it was looked at", |world| world.transport(1).counters().received > 0);
        let counters = world.transport(1).counters();
        assert!(counters.refused == counters.received && counters.peers == 0);
        assert!(world.got(1).frames.is_empty());
    }
}

/// The first word comes from a peer whose address this process has not looked up.
#[test]
fn who_was_not_met_is_sought_when_it_is_to_be_answered() {
    let ends = names(2, &small());
    let ports = [0, 1].map(|end| port(&ends[end]));
    let mut world = World::new(ends);
    world.send(0, 1, &eager(1), b"hello");
    assert_eq!(world.transport(0).sought_blindly(), Some(PeerId(1)));
    assert_eq!(world.transport(0).counters().sent, 0);
    world.transport(0).set_routes(PeerId(1), vec![here(ports[1])]);
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    assert_eq!(world.transport(1).sought_blindly(), Some(PeerId(0)));
    world.transport(1).set_routes(PeerId(0), vec![here(ports[0])]);
    world.run_until("that is known", |world| world.transport(0).is_flushed());
}

/// The kernel says at once that there is no way by the first address: the next is taken.
#[test]
fn an_address_to_which_no_route_leads_is_passed_over() {
    let mut ends = names(2, &small());
    let there = here(port(&ends[1]));
    // Who hears at the loopback alone has no way to an address of another host.
    let nowhere = SocketAddr::from(([192, 0, 2, 1], 9));
    ends[0].set_routes(PeerId(1), vec![nowhere, there]);
    let back = here(port(&ends[0]));
    ends[1].set_routes(PeerId(0), vec![back]);
    let mut world = World::new(ends);
    world.send(0, 1, &eager(1), &pattern(1, 3000));
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    world.run_until("that is known", |world| world.transport(0).is_flushed());
    assert!(world.transport(0).counters().moves > 0);
}

/// TCP finds no way to a peer whose datagrams come: behind a firewall, for instance.
#[test]
fn whom_another_network_gives_up_is_kept_if_it_was_heard_lately() {
    let mut world = World::new(world(2, &small()));
    world.send(0, 1, &eager(1), b"hello");
    world.run_until("that is known", |world| world.transport(0).is_flushed());
    let udp = world.transport(0);
    assert_eq!(udp.part(PeerId(1), Why::Lost("no route".into())), None);
    assert_eq!(udp.spared(), [PeerId(1)]);
    world.send(0, 1, &eager(2), b"again");
    world.run_until("it has come", |world| world.got(1).frames.len() == 2);
    // Who has left there has left.
    let udp = world.transport(0);
    assert_eq!(udp.part(PeerId(1), Why::Finalized), Some(Why::Finalized));
    assert_eq!(udp.part(PeerId(1), Why::Finalized), None, "told twice");
}

/// A sentence says by which network a peer was to be reached, and what the other one has found.
#[test]
fn who_is_lost_to_both_networks_is_told_of_by_both_names() {
    let mut ends = names(2, &small());
    ends[0].set_routes(PeerId(1), vec![here(9)]);
    let body = Body::Bytes(RawBytes::from(&b"hello"[..]));
    ends[0].send(PeerId(1), &eager(1), body).unwrap();
    let told = ends[0].part(PeerId(1), Why::Lost("no route by TCP".into()));
    let Some(Why::Undelivered { how, .. }) = told else { panic!("{told:?}") };
    let expected =
        "rank 0 cannot reach rank 1 by UDP: nothing has come from it; and no route by TCP";
    assert_eq!(how, expected);
}

/// Both networks say in one poll that a peer has left.
#[test]
fn who_has_left_by_both_networks_at_once_is_told_to_have_left() {
    let mut ends = world(2, &small());
    let body = Body::Bytes(RawBytes::from(&b"hello"[..]));
    ends[0].send(PeerId(1), &eager(1), body).unwrap();
    let mut sinks = [Recorder::default(), Recorder::default()];
    while !ends[0].is_flushed() {
        ends.iter_mut().zip(&mut sinks).for_each(|(end, sink)| {
            end.poll(sink);
        });
    }
    ends[0].leave();
    ends[1].read(&mut sinks[1]);
    assert_eq!(ends[1].part(PeerId(0), Why::Finalized), None);
    ends[1].poll(&mut sinks[1]);
    assert_eq!(sinks[1].down, [(PeerId(0), Why::Finalized)]);
}
