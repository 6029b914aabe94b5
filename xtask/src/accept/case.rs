//! One run of a program, what came out, and which suite reads it.

use super::{imb, mpi4py, mpich, npb, osu, smg};
use crate::compare::samples::Key;
use anyhow::Result;
use clap::ValueEnum;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Whose programs they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Suite {
    /// The NAS parallel benchmarks: files named like cg.A.4 or cg.A.x
    Npb,
    /// A multigrid solver on a structured grid: smg2000, or hypre's struct
    Smg,
    /// Intel's MPI benchmarks: IMB-MPI1 and its like
    Imb,
    /// The OSU micro-benchmarks: files named `osu_…`, also in sub-folders
    Osu,
    /// MPICH's tests: folders with a file testlist
    Mpich,
    /// mpi4py's tests: the folder with their main.py
    Mpi4py,
    /// Programs of Debian's packages, beside its Open MPI (no folder)
    Debian,
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Suite::Npb => "npb",
            Suite::Smg => "smg",
            Suite::Imb => "imb",
            Suite::Osu => "osu",
            Suite::Mpich => "mpich",
            Suite::Mpi4py => "mpi4py",
            Suite::Debian => "debian",
        })
    }
}

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
    pub(super) rule: mpich::Rule,
    /// Why it is not run at all.
    pub(super) left_out: Option<String>,
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

impl Suite {
    /// The cases of a folder on these numbers of ranks.
    pub(super) fn cases(self, folder: &Path, np: &[u32], words: &[String]) -> Result<Vec<Case>> {
        let mut cases = match self {
            Suite::Npb => npb::cases(&files(folder)?, np),
            Suite::Smg => smg::cases(&files(folder)?, np),
            Suite::Imb => imb::cases(&files(folder)?, np),
            Suite::Osu => osu::cases(&files(folder)?, np),
            Suite::Mpich => mpich::cases(folder)?,
            Suite::Mpi4py => mpi4py::cases(folder, np),
            Suite::Debian => Vec::new(), // `debian` reads its own list
        };
        for case in &mut cases {
            case.words.extend_from_slice(words);
        }
        Ok(cases)
    }

    /// Whether a run was right, and its times.
    pub(super) fn judge(self, case: &Case, ended: &Ended) -> Outcome {
        match self {
            Suite::Mpich => return mpich::judge(case, ended),
            Suite::Mpi4py => return mpi4py::judge(ended),
            _ => {}
        }
        if ended.code != Some(0) {
            let why = match ended.code {
                Some(124) => "given up".into(),
                Some(code) => format!("exit status {code}"),
                None => "killed".into(),
            };
            return Outcome::Failed(format!("{why} {}", ended.last_words()));
        }
        let mut outcome = match self {
            Suite::Npb => npb::judge(case, &ended.said),
            Suite::Smg => smg::judge(case, &ended.said),
            Suite::Imb => imb::judge(case, &ended.said),
            _ => osu::judge(case, &ended.said),
        };
        // What prints no time is timed from its start to its exit.
        if let Outcome::Passed { rows, .. } = &mut outcome
            && rows.is_empty()
        {
            rows.push((key(case, None, "ms"), ended.seconds * 1e3));
        }
        outcome
    }
}

/// The row of a case in a table.
pub(super) fn key(case: &Case, bytes: Option<u64>, unit: &str) -> Key {
    let variant = format!("{}-ranks", case.ranks);
    Key { ranks: case.ranks, test: case.name.clone(), variant, bytes, unit: unit.into() }
}

/// The executable files of a folder and its sub-folders, in order, from the folder on.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if entry.metadata()?.permissions().mode() & 0o111 != 0 {
                found.push(entry.path().strip_prefix(folder)?.to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The name of a file without its folders.
pub(super) fn name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
