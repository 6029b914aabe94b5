//! Hosts that cannot reach each other from the beginning, as behind firewalls: whatever ranks do first, the
//! job ends, and says who could not reach whom and where that was tried.
//!
//! Where namespaces cannot be made the tests are counted as skipped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::Result;
use testsuite::firewall::Verdict;
use testsuite::hosts::{Hosts, LAUNCHER};
use testsuite::prefix::{Prefix, clean};

/// What the program can do first.
const KINDS: [&str; 10] = [
    "ring",
    "forgotten",
    "from_any",
    "barrier",
    "bcast",
    "reduce",
    "gather",
    "scatter",
    "scan",
    "alltoall",
];

/// The program, in a file of the test's own.
fn compile(prefix: &Prefix, name: &str) -> PathBuf {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/contact.c");
    let program = into.join(name);
    let mut compiler = prefix.command("mpicc");
    let output = compiler.arg("-o").arg(&program).arg(source).output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Separates all hosts from each other, from one side of each pair or from both.
fn part(hosts: &Hosts, cut: impl Fn(&Hosts, usize, usize) -> Result<()>, count: usize) {
    for from in 0..count {
        for to in (0..count).filter(|to| *to != from) {
            cut(hosts, from, to).expect("a way to close");
        }
    }
}

/// mpirun of so many ranks, one on each host.
fn mpirun(hosts: &Hosts, prefix: &Prefix, ranks: usize) -> Command {
    let mut command: Command = clean(Path::new("timeout"));
    command.arg("60").arg(prefix.bin("mpirun"));
    command.args(["--launcher", LAUNCHER, "-H", &hosts.list(1), "-n", &ranks.to_string()]);
    command
}

/// Runs a kind of first contact on four hosts and says how it ended.
fn run(hosts: &Hosts, prefix: &Prefix, program: &Path, kind: &str) -> Output {
    let mut command = mpirun(hosts, prefix, 4);
    command.env("FERRITE_TCP_PATIENCE", "500ms");
    command.arg(program).arg(kind).output().expect("mpirun starts")
}

/// A job ends with an error that says what is needed to find the firewall.
fn assert_told(hosts: &Hosts, output: &Output, kind: &str, answer: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(!matches!(code, Some(0 | 124) | None), "{kind}: {code:?}\n{errors}");
    assert_eq!(errors.matches("mpirun:").count(), 1, "{kind}: {errors}");
    assert!(errors.contains("cannot be delivered"), "{kind}: {errors}");
    assert!(errors.contains("10.77.0.") && errors.contains(answer), "{kind}: {errors}");
    assert!(errors.contains("FERRITE_TCP_INTERFACES"), "{kind}: {errors}");
    let named = (0..4).filter(|host| errors.contains(hosts.name(*host))).count();
    assert!(named >= 2, "{kind}: both hosts are named: {errors}");
}

#[test]
fn behind_firewalls_that_drop_every_kind_of_contact_ends_the_job() {
    let test = "behind_firewalls_that_drop_every_kind_of_contact_ends_the_job";
    let Some(hosts) = Hosts::make(test, 4, 1).expect("hosts") else { return };
    let prefix = Prefix::find().expect("a prefix");
    let program = compile(&prefix, "dropped_contact");
    part(&hosts, |hosts, from, to| hosts.silence(from, to, 0), 4);
    for kind in KINDS {
        let output = run(&hosts, &prefix, &program, kind);
        assert_told(&hosts, &output, kind, "no answer");
    }
}

#[test]
fn who_asks_what_ranks_wait_for_hears_whom_they_cannot_reach() {
    let test = "who_asks_what_ranks_wait_for_hears_whom_they_cannot_reach";
    let Some(hosts) = Hosts::make(test, 2, 1).expect("hosts") else { return };
    let prefix = Prefix::find().expect("a prefix");
    let program = compile(&prefix, "stuck_contact");
    part(&hosts, |hosts, from, to| hosts.silence(from, to, 0), 2);
    let mut command = mpirun(&hosts, &prefix, 2);
    // Longer than the answers take; the job is ended as soon as they are there.
    command.args(["--stuck-after", "1"]).env("FERRITE_TCP_PATIENCE", "20s");
    let mut job = command.arg(program).arg("ring").stderr(Stdio::piped()).spawn().expect("mpirun");
    let lines = BufReader::new(job.stderr.take().expect("a pipe")).lines();
    let mut errors = String::new();
    for line in lines.map(|line| line.expect("text")) {
        errors += &(line + "\n");
        if errors.contains("cannot be reached at 10.77.0.") && errors.contains("deadlock") {
            let end = Command::new("kill").arg(job.id().to_string()).status().expect("kill");
            assert!(end.success());
            break;
        }
    }
    job.wait().expect("it ends");
    assert!(errors.contains("rank 1 cannot be reached at 10.77.0.2:"), "{errors}");
    assert!(errors.contains("no deadlock"), "{errors}");
}

#[test]
fn without_a_route_the_answer_of_the_kernel_is_told() {
    let test = "without_a_route_the_answer_of_the_kernel_is_told";
    let Some(hosts) = Hosts::make(test, 4, 1).expect("hosts") else { return };
    let prefix = Prefix::find().expect("a prefix");
    let program = compile(&prefix, "routeless_contact");
    part(&hosts, |hosts, from, to| hosts.close_way(from, to, 0), 4);
    for kind in ["forgotten", "bcast", "from_any"] {
        let output = run(&hosts, &prefix, &program, kind);
        assert_told(&hosts, &output, kind, "route");
    }
}

#[test]
fn behind_firewalls_that_reset_the_answer_is_told() {
    let test = "behind_firewalls_that_reset_the_answer_is_told";
    let Some(hosts) = Hosts::make(test, 4, 1).expect("hosts") else { return };
    if !hosts.can_filter(test).expect("a note") {
        return;
    }
    let prefix = Prefix::find().expect("a prefix");
    let program = compile(&prefix, "refused_contact");
    part(&hosts, |hosts, from, to| hosts.bar(from, to, 0, Verdict::Reset), 4);
    for kind in ["ring", "forgotten", "from_any", "alltoall"] {
        let output = run(&hosts, &prefix, &program, kind);
        assert_told(&hosts, &output, kind, "refused");
    }
}
