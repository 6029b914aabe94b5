//! Programs that rely on what a way of long messages does, each way that can be chosen: which of them
//! the library takes by itself is the machine's affair (decision 61).

use std::fs;
use std::path::Path;

use testsuite::prefix::Prefix;
use testsuite::programs;

/// What messages between two processes of one node can be made to take.
const WAYS: [(&str, &str); 5] = [
    ("FERRITE_SHM_BULK", "auto"),
    ("FERRITE_SHM_BULK", "cross_memory"),
    ("FERRITE_SHM_BULK", "pipeline"),
    ("FERRITE_SHM_BULK", "joint"),
    ("FERRITE_TRANSPORT", "tcp"),
];

/// Who sends before it receives, and messages of all lengths.
const PROGRAMS: [&str; 2] = ["sendfirst", "large"];

#[test]
fn programs_run_whichever_way_messages_go() {
    let prefix = Prefix::find().expect("a prefix");
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ways");
    fs::create_dir_all(&into).expect("a folder for programs");
    let mut failures = Vec::new();
    for program in programs::chosen(&PROGRAMS).expect("programs of the manifest") {
        let executable = program.compile(&prefix, &into).expect("it compiles");
        for way in WAYS {
            if let Err(error) = programs::run_with(&prefix, &executable, 2, &[way]) {
                failures.push(format!("{} with {}={}: {error:#}", program.name, way.0, way.1));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
