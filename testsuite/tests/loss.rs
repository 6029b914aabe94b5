//! Two hosts between which one packet in twenty is lost, each way: the data that comes is right, the job ends
//! well, and nobody hears of it.
//!
//! Where namespaces or firewalls cannot be made the tests are counted as skipped.

use std::path::Path;
use std::process::Command;

use testsuite::hosts::{Hosts, LAUNCHER};
use testsuite::networks::NETWORKS;
use testsuite::peers;
use testsuite::prefix::{Prefix, clean};
use testsuite::programs;
use testsuite::traffic;

/// Of so many packets one is lost.
const ONE_IN: u32 = 20;

/// Programs that between them use every way of a message and the collectives of both kinds, on two ranks.
const PROGRAMS: [&str; 5] =
    ["alltoall", "communicators", "icollectives", "nonblocking", "ordering"];

/// Two hosts that lose packets, or none where that is impossible.
fn lossy(test: &str) -> Option<Hosts> {
    let hosts = Hosts::make(test, 2, 1).expect("hosts")?;
    if !hosts.can_filter(test).expect("a note") {
        return None;
    }
    for (from, to) in [(0, 1), (1, 0)] {
        hosts.lose(from, to, 0, ONE_IN).expect("a rule");
    }
    Some(hosts)
}

/// mpirun of a rank on each host.
fn mpirun(hosts: &Hosts, prefix: &Prefix, transport: &str) -> Command {
    let mut command = clean(Path::new("timeout"));
    command.args(["--kill-after=5", "60"]).arg(prefix.bin("mpirun"));
    command.args(["--launcher", LAUNCHER, "-H", &hosts.list(1), "-n", "2"]);
    command.env("FERRITE_TRANSPORT", transport);
    command
}

/// What a command says that ends well and has nothing to complain of.
fn said(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    let [out, errors] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success() && errors.is_empty(), "{command:?}: {errors}{out}");
    out
}

#[test]
fn random_traffic_comes_right_though_packets_are_lost() {
    let test = "random_traffic_comes_right_though_packets_are_lost";
    let Some(hosts) = lossy(test) else { return };
    let prefix = Prefix::find().expect("a prefix");
    let folder = tempfile::tempdir().expect("a folder");
    let program = traffic::compile(&prefix, folder.path()).expect("a program");
    for transport in NETWORKS {
        let mut command = mpirun(&hosts, &prefix, transport);
        let out = said(command.arg(&program).args(["--seed", "1", "--seconds", "2"]));
        assert!(out.starts_with("ok: "), "{transport}: {out}");
    }
    for host in 0..2 {
        assert!(hosts.lost(host).expect("a count") > 0, "host {host} has lost nothing");
    }
}

#[test]
fn programs_run_though_packets_are_lost() {
    let Some(hosts) = lossy("programs_run_though_packets_are_lost") else { return };
    let prefix = Prefix::find().expect("a prefix");
    let folder = tempfile::tempdir().expect("a folder");
    for program in programs::chosen(&PROGRAMS).expect("programs of the manifest") {
        let executable = program.compile(&prefix, folder.path()).expect("it compiles");
        for transport in NETWORKS {
            let out = said(mpirun(&hosts, &prefix, transport).arg(&executable));
            assert_eq!(out, "ok\n", "{} over {transport}", program.name);
        }
    }
}

#[test]
fn benchmarks_run_though_packets_are_lost() {
    let Some(hosts) = lossy("benchmarks_run_though_packets_are_lost") else { return };
    let prefix = Prefix::find().expect("a prefix");
    let program = peers::environment("impi").expect("the peer").join("bin/IMB-MPI1");
    for transport in NETWORKS {
        let mut command = mpirun(&hosts, &prefix, transport);
        command.arg(&program).args(["-iter", "5", "-iter_policy", "off", "-npmin", "2"]);
        command.args(["-msglog", "12:16", "PingPong", "Exchange", "Allreduce", "Barrier"]);
        let out = said(&mut command);
        assert!(out.contains("# Benchmarking Barrier") && out.contains("MPI_Finalize"), "{out}");
    }
}
