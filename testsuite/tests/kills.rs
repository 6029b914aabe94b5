//! A rank killed at a random moment: the job ends at once, says who died of what, and leaves
//! nothing behind (decision 38).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testsuite::prefix::Prefix;

const RUNS: u32 = 200;
const RANKS: u32 = 4;
/// The latest moment of death, in microseconds from the start of the process.
const LATEST: u64 = 16_000;
/// After this a run counts as hung. The promise is 2 s; machines that do other work meanwhile
/// get some more.
const HUNG: Duration = Duration::from_secs(10);

fn compile(prefix: &Prefix, into: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/victim.c");
    let program = into.join("victim");
    let status = prefix.command("mpicc").arg("-o").arg(&program).arg(source).status();
    assert!(status.expect("mpicc runs").success(), "mpicc failed");
    program
}

/// Processes whose command line names `program`.
fn left_over(program: &Path) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let name = program.to_string_lossy().into_owned();
    processes
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&name))
        .collect()
}

fn shared_memory_files() -> usize {
    fs::read_dir("/dev/shm").map_or(0, Iterator::count)
}

#[test]
fn a_killed_rank_ends_the_job_at_once_and_leaves_nothing() {
    let prefix = Prefix::find().expect("a prefix");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile(&prefix, folder.path());
    let phase = folder.path().join("phase");
    let mut random = ChaCha8Rng::seed_from_u64(38);
    let mut phases = BTreeMap::new();
    let mut times = Vec::new();
    let files = shared_memory_files();
    for run in 0..RUNS {
        fs::write(&phase, "-").expect("a file for the phase");
        let victim = random.random_range(0..RANKS);
        let moment = random.random_range(1..LATEST);
        let mut command: Command = prefix.command("mpirun");
        command.arg("-n").arg(RANKS.to_string()).arg(&program);
        command.arg(victim.to_string()).arg(moment.to_string()).arg(&phase);
        let start = Instant::now();
        let output = command.output().expect("mpirun runs");
        let taken = start.elapsed();
        let said = String::from_utf8_lossy(&output.stderr);
        let about = format!("run {run}, rank {victim} killed after {moment} us: {said}");
        assert_eq!(output.status.code(), Some(137), "{about}");
        assert!(said.contains(&format!("rank {victim}")) && said.contains("SIGKILL"), "{about}");
        assert!(taken < HUNG, "took {taken:?}; {about}");
        assert_eq!(left_over(&program), Vec::<String>::new(), "{about}");
        let reached = fs::read_to_string(&phase).expect("the phase");
        *phases.entry(name(&reached)).or_insert(0) += 1;
        times.push(taken);
    }
    assert_eq!(shared_memory_files(), files, "files left in /dev/shm");
    times.sort();
    println!(
        "killed {RUNS} times: {phases:?}; median {:?}, slowest {:?}",
        times[times.len() / 2],
        times[times.len() - 1]
    );
    assert!(phases.len() >= 3, "the moments of death are too much alike: {phases:?}");
}

fn name(phase: &str) -> &'static str {
    match phase {
        "-" | "b" => "before MPI_Init",
        "i" => "in MPI_Init",
        "r" => "between",
        "f" => "in MPI_Finalize",
        _ => "after MPI_Finalize",
    }
}
