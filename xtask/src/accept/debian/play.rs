//! One case on one library: its own copy of the input, what prepares it, the program, what is shown.

use super::list::{self, Case};
use crate::compare::rounds;
use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What has Debian's Open MPI and its launcher.
pub(super) const PACKAGE: &str = "openmpi-bin";

/// The file that keeps what a run printed.
const SAID: &str = "said";

/// What runs the program.
pub(super) enum Library {
    /// Our installation.
    Ours(PathBuf),
    /// Debian's Open MPI.
    Debian,
}

impl Library {
    fn name(&self) -> &'static str {
        match self {
            Library::Ours(_) => "ours",
            Library::Debian => "openmpi",
        }
    }

    /// The launcher of so many ranks, also as root and on fewer processors.
    fn launcher(&self, ranks: u32) -> Command {
        let mut command = match self {
            Library::Ours(prefix) => run::command(&prefix.join("bin/mpirun").to_string_lossy()),
            Library::Debian => {
                let mut command = run::command("mpirun.openmpi");
                command.args(["--allow-run-as-root", "--oversubscribe"]);
                command
            }
        };
        command.args(["-n", &ranks.to_string()]);
        command
    }
}

/// What the program printed, and the line that shows more.
pub(super) fn play(case: &Case, ranks: u32, library: &Library, patience: u64) -> Result<String> {
    let folder = copy(case, ranks, library)?;
    let mut launch = library.launcher(ranks);
    launch.args(&case.run);
    let shell = |line: &str| {
        let mut command = run::command("sh");
        command.args(["-c", line]);
        command
    };
    let end = |command: &Command| end(command, case, ranks, patience, &folder);
    for line in &case.prepare {
        end(&shell(line))?;
    }
    let mut said = end(&launch)?;
    if let Some(line) = &case.show {
        said += &end(&shell(line))?;
    }
    fs::write(folder.join(SAID), &said)?;
    match case.says.iter().find(|words| !said.contains(words.as_str())) {
        Some(words) => {
            bail!("with {} it does not say \"{words}\" ({})", library.name(), kept(&folder))
        }
        None => Ok(said),
    }
}

/// A fresh copy of the input.
fn copy(case: &Case, ranks: u32, library: &Library) -> Result<PathBuf> {
    let name = format!("{}-{ranks}-{}", case.name, library.name());
    let folder = super::super::folder().join("debian").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    if let Some(input) = &case.folder {
        let input = list::folder().join(input).join(".");
        let copied = run::output(run::command("cp").arg("-R").arg(&input).arg(&folder));
        copied.with_context(|| format!("cannot copy {}", input.display()))?;
    }
    Ok(folder)
}

/// Runs one command to its end in the folder; what it printed.
fn end(command: &Command, case: &Case, ranks: u32, patience: u64, folder: &Path) -> Result<String> {
    let mut within = rounds::within(command, patience);
    within.current_dir(folder).envs(&case.environment).env("RANKS", ranks.to_string());
    let ended = within.stdin(Stdio::null()).output().context("cannot start timeout")?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    if ended.status.success() {
        return Ok(said);
    }
    let errors = String::from_utf8_lossy(&ended.stderr);
    fs::write(folder.join(SAID), format!("{said}\n{errors}"))?;
    let why = match ended.status.code() {
        Some(124) => format!("given up after {patience} s"),
        _ => ended.status.to_string(),
    };
    let spelled = run::spelled(command);
    bail!(
        "{spelled}: {why}, {} ({})",
        errors.lines().next_back().unwrap_or_default(),
        kept(folder)
    );
}

/// Where everything that a run printed is kept.
fn kept(folder: &Path) -> String {
    place::shown(&folder.join(SAID))
}
