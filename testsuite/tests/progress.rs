//! The progress thread: what has begun goes on without calls, and programs in C and Fortran run with it as without.

use std::fs;
use std::path::Path;

use testsuite::prefix::Prefix;
use testsuite::programs;

/// Programs with all kinds of operations under way, of functions of their own that the library calls, and of sessions,
/// which open and close it.
const PROGRAMS: [&str; 12] = [
    "meanwhile",
    "icollectives",
    "pcollectives",
    "nonblocking",
    "persistent",
    "userops",
    "attributes",
    "generalized",
    "sessions",
    "sessionthreads",
    "fortran_f08",
    "fortran_mpi",
];

/// Programs that want to share memory.
const NEAR: [&str; 2] = ["onesided", "windows"];

#[test]
fn programs_run_beside_a_progress_thread() {
    let prefix = Prefix::find().expect("a prefix");
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("progress");
    fs::create_dir_all(&into).expect("a folder for programs");
    let mut failures = Vec::new();
    for program in programs::chosen(&[&PROGRAMS[..], &NEAR].concat()).expect("they are listed") {
        let executable = program.compile(&prefix, &into).expect("it compiles");
        let is_near = NEAR.contains(&program.name.as_str());
        for way in ["auto", "tcp"].into_iter().take(if is_near { 1 } else { 2 }) {
            let settings = [("FERRITE_PROGRESS", "thread"), ("FERRITE_TRANSPORT", way)];
            for &ranks in &program.ranks {
                if let Err(error) = programs::run_with(&prefix, &executable, ranks, &settings) {
                    failures.push(format!("{} over {way} on {ranks}: {error:#}", program.name));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
