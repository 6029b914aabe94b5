//! Programs where `/dev/shm` has 64 KiB, as in many containers: nothing of ours lies there, so they
//! run as everywhere. Only root may make such a place; else the test is counted as skipped.

use std::path::Path;
use std::process::Command;

use testsuite::hosts::skipped;
use testsuite::prefix::clean;
use testsuite::programs::Batch;

/// Programs that between them use all that is shared: lanes, rings, segments, windows, memory that is
/// allocated, from many ranks and for long messages.
const PROGRAMS: [&str; 8] =
    ["alltoall", "bcast", "large", "many", "memory", "nonblocking", "reduce", "windows"];

/// More ranks than this share nothing more.
const RANKS_MAX: u32 = 4;

/// Makes the place and runs the words that follow.
const PLACE: &str = "mount -t tmpfs -o size=64k tmpfs /dev/shm && ip link set lo up && \
                     test $(stat -f -c %b /dev/shm) -le 16 && exec \"$@\"";

/// A command that runs further words there.
fn place() -> Command {
    let mut command = clean(Path::new("unshare"));
    command.args(["--mount", "--net", "sh", "-c", PLACE, "sh"]);
    command
}

#[test]
fn programs_run_with_hardly_any_dev_shm() {
    let made = place().arg("true").output().expect("unshare can be started");
    if !made.status.success() {
        let why = String::from_utf8_lossy(&made.stderr);
        return skipped("programs_run_with_hardly_any_dev_shm", why.trim()).expect("it is counted");
    }
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tiny-shm");
    let mut batch = Batch::compile(&into, &PROGRAMS).expect("programs that compile");
    batch.run("hardly any /dev/shm", &place, &|program| {
        program.ranks.iter().copied().filter(|ranks| *ranks <= RANKS_MAX).collect()
    });
    batch.verdict().unwrap();
}
