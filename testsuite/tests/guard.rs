//! A guard over the ways that small data take: instructions, system calls, copies, locked
//! instructions and fences of one operation, counted and never timed (decision 35). It
//! fails when a count grows beyond `testsuite/guard/limits.toml`.
//!
//! A way is that of a program: from the arguments of `MPI_Send` or `MPI_Bcast` in the release build
//! down to the lane or segment, and back up. Valgrind's callgrind counts; its machine has AVX2 and nothing
//! newer.

use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use testsuite::callgrind::{self, Counts};
use testsuite::prefix::Prefix;

/// Operations in the counted region: few enough to find room in a lane, in its slots and on a segment.
const TIMES: u64 = 4;
/// Runs until one is within the limits: what is done once in many operations may fall into one run,
/// growth is in all.
const TRIES: usize = 3;
/// The part of a recorded count by which another compiler's code may differ.
const TOLERANCE: u64 = 10;

/// What a message may cost more with a network open.
const NETWORK_INSTRUCTIONS: u64 = 2;

/// What one operation may cost.
#[derive(Deserialize)]
struct Limit {
    calls: String,
    bytes: u64,
    give: u64,
    take: u64,
    give_copies: u64,
    take_copies: u64,
    #[serde(default)]
    system_calls: u64,
}

#[derive(Deserialize)]
struct Limits {
    way: Vec<Limit>,
}

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().expect("a command that starts; `cargo xtask setup` installs valgrind");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Who else is there while two ranks send and receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Company {
    Nobody,
    /// A third rank on the same node.
    Near,
    /// One that takes itself for another node, so that a network is open and looked at.
    Far,
}

/// Counts what giving and what taking cost.
fn counted(
    prefix: &Prefix,
    program: &Path,
    folder: &Path,
    (limit, company): (&Limit, Company),
) -> [Counts; 2] {
    let name = format!("{}-{}-{company:?}", limit.calls, limit.bytes);
    let out = |rank: &str| folder.join(format!("{name}.{rank}"));
    let mut command = prefix.command("mpirun");
    if company == Company::Far {
        command.env("FERRITE_NODE_RANKS", "2");
    }
    let ranks = if company == Company::Nobody { "2" } else { "3" };
    command.args(["--timeout", "300", "-n", ranks, "valgrind", "--quiet"]).args(callgrind::OPTIONS);
    command.arg(format!("--callgrind-out-file={}", out("%q{PMI_RANK}").display())).arg(program);
    command.args([&limit.calls, &limit.bytes.to_string(), &TIMES.to_string()]);
    let flag = folder.join(format!("{name}.flag"));
    run(command.arg(&flag));
    fs::remove_file(flag).expect("the file by which rank 0 told that all is sent");
    ["0", "1"].map(|rank| {
        let text = fs::read_to_string(out(&format!("{rank}.1"))).expect("callgrind's file");
        callgrind::counts(&text).expect("callgrind's format")
    })
}

/// Every way in which the counts are beyond the limits, one sentence each.
fn complaints(limit: &Limit, counts: &[Counts; 2]) -> Vec<String> {
    let mut complaints = Vec::new();
    let sides =
        [("giving", limit.give, limit.give_copies), ("taking", limit.take, limit.take_copies)];
    for ((side, instructions, copies), counts) in sides.into_iter().zip(counts) {
        let what = format!("{}, {side} {} bytes", limit.calls, limit.bytes);
        let each = counts.instructions.div_ceil(TIMES);
        println!(
            "{what}: {each} instructions, {} copies in {TIMES} times, {} system calls, {} \
             locked instructions and fences",
            counts.copies, counts.system_calls, counts.fences
        );
        if each > instructions + instructions / TOLERANCE {
            complaints.push(format!("{what}: {each} instructions, recorded are {instructions}"));
        }
        if counts.copies > copies * TIMES {
            complaints.push(format!("{what}: {} copies in {TIMES} times", counts.copies));
        }
        if counts.system_calls > limit.system_calls * TIMES {
            complaints.push(format!("{what}: {} system calls", counts.system_calls));
        }
        if counts.fences > 0 {
            complaints.push(format!("{what}: {}", counts.where_fenced.join(", ")));
        }
    }
    complaints
}

/// The program, in a folder of its own, and the limits.
fn made(prefix: &Prefix) -> (tempfile::TempDir, std::path::PathBuf, Limits) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("guard");
    let program = folder.path().join("guard");
    let mut mpicc = prefix.command("mpicc");
    mpicc.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]);
    run(mpicc.arg(&program).arg(home.join("guard.c")));
    let limits = fs::read_to_string(home.join("limits.toml")).expect("the limits");
    (folder, program, toml::from_str(&limits).expect("the form of the limits"))
}

#[test]
fn small_data_cost_no_more_than_recorded() {
    let prefix = Prefix::find().expect("a prefix");
    let (folder, program, limits) = made(&prefix);
    let costs = |limit| {
        let counts = counted(&prefix, &program, folder.path(), (limit, Company::Nobody));
        complaints(limit, &counts)
    };
    let complaints: Vec<String> = limits
        .way
        .iter()
        .flat_map(|limit| {
            let mut found = costs(limit);
            for _ in 1..TRIES {
                if found.is_empty() {
                    break;
                }
                found = costs(limit);
            }
            found
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A network that is open and not used costs a message through shared memory nothing: neither
/// instructions beyond those by which two runs differ, nor a system call.
#[test]
fn an_open_network_costs_shared_memory_nothing() {
    let prefix = Prefix::find().expect("a prefix");
    let (folder, program, limits) = made(&prefix);
    let short = limits
        .way
        .iter()
        .filter(|limit| limit.calls == "blocking" && matches!(limit.bytes, 8 | 1024));
    for limit in short {
        // What is done once in many operations falls into some runs alone.
        let least = |company| {
            let runs = (0..TRIES)
                .map(|_| counted(&prefix, &program, folder.path(), (limit, company)))
                .collect::<Vec<_>>();
            [0, 1].map(|side| {
                let of = |counts: &[Counts; 2]| {
                    (counts[side].instructions.div_ceil(TIMES), counts[side].system_calls)
                };
                runs.iter().map(of).min().expect("a run")
            })
        };
        let (near, far) = (least(Company::Near), least(Company::Far));
        println!("blocking, {} bytes: {near:?}, with a network open {far:?}", limit.bytes);
        for (near, far) in near.into_iter().zip(far) {
            assert!(far.0 <= near.0 + NETWORK_INSTRUCTIONS, "{far:?}, without it {near:?}");
            assert_eq!(far.1, near.1, "system calls");
        }
    }
}
