//! The choice of ways, between processes that are mere values of one test.

use std::net::UdpSocket;
use std::time::Duration;

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, Full, PeerId, ProcessName, Token, Transport, Why};
use mpi_core::settings::Settings;

use super::net::Net;
use super::nets::Route;
use super::{Choice, Identity, LocalPort, Network, NetworkConfig, Preference};
use crate::cards::CARD_MAX;
use crate::conformance::{Recorder, World, check};
use crate::rdma::{Bulk, Unreached};
use crate::shm::tests::{CardDirectory, config, small};
use crate::shm::{LocalConfig, ShmSettings};
use crate::sys::wait::until_readable;

/// What every machine has.
const OF_THE_KERNEL: [Network; 2] = [Network::Tcp, Network::Udp];

fn network_config(network: Network, rank: u32) -> NetworkConfig {
    patient_config(network, rank, "10s")
}

/// The same, of networks that take who does not answer for so long for lost.
fn patient_config(network: Network, rank: u32, patience: &str) -> NetworkConfig {
    let mut settings = Settings::default();
    settings.set("tcp_patience", patience, "a test").unwrap();
    for (name, bytes) in [
        ("tcp_window_bytes", "128KiB"),
        ("udp_window_bytes", "128KiB"),
        ("udp_eager_bytes", "32KiB"),
    ] {
        settings.set(name, bytes, "a test").unwrap();
    }
    let (job, secret, face, route) = ("test".to_string(), [3; 32], 0, None);
    let identity = Identity { job, rank, secret, face, route, one_host: false };
    NetworkConfig::new(network, &identity, &settings)
}

/// Rank `rank` of a world, with these networks open, whose cards stand in the directory.
fn end((rank, size): (u32, u32), networks: &[Network], directory: &CardDirectory) -> LocalPort {
    let mut port =
        LocalPort::new(config(rank, size, small()), Box::new(directory.clone())).unwrap();
    for network in networks {
        port.open_network(network_config(*network, rank)).unwrap();
    }
    for (kind, card) in port.cards() {
        assert!(card.len() <= CARD_MAX, "{card}");
        directory.post_as(kind, rank, card);
    }
    for other in 0..size {
        port.add_peer(PeerId(other), &ProcessName { job: "test".into(), rank: other });
    }
    port
}

fn world(size: u32, choice: Choice) -> Vec<LocalPort> {
    let directory = CardDirectory::default();
    let mut ends: Vec<_> =
        (0..size).map(|rank| end((rank, size), &OF_THE_KERNEL, &directory)).collect();
    ends.iter_mut().for_each(|port| port.set_choice(choice).unwrap());
    ends
}

fn eager() -> Header {
    Header { kind: FrameKind::Eager as u8, context: 4, ..Header::default() }
}

/// Which way frames went from rank 0 to each of the others: shared memory, TCP.
fn routes(size: u32, choice: Choice) -> Vec<(bool, bool)> {
    let mut world = World::new(world(size, choice));
    for to in 1..size as usize {
        world.send(0, to, &eager(), b"x");
    }
    world.run_until("all have heard", |world| {
        (1..size as usize).all(|to| world.got(to).frames.len() == 1)
    });
    let port = world.transport(0);
    let route = |peer| {
        let by_tcp = port.tcp().is_some_and(|tcp| tcp.peers().is_connected(peer));
        (port.shm().is_connected(peer), by_tcp)
    };
    (1..size).map(PeerId).map(route).collect()
}

const MEMORY: (bool, bool) = (true, false);
const TCP: (bool, bool) = (false, true);

#[test]
fn processes_of_one_host_share_memory_unless_told_otherwise() {
    assert_eq!(routes(2, Choice::default()), [MEMORY]);
    assert_eq!(
        routes(2, Choice { preference: Preference::Network(Network::Tcp), node_ranks: 0 }),
        [TCP]
    );
    assert_eq!(
        routes(4, Choice { preference: Preference::Auto, node_ranks: 2 }),
        [MEMORY, TCP, TCP]
    );
}

#[test]
fn a_mixed_world_meets_all_requirements() {
    check(|| world(4, Choice { preference: Preference::Auto, node_ranks: 2 }));
}

#[test]
fn each_network_alone_meets_all_requirements() {
    for network in OF_THE_KERNEL {
        println!("{}", network.name());
        check(|| world(2, Choice { preference: Preference::Network(network), node_ranks: 0 }));
    }
}

/// Whether news of a network would end a sleep of this end within so long.
fn is_woken(end: &mut LocalPort, within: Duration) -> bool {
    let nets = end.nets.as_mut().expect("networks are open");
    let news = nets.before_sleep().expect("a set").news;
    until_readable([Some(news)], within).unwrap()
}

