//! The progress thread: what has begun goes on without calls, and programs in C and Fortran run with it as without.

use std::path::Path;

use testsuite::programs::{self, Batch};

/// Programs with all kinds of operations under way, of functions of their own that the library calls, and of sessions,
/// which open and close it.
const PROGRAMS: [&str; 13] = [
    "meanwhile",
    "multiple",
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
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("progress");
    let all = [&PROGRAMS[..], &NEAR].concat();
    let mut batch = Batch::compile(&into, &all).expect("programs that compile");
    for way in ["auto", "tcp"] {
        let settings = [("FERRITE_PROGRESS", "thread"), ("FERRITE_TRANSPORT", way)];
        batch.run(way, &|| programs::with(&settings), &|program| match way == "tcp"
            && NEAR.contains(&program.name.as_str())
        {
            true => Vec::new(),
            false => program.ranks.clone(),
        });
    }
    batch.verdict().unwrap();
}
