//! What the steps run: C programs compiled by our mpicc, examples of our crates, and whether the library
//! has a network at all.

use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles the sources; the folder that has the programs.
pub(super) fn programs(prefix: &Path, sources: &[String]) -> Result<PathBuf> {
    let folder = place::target().join("rdma/programs");
    fs::create_dir_all(&folder).context("cannot make target/rdma/programs")?;
    for source in sources {
        let path = Path::new(source);
        let program = folder.join(path.file_stem().context("a source has a name")?);
        let mut mpicc = run::command(&prefix.join("bin/mpicc").to_string_lossy());
        mpicc.args(["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-o"]).arg(program);
        mpicc.arg(place::root().join(path)).arg("-lm");
        let output =
            mpicc.output().with_context(|| format!("cannot start {}", run::spelled(&mpicc)))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("failed: {}\n{said}", run::spelled(&mpicc));
        }
    }
    Ok(folder)
}

/// Builds those examples that exist, named as PACKAGE/NAME: as the tests are built, with which they
/// share the rest.
pub(super) fn examples(names: &[String]) -> Result<()> {
    let mut cargo = run::cargo();
    cargo.args(["build", "--quiet", "--profile", "test", "--workspace"]);
    let mut any = false;
    for name in names {
        let (package, example) = name.split_once('/').context("an example is PACKAGE/NAME")?;
        if place::root().join(package).join(format!("examples/{example}.rs")).exists() {
            cargo.args(["--example", example]);
            any = true;
        }
    }
    if any { run::must(&mut cargo) } else { Ok(()) }
}

/// Why the library refuses a value of `FERRITE_TRANSPORT`, if it does.
pub(super) fn refused(prefix: &Path, word: &str) -> Option<String> {
    let mut mpirun = Command::new(prefix.join("bin/mpirun"));
    mpirun.arg("--settings").env("FERRITE_TRANSPORT", word).stdin(Stdio::null());
    match mpirun.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("{}: {error}", run::spelled(&mpirun))),
    }
}
