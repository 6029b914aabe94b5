//! Programs under the limits that batch systems set (`ulimit`): memory that is shared counts as
//! addresses, and as a file.

use std::fs;
use std::path::Path;
use std::process::Command;

use testsuite::prefix::{Prefix, clean};
use testsuite::programs;

/// Programs that share memory in all its forms: messages, boards, windows, allocated memory.
const PROGRAMS: [&str; 6] = ["alltoall", "bcast", "hello", "large", "memory", "windows"];

/// Limits, with the most ranks that are to run under them.
const LIMITS: [(&str, u32); 4] =
    [("-v 400000", 4), ("-v 700000", 8), ("-f 2000000", 4), ("-f 65536", 4)];

/// A command that runs further words under a limit.
fn limited(limit: &str) -> Command {
    let mut command = clean(Path::new("bash"));
    command.args(["-c", &format!("ulimit {limit} && exec \"$@\""), "bash"]);
    command
}

#[test]
fn programs_run_under_limits() {
    let prefix = Prefix::find().expect("a prefix");
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ulimits");
    fs::create_dir_all(&into).expect("a folder for programs");
    let mut failures = Vec::new();
    for program in programs::chosen(&PROGRAMS).expect("programs of the manifest") {
        let executable = program.compile(&prefix, &into).expect("it compiles");
        for (limit, most) in LIMITS {
            let ranks = program.ranks.iter().copied().filter(|ranks| *ranks <= most).max();
            let Some(ranks) = ranks else { continue };
            if let Err(error) = programs::run_under(limited(limit), &prefix, &executable, ranks) {
                failures.push(format!("{} on {ranks}, ulimit {limit}: {error:#}", program.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
