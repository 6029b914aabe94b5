//! One run of a program, and what came out.

use crate::compare::samples::Key;
use std::path::{Path, PathBuf};

/// A program with its words on a number of ranks.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Case {
    /// What it is called in tables.
    pub(super) name: String,
    /// The file, from the suite's folder on.
    pub(super) program: PathBuf,
    pub(super) words: Vec<String>,
    pub(super) ranks: u32,
    /// Variables that the program is to find.
    pub(super) environment: Vec<(String, String)>,
    /// Words for the launcher.
    pub(super) launcher: Vec<String>,
    /// How a test of MPICH's is judged.
    pub(super) rule: Rule,
    /// Why it is not run at all.
    pub(super) left_out: Option<String>,
}

/// What a run must end like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Rule {
    /// Status 0, the line "No Errors", and nothing else.
    #[default]
    NoErrors,
    /// The same, and warnings and notices of an abort may be there.
    Warnings,
    /// A status that is not 0.
    Status,
    /// That, and the line.
    StatusNoErrors,
    /// Status 0.
    Bench,
}

/// What is left when a run has ended.
pub(super) struct Ended {
    /// The launcher's exit status; nothing if it was killed.
    pub(super) code: Option<i32>,
    pub(super) said: String,
    pub(super) errors: String,
    pub(super) seconds: f64,
}

impl Ended {
    /// The last lines that it complained in, the very last first.
    pub(super) fn last_words(&self) -> String {
        self.errors.lines().rev().take(3).collect::<Vec<_>>().join(" / ")
    }
}

/// What came out.
pub(super) enum Outcome {
    /// It was right by its own word.
    Passed {
        rows: Vec<(Key, f64)>,
        /// What every library must answer alike.
        answer: Option<String>,
    },
    Failed(String),
    Skipped(String),
}

/// The row of a case in a table.
pub(super) fn key(case: &Case, bytes: Option<u64>, unit: &str) -> Key {
    let variant = format!("{}-ranks", case.ranks);
    Key { ranks: case.ranks, test: case.name.clone(), variant, bytes, unit: unit.into() }
}

/// The name of a file without its folders.
pub(super) fn name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
