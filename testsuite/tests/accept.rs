//! Programs that none of us compiled: Intel's benchmarks, Python with mpi4py's wheel, programs of
//! three MPI families in one job, started by our `mpirun` and by MPICH's, and those of Debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testsuite::families::{MPICH, OPEN_MPI};
use testsuite::hosts::skipped;
use testsuite::peers;
use testsuite::prefix::{Prefix, clean};

/// The benchmarks with few repetitions: all of them, at all their sizes.
const REDUCED: [&str; 4] = ["-iter", "50", "-time", "0.1"];

fn benchmark() -> PathBuf {
    peers::environment("impi").expect("the peer").join("bin/IMB-MPI1")
}

fn prefix() -> Prefix {
    Prefix::find().expect("a prefix")
}

fn checked(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{errors}\n{said}");
    assert_eq!(errors, "", "{command:?} wrote to standard error");
    said.into_owned()
}

/// Every default benchmark of IMB-MPI1 has begun, and the last one has ended.
fn assert_complete(said: &str) {
    for name in [
        "PingPong",
        "PingPing",
        "Sendrecv",
        "Exchange",
        "Allreduce",
        "Reduce",
        "Reduce_local",
        "Reduce_scatter",
        "Reduce_scatter_block",
        "Allgather",
        "Allgatherv",
        "Gather",
        "Gatherv",
        "Scatter",
        "Scatterv",
        "Alltoall",
        "Alltoallv",
        "Bcast",
        "Barrier",
    ] {
        assert!(said.contains(&format!("# Benchmarking {name}")), "{name} is missing:\n{said}");
    }
    assert!(said.contains("All processes entering MPI_Finalize"), "{said}");
}

#[test]
fn the_benchmarks_of_intel_run_on_two_ranks() {
    let command = &mut prefix().command("mpirun");
    assert_complete(&checked(command.args(["-n", "2"]).arg(benchmark()).args(REDUCED)));
}

#[test]
fn the_benchmarks_of_intel_run_on_four_ranks() {
    let command = &mut prefix().command("mpirun");
    assert_complete(&checked(command.args(["-n", "4"]).arg(benchmark()).args(REDUCED)));
}

#[test]
fn the_launcher_of_mpich_starts_them_too() {
    let hydra = peers::environment("mpich").expect("the peer").join("bin/mpiexec.hydra");
    let lib = prefix().dir().join("lib");
    let mut command = clean(&hydra);
    command.env("LD_LIBRARY_PATH", lib).args(["-n", "2"]).arg(benchmark()).args(REDUCED);
    assert_complete(&checked(&mut command));
}

/// Says which library it runs on and takes part in a ring and a sum.
const RING: &str = r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, rank, size, got = -1, sum = -1;
    MPI_Init(&argc, &argv);
    MPI_Get_library_version(version, &length);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d of %d got %d, sum %d, %s\n", rank, size, got, sum, version);
    MPI_Finalize();
    return 0;
}
"#;

fn ring(folder: &Path) -> PathBuf {
    let source = folder.join("ring.c");
    fs::write(&source, RING).expect("a file");
    source
}

#[test]
fn three_families_share_one_job() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = ring(folder.path());
    let names = ["standard", "mpich", "openmpi"].map(|name| folder.path().join(name));
    let mpicc = &mut prefix().command("mpicc");
    checked(mpicc.arg("-o").arg(&names[0]).arg(&source));
    // The peers' wrappers leave the path of their own library in the program.
    MPICH.compile(&source, &names[1], &[]).expect("MPICH's mpicc");
    OPEN_MPI.compile(&source, &names[2], &[]).expect("Open MPI's mpicc");
    let mut command = prefix().command("mpirun");
    command.args(["-n", "1"]).arg(&names[0]).arg(":");
    command.args(["-n", "1"]).arg(&names[1]).arg(":");
    command.args(["-n", "2"]).arg(&names[2]);
    let said = checked(&mut command);
    for (rank, face) in
        ["standard ABI", "MPICH ABI", "Open MPI ABI", "Open MPI ABI"].into_iter().enumerate()
    {
        let line = format!("{rank} of 4 got {}, sum 6, Ferrite MPI", (rank + 3) % 4);
        let found = said.lines().find(|said| said.starts_with(&line));
        let names = |said: &str| said.split(", ").any(|field| field == face);
        assert!(found.is_some_and(names), "rank {rank}:\n{said}");
    }
}

#[test]
fn a_path_to_another_library_in_the_program_does_not_win() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("ring");
    let theirs = peers::environment("mpich").expect("the peer").join("lib");
    let flags = [format!("-Wl,--disable-new-dtags,-rpath,{}", theirs.display())];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    MPICH.compile(&ring(folder.path()), &program, &flags).expect("MPICH's mpicc");
    let said = checked(prefix().command("mpirun").args(["-n", "2"]).arg(&program));
    assert_eq!(said.matches("Ferrite MPI").count(), 2, "{said}");
}

