//! The program that makes random traffic and checks every word of it: `testsuite/soak`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::prefix::Prefix;

/// Compiles it into a folder.
///
/// # Errors
/// What the compiler says.
pub fn compile(prefix: &Prefix, into: &Path) -> Result<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("soak");
    let program = into.join("soak");
    let mut command = prefix.command("mpicc");
    command.args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-o"]);
    command.arg(&program);
    command.args(["soak.c", "messages.c", "collectives.c"].map(|file| sources.join(file)));
    let output = command.output().context("cannot start mpicc")?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(program)
}
