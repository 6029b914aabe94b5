//! The tests of mpi4py: the folder `test` of its sources, run by the interpreter of `cargo xtask peers mpi4py`,
//! whose wheel is built for no library in particular.

use super::case::{Case, Ended, Outcome};
use crate::place;
use std::path::Path;

/// What runs all tests.
const MAIN: &str = "main.py";

/// The families of libraries that the wheel can be told to look for, and a test that expects a library of MPI-3.1.
const FAMILIES: [(&str, Option<&str>); 2] =
    [("mpich", None), ("openmpi", Some("testContiguousBigMPI"))];

/// Modules that are left out: of memory of the program in windows, of processes that come later, of processes that
/// fail; and the standard ABI's own names, which neither family has.
const MODULES: [&str; 8] =
    ["test_rma", "test_win", "util_sync", "spawn", "dynproc", "util_pool", "ulfm", "mpiabi"];

/// Of another module those of windows, and tests that expect what the standard does not say (docs/conformance.md).
const TESTS: [&str; 6] = [
    "TestMessageRMA",
    "testHVector",
    "testPair",
    "testValueIndex",
    "TestDatarep",
    "testCreateGroup",
];

/// The cases of such a folder.
pub(super) fn cases(folder: &Path, np: &[u32]) -> Vec<Case> {
    if !folder.join(MAIN).is_file() {
        return Vec::new();
    }
    let python = place::target().join("peers/mpi4py/bin/python3");
    let case = |(family, old): (&str, Option<&str>), ranks: u32| Case {
        name: format!("mpi4py-{family}"),
        program: MAIN.into(),
        words: words(old),
        ranks,
        environment: vec![("MPI4PY_MPIABI".into(), family.into())],
        launcher: vec![python.display().to_string()],
        ..Case::default()
    };
    FAMILIES.iter().flat_map(|family| np.iter().map(|ranks| case(*family, *ranks))).collect()
}

fn words(old: Option<&str>) -> Vec<String> {
    let modules = MODULES.iter().map(|name| ["-e", *name]);
    let tests = TESTS.into_iter().chain(old).map(|name| ["-x", name]);
    modules.chain(tests).flatten().map(str::to_string).collect()
}

/// The first rank tells how many tests it ran, and which of them were wrong.
pub(super) fn judge(ended: &Ended) -> Outcome {
    let named = |line: &&str| line.starts_with("FAIL:") || line.starts_with("ERROR:");
    let wrong: Vec<&str> = ended.errors.lines().filter(named).collect();
    let ran = ended.errors.lines().find(|line| line.starts_with("Ran "));
    match (ended.code, ran) {
        (Some(0), Some(_)) => Outcome::Passed { rows: Vec::new(), answer: None },
        (_, Some(ran)) => Outcome::Failed(format!("{ran}: {}", wrong.join(", "))),
        (code, None) => Outcome::Failed(format!("it ended with {code:?} {}", ended.last_words())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_says_is_read() {
        let ended = |code, errors: &str| Ended {
            code: Some(code),
            said: String::new(),
            errors: errors.into(),
            seconds: 1.0,
        };
        let good = "..s.\n-----\nRan 4 tests in 0.1s\n\nOK (skipped=1)\n";
        assert!(matches!(judge(&ended(0, good)), Outcome::Passed { .. }));
        let bad = "ERROR: testPair (test_datatype.TestDatatype)\nRan 4 tests in 0.1s\n\nFAILED\n";
        let Outcome::Failed(why) = judge(&ended(1, bad)) else { panic!("one test is wrong") };
        assert_eq!(why, "Ran 4 tests in 0.1s: ERROR: testPair (test_datatype.TestDatatype)");
        assert!(matches!(judge(&ended(0, "")), Outcome::Failed(_)));
    }
}
