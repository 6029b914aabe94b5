//! The conformance sets of fabrics and of transports over the providers that work on one machine, with each
//! libfabric that is here: Debian's, and those that other MPI libraries bring along (`cargo xtask peers`).

use std::path::{Path, PathBuf};

use super::*;
use crate::conformance::{self, Recorder};
use crate::rdma::fabric_set::{self, JOB, SECRET};
use crate::rdma::{Rdma, RdmaConfig, RdmaSettings};
use mpi_core::header::Header;
use mpi_core::port::{Body, Transport};

fn libraries() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    let peers = ["mpich/lib/mpich/libfabric.so.1"].map(|name| root.join(name));
    let system = PathBuf::from("/usr/lib/x86_64-linux-gnu/libfabric.so.1");
    [system].into_iter().chain(peers).filter(|path| path.exists()).collect()
}

fn settings(library: &Path, provider: &str, domain: &str) -> OfiSettings {
    OfiSettings {
        library: library.display().to_string(),
        provider: provider.to_owned(),
        domain: domain.to_owned(),
        only_fabrics: false,
        patience: Duration::from_millis(300),
    }
}

fn end(settings: &OfiSettings, rank: u32) -> Result<Ofi, String> {
    let settings = settings.clone();
    Ofi::open(OfiConfig { job: JOB.to_owned(), rank, secret: SECRET, settings })
}

impl Ofi {
    /// As it is where a provider carries 4 bytes with a message and none with a write.
    fn narrow(mut self) -> Ofi {
        self.card.tongue.data_bytes = 4;
        self.writes_tell = false;
        self.set_secret(self.config.secret);
        self
    }
}

/// Calls `check` with what makes ends, for each library that has this provider.
fn with_each(provider: &str, domain: &str, check: impl Fn(&dyn Fn(u32) -> Ofi)) {
    let libraries = libraries();
    if libraries.is_empty() {
        println!("skipped: there is no libfabric here (package libfabric1)");
    }
    for library in libraries {
        let settings = settings(&library, provider, domain);
        match end(&settings, 0) {
            Ok(end) => println!("{}: {:?}", end.tell(), end.abilities()),
            Err(why) => {
                println!("skipped: {why}");
                continue;
            }
        }
        check(&|rank| end(&settings, rank).unwrap());
    }
}

fn holds(make: impl Fn(u32) -> Ofi) {
    fabric_set::holds(|number| (0..number as u32).map(&make).collect());
}

#[test]
fn tcp_is_a_fabric() {
    with_each("tcp", "lo", |make| holds(make));
}

#[test]
fn tcp_is_a_fabric_where_messages_tell_the_values_of_writes() {
    with_each("tcp", "lo", |make| holds(|rank| make(rank).narrow()));
}

/// Its version of 1.17 has a descriptor that stays readable for ever.
#[test]
fn who_sleeps_over_net_is_woken_by_news_alone() {
    let ends = |make: &dyn Fn(u32) -> Ofi| (0..2).map(make).collect();
    with_each("net", "lo", |make| fabric_set::sleeps(ends(make)));
}

fn transports(number: u32, make: &dyn Fn(u32) -> Ofi) -> Vec<Rdma<Ofi>> {
    let ends: Vec<Ofi> = (0..number).map(make).collect();
    let cards: Vec<String> = ends.iter().map(Fabric::card).collect();
    let transport = |(rank, end)| {
        let config = RdmaConfig { job: JOB.to_owned(), rank, settings: RdmaSettings::default() };
        let mut transport = Rdma::new(config, end).unwrap();
        for (other, card) in (0..).zip(&cards) {
            transport.add_peer(PeerId(other), &ProcessName { job: JOB.to_owned(), rank: other });
            if other != rank {
                transport.meet(PeerId(other), card, false).unwrap();
            }
        }
        transport
    };
    (0..).zip(ends).map(transport).collect()
}

#[test]
fn messages_over_tcp_meet_all_requirements() {
    with_each("tcp", "lo", |make| conformance::check(|| transports(2, make)));
}

/// ofi_rxm's receiver fetches messages of more than 16 KiB, and tells those behind them first.
#[test]
fn messages_over_tcp_come_in_order_although_long_ones_are_told_late() {
    with_each("tcp", "lo", |make| {
        conformance::check(|| {
            let mut both = transports(2, make);
            let settings = RdmaSettings { eager_bytes: 64 << 10, ..RdmaSettings::default() };
            both.iter_mut().for_each(|one| one.set_settings(settings.clone()).unwrap());
            both
        });
    });
}

/// As a fabric it is none: it does not look at keys, does not hear of a peer's end, and its version 1.17 never ends a
/// write of no bytes that carries a value.
#[test]
fn messages_over_shm_meet_all_requirements() {
    with_each("shm", "", |make| conformance::check(|| transports(2, make)));
}

/// As a fabric it is none: messages of no bytes come in the place of others, and wrong keys are never answered.
#[test]
fn messages_over_rxd_meet_all_requirements() {
    with_each("udp;ofi_rxd", "lo", |make| conformance::check(|| transports(2, make)));
}

/// Nothing becomes readable when its time has come to send something again.
#[test]
fn who_sleeps_over_rxd_wakes_while_something_is_on_its_way() {
    with_each("udp;ofi_rxd", "lo", |make| {
        let mut both = transports(2, make);
        let mut got = [Recorder::default(), Recorder::default()];
        let hello = || Body::Bytes((&b"hello"[..]).into());
        let begun = Instant::now();
        let mut turn = |both: &mut Vec<Rdma<Ofi>>| {
            both.iter_mut().zip(&mut got).for_each(|(end, got)| {
                end.poll(got);
            });
            assert!(begun.elapsed() < Duration::from_secs(30), "it goes on for ever");
        };
        while both[0].send(PeerId(1), &Header::default(), hello()).is_err() {
            turn(&mut both);
        }
        assert!(both[0].fabric().put_off().is_some());
        while both.iter().any(|end| end.fabric().put_off().is_some()) {
            turn(&mut both);
        }
    });
}

/// The library of Omni-Path, which Debian's libfabric is linked with, catches signals as soon as it is loaded.
#[test]
fn signals_that_end_programs_go_on_to_end_them() {
    for library in libraries() {
        let _end = end(&settings(&library, "tcp", "lo"), 0);
        for signal in [libc::SIGTERM, libc::SIGABRT, libc::SIGILL] {
            assert!(crate::sys::signals::tests::is_default(signal), "signal {signal}");
        }
    }
}

#[test]
fn a_library_that_is_not_there_is_named_in_a_sentence() {
    let why = end(&settings(Path::new("/nowhere/libfabric.so.1"), "", ""), 0).err().unwrap();
    assert!(
        why.contains("/nowhere/libfabric.so.1") && why.contains("FERRITE_OFI_LIBRARY"),
        "{why}"
    );
    let why = end(&settings(Path::new("libc.so.6"), "", ""), 0).err().unwrap();
    assert!(why.contains("is no libfabric"), "{why}");
}

#[test]
fn a_provider_that_is_not_there_is_named_beside_those_that_are() {
    for library in libraries() {
        let why = end(&settings(&library, "cxi", ""), 0).err().unwrap();
        assert!(why.contains("no provider cxi") && why.contains("tcp"), "{why}");
    }
}
