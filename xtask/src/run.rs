//! Starting other programs: each is shown before it runs, and its failure names it.

use crate::place;
use anyhow::{Context, Result, bail};
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A command that runs in the root of the repository.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(place::root());
    command
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    command(&env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
}

/// A command as it would be typed.
pub(crate) fn spelled(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let mut words = vec![program.rsplit('/').next().unwrap_or(&program).to_string()];
    words.extend(command.get_args().map(|word| {
        let word = word.to_string_lossy();
        if word.is_empty() || word.contains([' ', '$', '*', '\'', '"']) {
            format!("'{word}'")
        } else {
            word.into_owned()
        }
    }));
    words.join(" ")
}

/// Shows the command, runs it, and returns its status; an error only when it cannot be started.
pub(crate) fn shown(command: &mut Command) -> Result<bool> {
    println!("$ {}", spelled(command));
    let status = command.status().with_context(|| format!("cannot start {}", spelled(command)))?;
    Ok(status.success())
}

/// Shows the command, runs it, and insists that it succeeds.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    if !shown(command)? {
        bail!("failed: {}", spelled(command));
    }
    Ok(())
}

/// Runs the command quietly and returns what it printed, if it succeeded.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The file that a bare program name stands for, as the shell would find it.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Whether this runs under continuous integration.
pub(crate) fn ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true" || value == "1")
}