/// A profiling tool: counts the messages that a program sends by two procedures.
const TOOL: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
static long sends, waits;
extern int PMPI_Send(const void *, int, int, int, int, int);
extern int PMPI_Barrier(int);
extern int PMPI_Finalize(void);
int MPI_Send(const void *b, int n, int type, int to, int tag, int comm)
{
    sends++;
    return PMPI_Send(b, n, type, to, tag, comm);
}
int MPI_Barrier(int comm)
{
    waits++;
    return PMPI_Barrier(comm);
}
int MPI_Finalize(void)
{
    printf("tool: %s sends, %s barriers\n", sends > 1000 ? "many" : "few", waits ? "some" : "no");
    fflush(stdout);
    return PMPI_Finalize();
}
"#;

#[test]
fn a_preloaded_tool_counts_the_calls_of_a_foreign_binary() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, tool) = (folder.path().join("tool.c"), folder.path().join("tool.so"));
    fs::write(&source, TOOL).expect("a file");
    checked(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&tool).arg(&source));
    let mut command = prefix().command("mpirun");
    command.args(["-n", "2", "-x"]).arg(format!("LD_PRELOAD={}", tool.display()));
    // By number: on a busy machine the time of `REDUCED` is over before many have been sent.
    let by_number = ["-iter", "50", "-iter_policy", "off", "-time", "1000"];
    let said = checked(command.arg(benchmark()).args(by_number).arg("PingPong"));
    assert_eq!(said.matches("tool: many sends, some barriers").count(), 2, "{said}");
}

/// Runs the benchmarks with no network but `lo` and 64 KiB of /dev/shm, as the user with `id`.
fn isolated(id: &str) {
    // SAFETY: geteuid cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        assert!(std::env::var_os("CI").is_none(), "CI runs this as root");
        println!("skipped: only root may make namespaces");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The user that the test becomes has to reach everything that it uses.
    let (home, program) = (folder.path().join("ferrite"), folder.path().join("IMB-MPI1"));
    checked(Command::new("cp").arg("-a").arg(prefix().dir()).arg(&home));
    fs::copy(benchmark(), &program).expect("the benchmark");
    checked(Command::new("chmod").args(["-R", "a+rX"]).arg(folder.path()));
    let inside = "mount -t tmpfs -o size=64k tmpfs /dev/shm && ip link set lo up && cd / && \
                  exec setpriv --reuid=$1 --regid=$1 --clear-groups \"$2\" -n 2 \"$3\" -iter 20 \
                  -time 0.05";
    let mut command = clean(Path::new("unshare"));
    command.args(["-mn", "sh", "-c", inside, "sh", id]).arg(home.join("bin/mpirun")).arg(program);
    assert_complete(&checked(command.env("HOME", "/")));
}

#[test]
fn the_benchmarks_run_with_no_network_and_no_shared_memory_files_as_root() {
    isolated("0");
}

#[test]
fn the_benchmarks_run_with_no_network_and_no_shared_memory_files_as_nobody() {
    isolated("65534");
}

const PYTHON: &str = "
from mpi4py import MPI
comm = MPI.COMM_WORLD
gathered = comm.allgather({'rank': comm.rank})
assert gathered == [{'rank': r} for r in range(comm.size)], gathered
import array
data = array.array('d', [float(comm.rank)] * 1000)
total = array.array('d', [0.0] * 1000)
comm.Allreduce(data, total)
assert total[999] == sum(range(comm.size)), total[999]
assert comm.bcast('word' if comm.rank == 1 else None, root=1) == 'word'
print(MPI.Get_library_version())
";

fn python_on(face: &str, library: &str) {
    let python = peers::environment("mpi4py").expect("the peer").join("bin/python3");
    let library = prefix().lib(library);
    let mut command = prefix().command("mpirun");
    command.args(["-n", "3"]).env("MPI4PY_LIBMPI", library).arg(python).args(["-c", PYTHON]);
    let said = checked(&mut command);
    assert_eq!(said.matches(face).count(), 3, "{said}");
}

#[test]
fn python_runs_on_the_mpich_face() {
    python_on("MPICH ABI", "libmpi.so.12");
}

#[test]
fn python_runs_on_the_open_mpi_face() {
    python_on("Open MPI ABI", "libmpi.so.40");
}

/// GPAW, LAMMPS and their like (docs/accept.md); those that are not installed count as skipped.
#[test]
#[ignore = "takes minutes, and packages of two gigabytes"]
fn programs_of_debian_give_what_they_give_with_its_open_mpi() {
    let test = "programs_of_debian_give_what_they_give_with_its_open_mpi";
    if Command::new("dpkg-query").arg("--version").output().is_err() {
        skipped(test, "this is no Debian").expect("the list of skipped tests");
        return;
    }
    let mut command = clean(Path::new(env!("CARGO")));
    command.args(["xtask", "accept", "debian", "--all", "--no-install", "--prefix"]);
    let Output { status, stdout, stderr } = command.arg(prefix().dir()).output().expect("cargo");
    let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{status}\n{errors}\n{said}");
    for line in said.lines().filter(|line| line.contains(": skipped: ")) {
        skipped(test, line).expect("the list of skipped tests");
    }
}