#[test]
fn who_sleeps_with_several_networks_open_is_woken_by_each() {
    for network in OF_THE_KERNEL {
        let mut world = World::new(world(
            2,
            Choice { preference: Preference::Network(network), node_ranks: 0 },
        ));
        world.send(0, 1, &eager(), b"first");
        world.run_until("the first is there", |world| !world.got(1).frames.is_empty());
        world.run_until("it is quiet", |world| {
            world.transport(0).is_flushed() && !is_woken(world.transport(1), Duration::ZERO)
        });
        // Only the sender looks.
        let mut sender = Recorder::default();
        let body = Body::Bytes(RawBytes::from(&b"second"[..]));
        world.transport(0).send(PeerId(1), &eager(), body).unwrap();
        world.transport(0).poll(&mut sender);
        let woken = is_woken(world.transport(1), Duration::from_secs(5));
        assert!(woken, "{} wakes nobody", network.name());
    }
}

/// Both ends hear at an address at which nobody is.
#[test]
fn datagrams_that_get_nowhere_go_through_tcp() {
    let directory = CardDirectory::default();
    let mut ends = [0, 1].map(|rank| end((rank, 2), &[], &directory));
    for (rank, port) in (0..).zip(&mut ends) {
        for network in OF_THE_KERNEL {
            port.open_network(patient_config(network, rank, "1s")).unwrap();
        }
        port.cards().into_iter().for_each(|(kind, card)| directory.post_as(kind, rank, card));
        for other in 0..2 {
            port.add_peer(PeerId(other), &ProcessName { job: "test".into(), rank: other });
        }
        port.set_choice(Choice { preference: Preference::Network(Network::Udp), node_ranks: 0 })
            .unwrap();
    }
    let mut world = World::new(ends.into());
    let to_and_fro = |world: &mut World<LocalPort>, count| {
        for (from, to) in [(0, 1), (1, 0)] {
            world.send(from, to, &eager(), b"x");
        }
        world.run_until("both have heard", |world| {
            // The tunnel comes after a time, and a wait ends after so many looks, however fast they are.
            std::thread::sleep(Duration::from_micros(50));
            [0, 1].iter().all(|to| world.got(*to).frames.len() == count)
        });
    };
    to_and_fro(&mut world, 1);
    assert!(!world.transport(0).tcp().unwrap().peers().is_connected(PeerId(1)));
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
    for one in 0..2 {
        let nets = world.transport(one).nets.as_mut().unwrap();
        let Some(Net::Udp(udp)) = nets.get_mut(Network::Udp) else { panic!("it is open") };
        udp.set_routes(PeerId(1 - one as u32), vec![nobody.local_addr().unwrap()]);
    }
    to_and_fro(&mut world, 2);
    assert!(world.transport(0).tcp().unwrap().peers().is_connected(PeerId(1)));
}

#[test]
fn who_shares_no_network_is_lost_and_hears_what_each_has() {
    let directory = CardDirectory::default();
    let apart = Choice { preference: Preference::Auto, node_ranks: 1 };
    let mut ends = [(0, &OF_THE_KERNEL[..]), (1, &[])]
        .map(|(rank, networks)| end((rank, 2), networks, &directory));
    ends.iter_mut().for_each(|port| port.set_choice(apart).unwrap());
    let mut sink = Recorder::default();
    let body = Body::Bytes(RawBytes::from(&b"x"[..]));
    let _ = ends[0].send(PeerId(1), &eager(), body);
    ends[0].poll(&mut sink);
    let [(PeerId(1), Why::Lost(how))] = &sink.down[..] else { panic!("{:?}", sink.down) };
    assert!(how.contains("it has opened none, this process TCP, UDP"), "{how}");
}

/// As in a job of which some ranks have not joined yet.
#[test]
fn who_has_not_joined_yet_is_waited_for() {
    let directory = CardDirectory::default();
    let far = Choice { preference: Preference::Network(Network::Tcp), node_ranks: 0 };
    let mut early = end((0, 2), &OF_THE_KERNEL, &directory);
    early.set_choice(far).unwrap();
    let mut world = World::new(vec![early]);
    let body = || Body::Bytes(RawBytes::from(&b"x"[..]));
    assert_eq!(world.transport(0).send(PeerId(1), &eager(), body()), Err(Full));
    let mut late = end((1, 2), &OF_THE_KERNEL, &directory);
    late.set_choice(far).unwrap();
    assert_eq!(world.transport(0).send(PeerId(1), &eager(), body()), Ok(()));
    assert!(late.tcp().is_some());
}

