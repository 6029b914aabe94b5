//! UDP between processes that are mere values of one test.

use std::net::SocketAddr;

use mpi_core::port::{PeerId, ProcessName, Transport};

use super::{Udp, UdpConfig, UdpSettings};
use crate::conformance::check;

pub(super) fn config(rank: u32, udp: UdpSettings) -> UdpConfig {
    let (job, interfaces) = ("test".to_string(), String::new());
    UdpConfig { job, rank, secret: [3; 32], interfaces, route: None, one_host: true, udp }
}

/// A small window, so that a path is full before a test has sent too much.
pub(super) fn small() -> UdpSettings {
    UdpSettings { window_bytes: 128 << 10, eager_bytes: 32 << 10, ..UdpSettings::default() }
}

/// Transports that know each other's addresses.
pub(super) fn world(size: u32, udp: &UdpSettings) -> Vec<Udp> {
    let mut ends: Vec<Udp> =
        (0..size).map(|rank| Udp::new(config(rank, udp.clone())).unwrap()).collect();
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
fn meets_all_requirements_in_short_datagrams() {
    check(|| world(2, &UdpSettings { datagram_bytes: 1472, ..small() }));
}

#[test]
fn meets_all_requirements_among_three() {
    check(|| world(3, &UdpSettings { sockets: 1, ..small() }));
}
