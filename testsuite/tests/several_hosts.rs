//! Whole jobs on several hosts, which are network namespaces: our launcher and MPICH's, our programs
//! and Intel's benchmarks, with shared memory within a host and TCP between them, and what ends them.
//!
//! Where namespaces cannot be made the tests are counted as skipped.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use testsuite::hosts::{Hosts, LAUNCHER};
use testsuite::peers;
use testsuite::prefix::{Prefix, clean};
use testsuite::programs;

/// Programs that between them use every way of a message and the collectives of both kinds.
const PROGRAMS: [&str; 7] =
    ["alltoall", "communicators", "icollectives", "nonblocking", "ordering", "probe", "promptend"];

/// The benchmarks with few repetitions and without the longest messages.
const REDUCED: [&str; 6] = ["-iter", "5", "-time", "0.05", "-msglog", "0:15"];

fn prefix() -> Prefix {
    Prefix::find().expect("a prefix")
}

/// Two hosts with two cables, or none where that is impossible.
fn two(test: &str) -> Option<Hosts> {
    Hosts::make(test, 2, 2).expect("hosts")
}

/// mpirun of so many ranks, in equal parts on all hosts.
fn mpirun(hosts: &Hosts, ranks: usize) -> Command {
    // Who started the tests may ignore signals, as a shell does for what runs in its background;
    // that is inherited, and here every program shall see the signals that it waits for.
    let mut command = clean(Path::new("env"));
    command.arg("--default-signal").arg(prefix().bin("mpirun"));
    command.args(["--launcher", LAUNCHER, "-H", &hosts.list(ranks / 2)]);
    command.args(["-n", &ranks.to_string()]);
    command
}

fn said(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn checked(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it can be started");
    let (out, err) = (said(&stdout), said(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{err}\n{out}");
    assert_eq!(err, "", "{command:?} wrote to standard error");
    out
}

/// Compiles `faults/NAME.c`.
fn compile(name: &str, into: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("faults/{name}.c"));
    let program = into.join(name);
    checked(prefix().command("mpicc").arg("-o").arg(&program).arg(source));
    program
}

#[test]
fn programs_run_on_two_hosts() {
    let Some(hosts) = two("programs_run_on_two_hosts") else { return };
    let place = tempfile::tempdir().expect("a temporary folder");
    for program in programs::chosen(&PROGRAMS).expect("programs of the manifest") {
        let executable = program.compile(&prefix(), place.path()).expect("it compiles");
        for ranks in [2, 4, 8].into_iter().filter(|&n| program.ranks.contains(&n)) {
            let out = checked(mpirun(&hosts, ranks as usize).arg(&executable));
            assert_eq!(out, "ok\n", "{} on {ranks}", program.name);
        }
    }
}

/// The last benchmark has ended, on so many ranks.
fn assert_complete(out: &str, ranks: &str) {
    for part in ["# Benchmarking Barrier", &format!("# #processes = {ranks}"), "MPI_Finalize"] {
        assert!(out.contains(part), "no “{part}” in {out}");
    }
}

fn benchmark() -> PathBuf {
    peers::environment("impi").expect("the peer").join("bin/IMB-MPI1")
}

#[test]
fn the_benchmarks_of_intel_run_on_two_hosts() {
    let Some(hosts) = two("the_benchmarks_of_intel_run_on_two_hosts") else { return };
    for ranks in ["2", "4"] {
        let mut command = mpirun(&hosts, ranks.parse().expect("a number"));
        command.arg(benchmark()).args(REDUCED).args(["-npmin", ranks]);
        assert_complete(&checked(&mut command), ranks);
    }
}

/// A command in the place of ssh as hydra uses it: options, an address, a line for a shell.
fn remote_shell(hosts: &Hosts, place: &Path) -> PathBuf {
    let file = place.join("remote-shell");
    let case = |host| format!("{}) host={};;\n", hosts.address(host, 0), hosts.name(host));
    let text = format!(
        "#!/bin/sh\nwhile case $1 in -*) true;; *) false;; esac; do shift; done\n\
         case $1 in\n{}{}esac\nshift\nexec {LAUNCHER} \"$host\" sh -c \"$*\"\n",
        case(0),
        case(1)
    );
    fs::write(&file, text).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a program");
    file
}

#[test]
fn the_launcher_of_mpich_starts_ours_on_two_hosts() {
    let Some(hosts) = two("the_launcher_of_mpich_starts_ours_on_two_hosts") else { return };
    let place = tempfile::tempdir().expect("a temporary folder");
    let shell = remote_shell(&hosts, place.path());
    let hydra = peers::environment("mpich").expect("the peer").join("bin/mpiexec.hydra");
    let addresses = [hosts.address(0, 0), hosts.address(1, 0)];
    let run = |ranks: usize| {
        let mut command = clean(Path::new("ip"));
        command.args(["netns", "exec", hosts.name(0)]).arg(&hydra);
        command.args(["-launcher", "ssh", "-launcher-exec"]).arg(&shell);
        command.args(["-localhost", &addresses[0], "-hosts", &addresses.join(",")]);
        command.args(["-ppn", &(ranks / 2).to_string(), "-n", &ranks.to_string()]);
        command.env("LD_LIBRARY_PATH", prefix().dir().join("lib"));
        command
    };
    let listed = programs::listed().expect("the manifest");
    let program = listed.iter().find(|program| program.name == "alltoall").expect("it is there");
    let executable = program.compile(&prefix(), place.path()).expect("it compiles");
    for ranks in [2, 4] {
        assert_eq!(checked(run(ranks).arg(&executable)), "ok\n", "on {ranks}");
    }
    let mut benchmarks = run(4);
    benchmarks.arg(benchmark()).args(["Alltoall", "Barrier"]).args(REDUCED);
    let benchmarks = benchmarks.args(["-npmin", "4"]).output();
    let benchmarks = benchmarks.expect("it can be started");
    assert!(benchmarks.status.success(), "{}", said(&benchmarks.stderr));
    assert_complete(&said(&benchmarks.stdout), "4");
}

/// So many seconds that only an end from outside is an end.
const FOR_EVER: u32 = 36_000;

/// A job of four ranks on two hosts that talk and check what they get, in the midst of it.
struct Busy {
    mpirun: Child,
    out: BufReader<ChildStdout>,
    program: PathBuf,
    _place: tempfile::TempDir,
}

impl Busy {
    /// Starts them, for so many seconds, and waits until they have begun.
    fn start(hosts: &Hosts, seconds: u32) -> Busy {
        let place = tempfile::tempdir().expect("a temporary folder");
        let program = compile("load", place.path());
        let mut command = mpirun(hosts, 4);
        command.env("FERRITE_TCP_PATIENCE", "2s").arg(&program).arg(seconds.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut mpirun = command.spawn().expect("mpirun runs");
        let mut line = String::new();
        let mut out = BufReader::new(mpirun.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("a line");
        assert_eq!(line, "begun\n");
        Busy { mpirun, out, program, _place: place }
    }

    /// Status, errors and further output, when it has ended and left nothing.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut errors, mut out) = (String::new(), String::new());
        self.out.read_to_string(&mut out).expect("text");
        let err = self.mpirun.stderr.as_mut().expect("a pipe");
        err.read_to_string(&mut errors).expect("text");
        let status = self.mpirun.wait().expect("an end");
        let left = running(&self.program.to_string_lossy());
        assert!(left.is_empty(), "left behind: {left:?}");
        (status.code(), errors, out)
    }
}

/// The processes whose command line has this word, the oldest first.
fn running(word: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("a list").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = pids
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0).any(|piece| piece == word.as_bytes())
        })
        .collect();
    found.sort_unstable();
    found
}

