//! The choice of ways, between processes that are mere values of one test.

use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{PeerId, ProcessName, Transport};

use super::{Choice, LocalPort, Wish};
use crate::conformance::{World, check};
use crate::shm::tests::{Board, config, small};
use crate::shm::{LocalConfig, ShmSettings};
use crate::tcp::{TcpConfig, TcpSettings};

fn tcp_config(rank: u32) -> TcpConfig {
    let tcp = TcpSettings { window_bytes: 128 << 10, ..TcpSettings::default() };
    let (job, interfaces) = ("test".to_string(), String::new());
    TcpConfig { job, rank, secret: [3; 32], face: 0, interfaces, route: None, one_host: false, tcp }
}

fn world(size: u32, choice: Choice) -> Vec<LocalPort> {
    let board = Board::default();
    let end = |rank| {
        let mut port =
            LocalPort::new(config(rank, size, small()), Box::new(board.clone())).unwrap();
        port.open_network(tcp_config(rank)).unwrap();
        port.set_choice(choice).unwrap();
        let card = port.card();
        assert!(card.len() <= 128, "{card}");
        board.post(rank, card);
        for other in 0..size {
            port.add_peer(PeerId(other), &ProcessName { job: "test".into(), rank: other });
        }
        port
    };
    (0..size).map(end).collect()
}

fn eager() -> Header {
    Header { kind: FrameKind::Eager as u8, context: 4, ..Header::default() }
}

/// Which way frames went from rank 0 to each of the others: shared memory, TCP.
fn ways(size: u32, choice: Choice) -> Vec<(bool, bool)> {
    let mut world = World::new(world(size, choice));
    for to in 1..size as usize {
        world.send(0, to, &eager(), b"x");
    }
    world.run_until("all have heard", |world| {
        (1..size as usize).all(|to| world.got(to).frames.len() == 1)
    });
    let port = world.transport(0);
    let way = |peer| {
        let by_tcp = port.tcp().is_some_and(|tcp| tcp.is_connected(peer));
        (port.shm().is_connected(peer), by_tcp)
    };
    (1..size).map(PeerId).map(way).collect()
}

const MEMORY: (bool, bool) = (true, false);
const TCP: (bool, bool) = (false, true);

#[test]
fn processes_of_one_host_share_memory_unless_told_otherwise() {
    assert_eq!(ways(2, Choice::default()), [MEMORY]);
    assert_eq!(ways(2, Choice { wish: Wish::Tcp, node_ranks: 0 }), [TCP]);
    assert_eq!(ways(4, Choice { wish: Wish::Auto, node_ranks: 2 }), [MEMORY, TCP, TCP]);
}

#[test]
fn a_mixed_world_meets_all_requirements() {
    check(|| world(4, Choice { wish: Wish::Auto, node_ranks: 2 }));
    check(|| world(2, Choice { wish: Wish::Tcp, node_ranks: 0 }));
}

#[test]
fn tcp_alone_needs_no_shared_memory() {
    let small = ShmSettings { alloc_bytes: 1 << 60, ..small() };
    let config = |alone| LocalConfig { alone, ..config(0, 2, small.clone()) };
    let open = |alone| LocalPort::new(config(alone), Box::new(Board::default()));
    assert!(open(false).is_err(), "no file is so long");
    let mut port = open(true).unwrap();
    assert!(port.shm().allocate(8, 8).is_none());
    port.open_network(tcp_config(0)).unwrap();
    port.set_choice(Choice { wish: Wish::Tcp, node_ranks: 0 }).unwrap();
    let refused = port.set_choice(Choice::default()).unwrap_err();
    assert!(refused.contains("possible: tcp"), "{refused}");
}

#[test]
fn an_impossible_wish_is_told_with_what_is_possible() {
    let mut alone = LocalPort::new(config(1, 2, small()), Box::new(Board::default())).unwrap();
    let refused = alone.set_choice(Choice { wish: Wish::Tcp, node_ranks: 0 }).unwrap_err();
    assert!(refused.contains("possible here: auto, shm"), "{refused}");
    let apart = Choice { wish: Wish::SharedMemory, node_ranks: 1 };
    let refused = alone.set_choice(apart).unwrap_err();
    assert!(refused.contains("possible: auto, tcp"), "{refused}");
}
