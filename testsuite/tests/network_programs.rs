//! Programs over each network, on loopback: alone, over TCP in several streams and small fragments, and together with
//! shared memory where one machine plays several nodes.
//!
//! All programs over one network, each as a test: `FERRITE_TRANSPORT=tcp cargo test -p testsuite --test programs`.

use std::path::Path;

use testsuite::networks;
use testsuite::programs::{self, Batch};

/// Programs that between them send every kind of frame: small and large, of types with gaps,
/// matched and not, cancelled, cut, from many at once, and up to the end.
const PROGRAMS: &[&str] = &[
    "alltoall",
    "besides",
    "buffered",
    "cancel",
    "cancelleft",
    "disconnect",
    "icollectives",
    "largecount",
    "many",
    "modes",
    "nonblocking",
    "ordering",
    "pingpong",
    "probe",
    "promptend",
    "quietend",
    "truncate",
    "vectors",
];

/// Programs that are about what processes of one node share, which there is none of over a network.
const WITHIN_A_NODE: &[&str] =
    &["dumps", "enormous", "fortran_windows", "hardware", "locked", "onesided", "windows"];

/// More ranks than this say nothing more about a transport.
const RANKS_MAX: u32 = 4;

fn run_all(folder: &str, settings: &[(&str, &str)]) {
    run_these(folder, PROGRAMS, settings);
}

fn run_these(folder: &str, names: &[&str], settings: &[(&str, &str)]) {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let mut batch = Batch::compile(&into, names).expect("programs that compile");
    batch.run(&format!("with {settings:?}"), &|| programs::with(settings), &|program| {
        program.ranks.iter().copied().filter(|ranks| (2..=RANKS_MAX).contains(ranks)).collect()
    });
    batch.verdict().unwrap();
}

#[test]
fn programs_run_over_each_network_alone() {
    for network in networks::all() {
        run_all(network, &[("FERRITE_TRANSPORT", network)]);
    }
}

#[test]
#[ignore = "takes minutes"]
fn all_programs_run_over_each_network() {
    let all = programs::listed().expect("the manifest");
    let names = all.iter().map(|program| program.name.as_str());
    let names: Vec<&str> = names.filter(|name| !WITHIN_A_NODE.contains(name)).collect();
    for network in networks::all() {
        run_these(&format!("{network}-all"), &names, &[("FERRITE_TRANSPORT", network)]);
    }
}

#[test]
fn programs_run_over_udp_in_short_datagrams_by_one_socket() {
    run_all(
        "udp-short",
        &[
            ("FERRITE_TRANSPORT", "udp"),
            ("FERRITE_UDP_SOCKETS", "1"),
            ("FERRITE_UDP_EAGER_BYTES", "1KiB"),
            ("FERRITE_UDP_DATAGRAM_BYTES", "700"),
            ("FERRITE_UDP_WINDOW_BYTES", "32KiB"),
            ("FERRITE_UDP_RECEIVE_BYTES", "64KiB"),
        ],
    );
}

#[test]
fn programs_run_over_several_streams_in_small_fragments() {
    run_all(
        "tcp-streams",
        &[
            ("FERRITE_TRANSPORT", "tcp"),
            ("FERRITE_TCP_STREAMS", "3"),
            ("FERRITE_TCP_EAGER_BYTES", "1KiB"),
            ("FERRITE_TCP_FRAGMENT_BYTES", "16KiB"),
            ("FERRITE_TCP_STRIPE_BYTES", "40KiB"),
            ("FERRITE_TCP_WINDOW_BYTES", "32KiB"),
        ],
    );
}

#[test]
fn programs_run_over_shared_memory_and_tcp_at_once() {
    run_all("tcp-mixed", &[("FERRITE_NODE_RANKS", "2")]);
}
