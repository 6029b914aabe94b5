//! Programs under valgrind's memcheck, which must have nothing to say: no value is used that nobody
//! wrote, nothing is touched that nobody has, and nothing is lost. No report is suppressed.

use std::fs;
use std::path::{Path, PathBuf};
use testsuite::prefix::Prefix;
use testsuite::programs::chosen;

/// Short ones for every run.
const SHORT: [&str; 2] = ["attributes", "persistent"];

/// Programs that between them make and free every kind of object, and move data in every way.
const LONG: [&str; 10] = [
    "communicators",
    "errhandlers",
    "files",
    "generalized",
    "icollectives",
    "intercomms",
    "reduce",
    "structs",
    "topologies",
    "windows",
];

/// More ranks do nothing else.
const RANKS_MAX: u32 = 2;

const VALGRIND: [&str; 6] = [
    "valgrind",
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
];

/// Runs an executable on so many ranks; `None` if it said `expected` and valgrind said nothing.
fn complaint(prefix: &Prefix, executable: &Path, ranks: u32, expected: &str) -> Option<String> {
    let mut mpirun = prefix.command("mpirun");
    mpirun.args(["--timeout", "120", "-n", &ranks.to_string()]).args(VALGRIND).arg(executable);
    let output = mpirun.output().expect("mpirun starts; `cargo xtask setup` installs valgrind");
    let (told, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let good = output.status.success() && told == expected && errors.is_empty();
    let name = executable.display();
    (!good).then(|| format!("{name} on {ranks}: {}\n{told}{errors}", output.status))
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memcheck");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn say_nothing(names: &[&str]) {
    let (prefix, folder) = (Prefix::find().expect("a prefix"), folder());
    let mut complaints = Vec::new();
    for program in chosen(names).expect("programs that run") {
        let executable = program.compile(&prefix, &folder).expect("it compiles");
        let ranks = program.ranks.iter().filter(|ranks| **ranks <= RANKS_MAX);
        complaints
            .extend(ranks.filter_map(|ranks| complaint(&prefix, &executable, *ranks, "ok\n")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn memcheck_says_nothing_of_short_programs() {
    say_nothing(&SHORT);
}

#[test]
#[ignore = "a minute"]
fn memcheck_says_nothing_of_ten_programs() {
    say_nothing(&LONG);
}

/// A checker that finds nothing in a wrong program checks nothing.
#[test]
fn memcheck_finds_a_value_that_nobody_wrote() {
    let prefix = Prefix::find().expect("a prefix");
    let source = folder().join("unwritten.c");
    let executable = folder().join("unwritten");
    let text = "#include <mpi.h>\n#include <stdlib.h>\n\
                int main(int argc, char **argv) {\n\
                int *count = malloc(sizeof *count), got = 0;\n\
                MPI_Init(&argc, &argv);\n\
                MPI_Sendrecv(count, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, MPI_COMM_SELF,\n\
                MPI_STATUS_IGNORE);\n\
                if (got == 0) MPI_Barrier(MPI_COMM_SELF);\n\
                free(count);\n\
                return MPI_Finalize();\n}\n";
    fs::write(&source, text).expect("written");
    let mut mpicc = prefix.command("mpicc");
    let compiled = mpicc.args(["-g", "-o"]).arg(&executable).arg(&source).status();
    assert!(compiled.expect("mpicc starts").success());
    let complaint = complaint(&prefix, &executable, 1, "").expect("a complaint");
    assert!(complaint.contains("uninitialised value"), "{complaint}");
}
