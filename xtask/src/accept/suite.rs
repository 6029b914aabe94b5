//! Whose programs are run: how each suite's cases are found, and who reads what came out.

use super::case::{Case, Ended, Outcome, key};
use super::{imb, mpi4py, mpich, npb, osu, smg};
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

/// The executable files of a folder and its sub-folders, in order, from the folder on.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
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
