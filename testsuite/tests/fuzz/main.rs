//! Calls of any procedure with any arguments, on the three faces: `testsuite/fuzz`, with the table of procedures that
//! the library's description gives. No call ends the program, waits for ever or writes where it may not.
//!
//! The short test plays the first rounds of one seed. The long one, ten minutes of new seeds, runs with `cargo xtask
//! test --all`; FUZZ_MINUTES and FUZZ_SEED change its length and make it play a certain seed. A complaint names seed
//! and round: `target/fuzz/FACE/fuzz --seed SEED --from ROUND --rounds 1 --loud 1`, with LD_LIBRARY_PATH of the prefix,
//! plays that round again and shows each call. Where handles that earlier rounds freed matter, `--from 0` without
//! `--rounds` comes to it.

mod table;

use mpi_api::Description;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};
use testsuite::families::{Family, MPICH, OPEN_MPI};
use testsuite::prefix::{Prefix, clean, target};

/// Minutes of the long test, if nobody says otherwise.
const MINUTES: f64 = 10.0;

const SOURCES: [&str; 5] = ["fuzz.c", "pools.c", "values.c", "promises.c", "callbacks.c"];

/// A face, the family whose headers a program for it is compiled with, and its library.
type FaceOf = (&'static str, Option<&'static Family>, &'static str);

const FACES: [FaceOf; 3] = [
    ("standard", None, "libmpi_abi.so.1"),
    ("mpich", Some(&MPICH), MPICH.library),
    ("openmpi", Some(&OPEN_MPI), OPEN_MPI.library),
];

/// Compiles the fuzzer for a face.
fn compiled(prefix: &Prefix, face: FaceOf, into: &Path) -> PathBuf {
    let (name, family, _) = face;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let description = Description::read(root).expect("the description");
    let table = into.join("table.c");
    fs::write(&table, table::table(&description.procedures, name)).expect("a table");
    let (folder, program) = (root.join("testsuite/fuzz"), into.join("fuzz"));
    let mut command = match family {
        None => prefix.command("mpicc"),
        Some(family) => {
            let peer = testsuite::peers::environment(family.peer).expect("a peer");
            Command::new(peer.join("bin/mpicc"))
        }
    };
    command.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    command.arg("-I").arg(&folder).arg("-o").arg(&program).arg(&table);
    command.args(SOURCES.map(|source| folder.join(source))).arg("-ldl");
    told(&mut command);
    program
}

/// Runs a command that must succeed; what it printed.
fn told(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("a command that starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Plays on a face; `words` say how long and which seed.
fn fuzz(face: FaceOf, words: &[String]) {
    let prefix = Prefix::find().expect("a prefix");
    // What a failure leaves is there to play it again.
    let folder = target().join("fuzz").join(face.0);
    fs::create_dir_all(&folder).expect("a folder");
    let program = compiled(&prefix, face, &folder);
    let files = tempfile::tempdir().expect("a folder");
    let library = prefix.lib(face.2);
    let mut command = clean(&program);
    command.args(words).current_dir(files.path());
    command.env("LD_LIBRARY_PATH", library.parent().expect("a folder of libraries"));
    let said = told(&mut command);
    assert!(said.starts_with("ok: "), "{said}");
    println!("{}: {}", face.0, said.trim_end());
}

fn a_few_seeds(face: FaceOf) {
    let words = ["--seed", "1", "--rounds", "250"].map(String::from);
    fuzz(face, &words);
}

#[test]
fn any_call_returns_on_the_standard_abi() {
    a_few_seeds(FACES[0]);
}

#[test]
fn any_call_returns_on_mpich_s_abi() {
    a_few_seeds(FACES[1]);
}

#[test]
fn any_call_returns_on_open_mpi_s_abi() {
    a_few_seeds(FACES[2]);
}

#[test]
#[ignore = "takes ten minutes"]
fn any_call_returns_for_ten_minutes() {
    let minutes = env::var("FUZZ_MINUTES").map_or(MINUTES, |text| text.parse().expect("minutes"));
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let seed = env::var("FUZZ_SEED").map_or_else(|_| clock(), |text| text.parse().expect("a seed"));
    let each = minutes * 60.0 / FACES.len() as f64;
    for face in FACES {
        fuzz(
            face,
            &["--seconds", &each.to_string(), "--seed", &seed.to_string()].map(String::from),
        );
    }
}