fn signal(name: &str, pid: u32) {
    checked(Command::new("kill").args(["-s", name, &pid.to_string()]));
}

#[test]
fn signals_to_mpirun_end_the_ranks_on_all_hosts() {
    let Some(hosts) = two("signals_to_mpirun_end_the_ranks_on_all_hosts") else { return };
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let job = Busy::start(&hosts, FOR_EVER);
        signal(name, job.mpirun.id());
        let (status, errors, _) = job.end();
        assert_eq!(status, Some(128 + number), "{errors}");
        assert_eq!(errors, format!("mpirun: the job was ended by SIG{name}.\n"));
    }
}

#[test]
fn a_rank_that_dies_is_named_with_its_host() {
    let Some(hosts) = two("a_rank_that_dies_is_named_with_its_host") else { return };
    let job = Busy::start(&hosts, FOR_EVER);
    let ranks = running(&job.program.to_string_lossy());
    let there = hosts.pids(1).expect("the processes there");
    let last = ranks.iter().rfind(|rank| there.contains(rank)).expect("a rank there");
    signal("KILL", *last);
    let (status, errors, _) = job.end();
    assert_eq!(status, Some(128 + 9), "{errors}");
    let host = format!(" on {} (", hosts.name(1));
    assert!(errors.contains(&host) && errors.contains("SIGKILL"), "{errors}");
    assert_eq!(errors.matches("mpirun:").count(), 1, "{errors}");
}

#[test]
fn a_killed_agent_ends_the_job_and_its_host_is_named() {
    let Some(hosts) = two("a_killed_agent_ends_the_job_and_its_host_is_named") else { return };
    let job = Busy::start(&hosts, FOR_EVER);
    let there = hosts.pids(1).expect("the processes there");
    let agents = running("--ferrite-agent");
    // The younger one is its guard.
    let agent = agents.iter().find(|agent| there.contains(agent)).expect("an agent there");
    signal("KILL", *agent);
    let (status, errors, _) = job.end();
    assert_eq!(status, Some(1), "{errors}");
    let named = format!("host {} was lost, and ranks 2, 3 with it", hosts.name(1));
    assert!(errors.contains(&named), "{errors}");
    assert_eq!(errors.matches("mpirun:").count(), 1, "{errors}");
}

#[test]
fn a_cable_cut_under_load_is_survived_over_the_other() {
    let Some(hosts) = two("a_cable_cut_under_load_is_survived_over_the_other") else { return };
    let job = Busy::start(&hosts, 4);
    hosts.cut(1, 0).expect("a cable to cut");
    let ended = job.end();
    assert_eq!(ended, (Some(0), String::new(), "ok\n".to_string()));
}

#[test]
fn without_another_cable_the_job_ends_and_names_both_ends() {
    let Some(hosts) = two("without_another_cable_the_job_ends_and_names_both_ends") else {
        return;
    };
    let job = Busy::start(&hosts, FOR_EVER);
    hosts.cut(1, 0).expect("a cable to cut");
    hosts.cut(1, 1).expect("another");
    let (status, errors, out) = job.end();
    assert!(status != Some(0) && out.is_empty(), "{out}");
    assert!(errors.contains("cannot reach rank") && errors.contains("by TCP"), "{errors}");
    assert_eq!(errors.matches("mpirun:").count(), 1, "{errors}");
}
