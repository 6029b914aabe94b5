//! TCP between processes that are mere values of one test.

use std::net::SocketAddr;

use mpi_core::port::{PeerId, ProcessName, Transport};

use super::{Tcp, TcpConfig, TcpSettings};
use crate::conformance::check;

pub(super) fn config(rank: u32, tcp: TcpSettings) -> TcpConfig {
    let (job, interfaces) = ("test".to_string(), String::new());
    TcpConfig { job, rank, secret: [3; 32], face: 0, interfaces, tcp }
}

/// A small window, so that a path is full before a test has sent too much.
pub(super) fn small() -> TcpSettings {
    TcpSettings { window_bytes: 128 << 10, eager_bytes: 32 << 10, ..TcpSettings::default() }
}

/// Transports that know each other's addresses.
pub(super) fn world(size: u32, tcp: &TcpSettings) -> Vec<Tcp> {
    let mut ends: Vec<Tcp> =
        (0..size).map(|rank| Tcp::new(config(rank, tcp.clone())).unwrap()).collect();
    let ports: Vec<u16> = ends.iter().map(|end| end.card().port).collect();
    for end in &mut ends {
        for (rank, port) in (0..size).zip(&ports) {
            end.add_peer(PeerId(rank), &ProcessName { job: "test".into(), rank });
            end.set_ways(PeerId(rank), vec![SocketAddr::from(([127, 0, 0, 1], *port))]);
        }
    }
    ends
}

#[test]
fn meets_all_requirements() {
    check(|| world(2, &small()));
}

#[test]
fn meets_all_requirements_with_several_streams_and_small_pieces() {
    let tcp = TcpSettings { streams: 3, piece_bytes: 4096, stripe_bytes: 100_000, ..small() };
    check(|| world(2, &tcp));
}

#[test]
fn meets_all_requirements_among_three() {
    check(|| world(3, &TcpSettings { streams: 2, ..small() }));
}
