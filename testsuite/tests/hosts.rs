//! Two "hosts" on one machine: network namespaces joined by two cables (veth), in which ranks of
//! one job run, shared memory within a host and TCP between them (docs/decisions.md 40).
//!
//! Namespaces need root; without it the tests say so and pass over themselves.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use testsuite::prefix::Prefix;
use testsuite::programs;

/// Two namespaces, and their two cables; gone when dropped.
struct Hosts {
    names: [String; 2],
}

/// Tells that a test was skipped, to who runs it and to the count of skipped tests.
fn skipped(test: &str, why: &str) {
    println!("skipped: {test}: {why}");
    if let Some(file) = env::var_os("FERRITE_TEST_SKIPPED") {
        let file = fs::OpenOptions::new().append(true).create(true).open(file);
        let mut file = file.expect("the list of skipped tests");
        writeln!(file, "{test}: {why}").expect("the list of skipped tests");
    }
}

fn ip(words: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(words.split_whitespace()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Hosts {
    /// The hosts, or `None` where namespaces cannot be made; the reason is told for `test`.
    fn new(test: &str) -> Option<Hosts> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let names = [0, 1].map(|host| format!("fe{}-{number}-{host}", std::process::id()));
        if !ip(&format!("netns add {}", names[0])) {
            skipped(test, "no network namespace can be made (that needs root and iproute2)");
            return None;
        }
        let hosts = Hosts { names };
        let [one, other] = &hosts.names;
        assert!(ip(&format!("netns add {other}")), "a second namespace");
        for name in &hosts.names {
            assert!(ip(&format!("-n {name} link set lo up")), "a loopback");
        }
        for cable in 0..2 {
            let made = ip(&format!(
                "link add cable{cable} netns {one} type veth peer name cable{cable} netns {other}"
            ));
            assert!(made, "a cable");
            for (host, name) in (1..).zip(&hosts.names) {
                let address = format!("10.77.{cable}.{host}/24");
                assert!(ip(&format!("-n {name} addr add {address} dev cable{cable}")));
                assert!(ip(&format!("-n {name} link set cable{cable} up")));
            }
        }
        hosts.await_carriers();
        Some(hosts)
    }

    /// The kernel says only after a while that a cable is plugged in at both ends.
    fn await_carriers(&self) {
        let plugged = |name: &String| {
            let shown = Command::new("ip").args(["-n", name, "-o", "link", "show", "up"]).output();
            let shown = String::from_utf8(shown.expect("ip runs").stdout).expect("text");
            shown.lines().filter(|line| line.contains("state UP")).count() == 2
        };
        while !self.names.iter().all(plugged) {}
    }

    fn cut(&self, cable: u32) {
        assert!(ip(&format!("-n {} link del cable{cable}", self.names[0])), "a cable to cut");
    }

    /// mpirun of four ranks, two on each host.
    fn mpirun(&self, prefix: &Prefix, program: &Path, settings: &[(&str, &str)]) -> Command {
        let [one, other] = &self.names;
        let script = format!(
            "case $PMI_RANK in 0|1) host={one};; *) host={other};; esac; \
             exec ip netns exec $host \"$0\" \"$@\""
        );
        let mut command = prefix.command("mpirun");
        command.args(["-n", "4", "sh", "-c", &script]).arg(program);
        command.env("FERRITE_NODE_RANKS", "2").envs(settings.iter().copied());
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}

fn into() -> PathBuf {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts");
    fs::create_dir_all(&into).expect("a folder for programs");
    into
}

fn load(prefix: &Prefix) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/load.c");
    let program = into().join(format!("load-{}", COMPILED.fetch_add(1, Ordering::Relaxed)));
    let status = prefix.command("mpicc").arg("-o").arg(&program).arg(source).status();
    assert!(status.expect("mpicc runs").success(), "mpicc failed");
    program
}

static COMPILED: AtomicU32 = AtomicU32::new(0);

#[test]
fn programs_run_on_two_hosts() {
    let Some(hosts) = Hosts::new("programs_run_on_two_hosts") else { return };
    let prefix = Prefix::find().expect("a prefix");
    for program in programs::listed().expect("the manifest") {
        if ["alltoall", "nonblocking", "ordering", "probe"].contains(&program.name.as_str()) {
            let executable = program.compile(&prefix, &into()).expect("it compiles");
            let output = hosts.mpirun(&prefix, &executable, &[]).output().expect("mpirun runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {said}", program.name);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n", "{}", program.name);
        }
    }
}

/// Runs the load on two hosts and cuts cables when it has begun; output, errors, status.
fn cut_under_load(hosts: &Hosts, cables: &[u32], seconds: &str) -> (String, String, bool) {
    let prefix = Prefix::find().expect("a prefix");
    let program = load(&prefix);
    let settings = [("FERRITE_TCP_PATIENCE", "2s")];
    let mut command = hosts.mpirun(&prefix, &program, &settings);
    command.arg(seconds).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut job = command.spawn().expect("mpirun runs");
    let mut out = BufReader::new(job.stdout.take().expect("a pipe"));
    let mut said = String::new();
    out.read_line(&mut said).expect("a line");
    assert_eq!(said, "begun\n");
    for cable in cables {
        hosts.cut(*cable);
    }
    out.read_to_string(&mut said).expect("text");
    let mut errors = String::new();
    job.stderr.take().expect("a pipe").read_to_string(&mut errors).expect("text");
    (said, errors, job.wait().expect("an end").success())
}

#[test]
fn a_cable_cut_under_load_is_survived_over_the_other() {
    let Some(hosts) = Hosts::new("a_cable_cut_under_load_is_survived_over_the_other") else {
        return;
    };
    let (said, errors, good) = cut_under_load(&hosts, &[0], "4");
    assert!(good && said == "begun\nok\n", "{said}{errors}");
}

#[test]
fn without_another_cable_the_job_ends_and_names_both_ends() {
    let Some(hosts) = Hosts::new("without_another_cable_the_job_ends_and_names_both_ends") else {
        return;
    };
    let (said, errors, good) = cut_under_load(&hosts, &[0, 1], "3600");
    assert!(!good, "{said}");
    assert!(errors.contains("cannot reach rank") && errors.contains("by TCP"), "{errors}");
}