#[test]
fn tcp_alone_needs_no_shared_memory() {
    let small = ShmSettings { alloc_bytes: 1 << 60, ..small() };
    let config = |alone| LocalConfig { alone, ..config(0, 2, small.clone()) };
    let open = |alone| LocalPort::new(config(alone), Box::new(CardDirectory::default()));
    assert!(open(false).is_err(), "no file is so long");
    let mut port = open(true).unwrap();
    assert!(port.allocate(8, 8).is_none());
    port.open_network(network_config(Network::Tcp, 0)).unwrap();
    port.set_choice(Choice { preference: Preference::Network(Network::Tcp), node_ranks: 0 })
        .unwrap();
    let refused = port.set_choice(Choice::default()).unwrap_err();
    assert!(refused.contains("possible: rc, ofi, tcp, udp, uc, ud"), "{refused}");
}

#[test]
fn an_impossible_preference_is_told_with_what_is_possible() {
    let mut alone =
        LocalPort::new(config(1, 2, small()), Box::new(CardDirectory::default())).unwrap();
    let refused = alone
        .set_choice(Choice { preference: Preference::Network(Network::Tcp), node_ranks: 0 })
        .unwrap_err();
    assert!(refused.contains("possible here: auto, shm"), "{refused}");
    let apart = Choice { preference: Preference::SharedMemory, node_ranks: 1 };
    let refused = alone.set_choice(apart).unwrap_err();
    assert!(refused.contains("possible: auto, rc, ofi, tcp, udp, uc, ud"), "{refused}");
}

/// Two ranks that take themselves for different nodes; the card of the second for a network cannot be read.
fn apart_with_a_wrong_card(network: Network) -> Vec<LocalPort> {
    let directory = CardDirectory::default();
    let mut ends: Vec<_> = (0..2).map(|rank| end((rank, 2), &OF_THE_KERNEL, &directory)).collect();
    directory.post_as(network.word(), 1, "no card".to_owned());
    let apart = Choice { preference: Preference::Auto, node_ranks: 1 };
    ends.iter_mut().for_each(|port| port.set_choice(apart).unwrap());
    ends
}

/// Each end goes its own way, and what it sends keeps its order there.
#[test]
fn where_the_best_network_leads_nowhere_the_next_one_is_taken() {
    let mut world = World::new(apart_with_a_wrong_card(Network::Tcp));
    for number in 0..200u64 {
        for (from, to) in [(0, 1), (1, 0)] {
            world.send(from, to, &eager(), &number.to_le_bytes());
        }
    }
    for to in 0..2 {
        world.run_until("all have come", |world| world.got(to).frames.len() == 200);
        let numbers = world.got(to).frames.iter().map(|frame| frame.body.clone());
        assert!(numbers.eq((0..200u64).map(|number| number.to_le_bytes().to_vec())));
        assert!(world.got(to).down.is_empty());
    }
    let told = [0, 1].map(|rank| world.transport(rank).tell_routes().unwrap());
    assert!(
        told[0].contains("1 by UDP") && told[0].contains("its TCP card cannot be read"),
        "{}",
        told[0]
    );
    assert!(told[1].contains("1 by TCP"), "{}", told[1]);
}

#[test]
fn what_was_handed_over_for_a_network_that_does_not_lead_there_goes_by_the_next() {
    let mut ends = world(2, Choice { preference: Preference::Auto, node_ranks: 1 });
    assert_eq!(ends[0].route_to(PeerId(1)), Ok(Route::Network(Network::Tcp)));
    let (mut source, mut target) = (vec![5u8; 300_000], vec![0u8; 300_000]);
    let header = Header { kind: FrameKind::Data as u8, context: 9, ..Header::default() };
    let packer = Packer::contiguous(UserBuffer(source.as_mut_ptr()), source.len() as u64);
    let bulk = vec![Bulk { header, source: packer, token: Token(3) }];
    let how = "a test".to_owned();
    assert_eq!(ends[0].routes_left(PeerId(1)), 2);
    ends[0].fall(Network::Tcp, Unreached { peer: PeerId(1), how, bulk });
    assert_eq!(ends[0].routes_left(PeerId(1)), 1);
    assert_eq!(ends[0].route_to(PeerId(1)), Ok(Route::Network(Network::Udp)));
    let mut world = World::new(ends);
    let room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), target.len() as u64);
    world.got(1).landings.push((9, room));
    world.run_until("it has landed", |world| !world.got(1).landed.is_empty());
    world.run_until("it is told", |world| !world.got(0).sent.is_empty());
    assert!(
        target == source
            && world
                .transport(0)
                .tell_routes()
                .unwrap()
                .contains("cannot reach rank 1 by TCP: a test")
    );
    // None is left, and the peer is not asked for another time.
    let port = world.transport(0);
    port.fall(Network::Udp, Unreached { peer: PeerId(1), how: "no".to_owned(), bulk: Vec::new() });
    assert_eq!(port.routes_left(PeerId(1)), 0);
}
