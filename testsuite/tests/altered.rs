//! A device between two hosts that changes bytes on their way: what comes is right, or the job ends and says why.
//!
//! Where namespaces or firewalls cannot be made the test is counted as skipped.

use std::path::Path;
use std::process::Output;

use testsuite::hosts::{Hosts, LAUNCHER};
use testsuite::prefix::{Prefix, clean};
use testsuite::traffic;

/// Plays on two hosts under one way of protection.
fn play(hosts: &Hosts, prefix: &Prefix, program: &Path, security: &str) -> Output {
    let mut command = clean(Path::new("timeout"));
    command.arg("60").arg(prefix.bin("mpirun"));
    command.args(["--launcher", LAUNCHER, "-H", &hosts.list(1), "-n", "2"]);
    command.env("FERRITE_TCP_SECURITY", security).env("FERRITE_LOG", "warn");
    command.arg(program).args(["--seed", "1", "--rounds", "20", "--seconds", "30"]);
    command.output().expect("mpirun starts")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_changed_on_its_way_is_sent_again_or_ends_the_job() {
    let test = "what_is_changed_on_its_way_is_sent_again_or_ends_the_job";
    let Some(hosts) = Hosts::make(test, 2, 1).expect("hosts") else { return };
    if !hosts.can_filter(test).expect("a note") {
        return;
    }
    let prefix = Prefix::find().expect("a prefix");
    let folder = tempfile::tempdir().expect("a folder");
    let program = traffic::compile(&prefix, folder.path()).expect("a program");
    for security in ["tag", "encrypt"] {
        hosts.open_all(1).expect("no rules");
        hosts.alter(0, 1, 0, Some(5)).expect("a rule");
        let output = play(&hosts, &prefix, &program, security);
        assert!(output.status.success(), "{security}: {}", errors(&output));
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("ok: "), "{security}");
        assert!(errors(&output).contains("changed on its way"), "{security}: nothing was changed");
    }
    hosts.open_all(1).expect("no rules");
    hosts.alter(0, 1, 0, None).expect("a rule");
    let output = play(&hosts, &prefix, &program, "tag");
    assert!(!output.status.success() && output.status.code() != Some(124), "it hangs");
    let told = errors(&output);
    assert!(told.contains("its data did not come as it was sent"), "{told}");
    assert!((0..2).all(|host| told.contains(hosts.name(host))), "both hosts are named: {told}");
}
