//! `cargo xtask generate`: the files that are derived from the description of MPI.

use crate::place::root;
use anyhow::{Result, bail};
use std::fs;

/// Writes the generated files that are not current and names them; with `check` only names them,
/// and fails if there are any.
pub(crate) fn generate(check: bool) -> Result<()> {
    let stale = if check { stale()? } else { written()? };
    for name in &stale {
        println!("{} {name}", if check { "not current:" } else { "wrote" });
    }
    if stale.is_empty() {
        println!("everything generated is current");
    } else if check {
        bail!("run `cargo xtask generate`");
    }
    Ok(())
}

fn written() -> Result<Vec<String>> {
    Ok(mpi_api::write(root())?.iter().map(|path| path.display().to_string()).collect())
}

fn stale() -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for (path, text) in mpi_api::generate(root())? {
        if fs::read_to_string(root().join(&path)).is_ok_and(|old| old == text) {
            continue;
        }
        stale.push(path.display().to_string());
    }
    Ok(stale)
}
