//! One case on one library, from its folder, given up after a while.

use super::case::{Case, Ended, Outcome};
use super::suite::Suite;
use crate::compare::contestants::Contestant;
use crate::compare::rounds;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// Runs and judges.
pub(super) fn run(
    suite: Suite,
    case: &Case,
    library: &Contestant,
    folder: &Path,
    patience: u64,
) -> Outcome {
    let program = folder.join(&case.program);
    if let Some(why) = &case.left_out {
        return Outcome::Skipped(why.clone());
    }
    if !program.is_file() {
        return Outcome::Skipped(format!("no {}", program.display()));
    }
    match end(case, library, &program, patience) {
        Ok(ended) => suite.judge(case, &ended),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// Runs it to its end.
fn end(case: &Case, library: &Contestant, program: &Path, patience: u64) -> Result<Ended> {
    let mut launch = library.launcher(case.ranks);
    launch.args(["-n", &case.ranks.to_string()]).args(&case.launcher);
    launch.envs(case.environment.iter().map(|(name, value)| (name, value)));
    launch.arg(program).args(&case.words);
    let mut command = rounds::within(&launch, patience);
    command.current_dir(program.parent().context("a program without a folder")?);
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().context("cannot be started")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended {
        code: output.status.code(),
        said: text(&output.stdout),
        errors: text(&output.stderr),
        seconds: start.elapsed().as_secs_f64(),
    })
}
