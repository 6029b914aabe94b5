//! The two foreign ABIs, for tests that compile with a peer's own headers and run on our face.
//!
//! Enters: `target/peers` and the installed prefix. Leaves: programs that were built by the peer's
//! `mpicc`, and what they say on our library and on the peer's.

use crate::peers;
use crate::prefix::{self, Prefix};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A family of MPI libraries with one ABI.
#[derive(Debug)]
pub struct Family {
    /// The peer whose headers stand for the family, in `testsuite/peers.toml`.
    pub peer: &'static str,
    /// The soname.
    pub library: &'static str,
}

/// MPICH and its relatives.
pub const MPICH: Family = Family { peer: "mpich", library: "libmpi.so.12" };
/// Open MPI.
pub const OPEN_MPI: Family = Family { peer: "openmpi", library: "libmpi.so.40" };

impl Family {
    /// Compiles a C program with the peer's `mpicc`, with further flags.
    ///
    /// # Errors
    /// When the peer is not there or the compiler complains.
    pub fn compile(&self, source: &Path, program: &Path, flags: &[&str]) -> Result<()> {
        self.compile_with(source, program, flags, &[])
    }

    /// The same with further libraries.
    ///
    /// # Errors
    /// As [`Family::compile`].
    pub fn compile_with(
        &self,
        source: &Path,
        program: &Path,
        flags: &[&str],
        libraries: &[&str],
    ) -> Result<()> {
        let mpicc = peers::environment(self.peer)?.join("bin/mpicc");
        let mut command = Command::new(mpicc);
        command.arg("-w").args(flags).arg(source).arg("-o").arg(program).args(libraries);
        let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
        if !output.status.success() {
            bail!("{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// The peer's library.
    ///
    /// # Errors
    /// When the peer is not there.
    pub fn peer_library(&self) -> Result<PathBuf> {
        Ok(peers::environment(self.peer)?.join("lib").join(self.library))
    }

    /// Runs a program on our library and returns what it wrote, after checking that it was ours.
    ///
    /// # Errors
    /// When the program fails.
    pub fn run_on_ours(&self, program: &Path, arguments: &[&str]) -> Result<String> {
        let ours = Prefix::find()?.lib(self.library);
        let lib = ours.parent().context("a library lies in a folder")?;
        let loaded = text(
            prefix::clean(program).env("LD_LIBRARY_PATH", lib).env("LD_TRACE_LOADED_OBJECTS", "1"),
        )?;
        if !loaded.contains(&*ours.to_string_lossy()) {
            bail!("{} does not load {}:\n{loaded}", program.display(), ours.display());
        }
        text(prefix::clean(program).args(arguments).env("LD_LIBRARY_PATH", lib))
    }

    /// Runs a program on the peer's library and returns what it wrote.
    ///
    /// # Errors
    /// When the program fails.
    pub fn run_on_peer(&self, program: &Path, arguments: &[&str]) -> Result<String> {
        let library = self.peer_library()?;
        let lib = library.parent().context("a library lies in a folder")?;
        text(prefix::clean(program).args(arguments).env("LD_LIBRARY_PATH", lib))
    }
}

/// Runs a command to its good end.
fn text(command: &mut Command) -> Result<String> {
    let Output { status, stdout, stderr } =
        command.output().with_context(|| format!("cannot run {command:?}"))?;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    if !status.success() {
        bail!("{command:?}: {status}\n{stdout}{}", String::from_utf8_lossy(&stderr));
    }
    Ok(stdout)
}

/// A source of `testsuite/faces`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("faces").join(name)
}
