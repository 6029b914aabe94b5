//! The generated files that are checked in: what users and readers look for.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{Description, coverage, fortran, header};

/// Each file's path in the repository at `root`, and its text.
pub fn generate(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let Description { procedures, bodies, .. } = &Description::read(root)?;
    let files = [
        ("include/mpi.h", header::file(procedures)?),
        ("include/mpif.h", fortran::mpif::file()?),
        ("docs/coverage.md", coverage::file(procedures, bodies, &root.join("testsuite"))?),
    ];
    Ok(files.map(|(path, text)| (PathBuf::from(path), text)).into())
}

/// Writes the files that differ and returns their paths.
pub fn write(root: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for (path, text) in generate(root)? {
        let to = root.join(&path);
        if fs::read_to_string(&to).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&to, text).with_context(|| to.display().to_string())?;
        written.push(path);
    }
    Ok(written)
}
