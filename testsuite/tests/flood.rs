//! Strangers who flood the ports of a running job with datagrams: noise, recordings of what its own ranks said, and
//! recordings that were changed. The job's data stays right, and its report counts what was refused.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use testsuite::flood::Flood;
use testsuite::hosts::skipped;
use testsuite::open_sockets::datagram_ports;
use testsuite::prefix::{Prefix, clean};

const RANKS: usize = 3;

/// So many datagrams are recorded, at most.
const RECORDINGS: usize = 2000;

/// `faults/NAME.c`, compiled by `compiler` for this test alone, whose processes are known by it.
fn compiled(name: &str, mut compiler: Command) -> PathBuf {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flood");
    fs::create_dir_all(&into).expect("a folder");
    let program = into.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("faults/{name}.c"));
    let status = compiler.arg("-o").arg(&program).arg(source).status();
    assert!(status.expect("a compiler").success(), "{name} cannot be compiled");
    program.canonicalize().expect("the program")
}

fn line(out: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    (out.read_line(&mut line).expect("a line") > 0).then_some(line)
}

fn reader(child: &mut Child) -> BufReader<ChildStdout> {
    BufReader::new(child.stdout.take().expect("a pipe"))
}

/// Some of the datagrams that go to these ports; none where packet sockets are not allowed.
fn recordings(ports: &[u16]) -> Option<Vec<Vec<u8>>> {
    let mut spy = clean(&compiled("eavesdrop", Command::new("cc")));
    spy.arg("udp").args(ports.iter().map(ToString::to_string));
    let mut spy = spy.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let mut heard = reader(&mut spy);
    let mut found = Vec::new();
    let listens = line(&mut heard).is_some();
    while listens && found.len() < RECORDINGS {
        let Some(text) = line(&mut heard) else { break };
        let (_, words) = text.trim().split_once(' ').expect("a port and words");
        let byte = |at| u8::from_str_radix(&words[at..at + 2], 16).expect("digits");
        found.push((0..words.len()).step_by(2).map(byte).collect());
    }
    spy.kill().and_then(|()| spy.wait()).expect("an end");
    listens.then_some(found)
}

#[test]
fn a_flood_of_datagrams_does_no_harm() {
    let test = "a_flood_of_datagrams_does_no_harm";
    let prefix = Prefix::find().expect("a prefix");
    let program = compiled("load", prefix.command("mpicc"));
    let mut command = prefix.command("mpirun");
    command.args(["--report", "-n", &RANKS.to_string()]).arg(&program).arg("4");
    command.envs([("FERRITE_TRANSPORT", "udp"), ("FERRITE_LOG", "warn")]);
    let job = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut job = job.expect("mpirun runs");
    let mut errors = job.stderr.take().expect("a pipe");
    let errors = thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let mut out = reader(&mut job);
    assert_eq!(line(&mut out).as_deref(), Some("begun\n"));
    let ports = datagram_ports(&program);
    assert!(ports.len() >= RANKS, "{ports:?}");
    let Some(recorded) = recordings(&ports) else {
        job.kill().and_then(|()| job.wait()).expect("an end");
        return skipped(test, "packet sockets are not allowed here").expect("it is counted");
    };
    let flood = Flood::begin(&ports, &recorded).expect("a flood");
    thread::sleep(Duration::from_secs(2));
    let sent = flood.end().expect("a count");
    assert!(sent.noise > 1000 && sent.replays > 1000 && sent.altered > 1000, "{sent:?}");
    let status = job.wait().expect("an end");
    let errors = errors.join().expect("a thread").expect("text");
    assert_eq!((status.success(), line(&mut out).as_deref()), (true, Some("ok\n")), "{errors}");
    // Noise and what was changed is refused; what was said before is known again.
    for count in [" refused (strangers', or changed on their way)", " repeated"] {
        let before = errors.split(count).collect::<Vec<_>>();
        let (_, before) = before.split_last().expect("a text");
        let counts = before.iter().filter_map(|text| text.rsplit(' ').next()?.parse::<u64>().ok());
        let sum: u64 = counts.sum();
        assert!(sum > 1000, "{sum}{count} of {sent:?}:\n{errors}");
    }
}
