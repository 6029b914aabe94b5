//! The installed prefix that tests of whole programs use.
//!
//! Enters: FERRITE_TEST_PREFIX, or else `target/ferrite`. Leaves: paths, and commands with a clean
//! environment. A test that needs the prefix fails without it; it never skips.

use anyhow::{Result, bail};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names another prefix than `target/ferrite`.
pub const VARIABLE: &str = "FERRITE_TEST_PREFIX";

/// Each face's library, which is also the name it bears.
pub const FACES: [&str; 3] = ["libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40"];

/// A prefix made by `cargo xtask install`.
pub struct Prefix {
    dir: PathBuf,
}

impl Prefix {
    /// Finds the prefix, or says how to make one.
    ///
    /// # Errors
    /// When nothing is installed there.
    pub fn find() -> Result<Prefix> {
        let dir = env::var_os(VARIABLE).map_or_else(|| target().join("ferrite"), PathBuf::from);
        let prefix = Prefix { dir };
        if !prefix.bin("mpicc").exists() {
            bail!(
                "there is no Ferrite MPI in {}; `cargo xtask test` installs it, and so does \
                 `cargo xtask install --prefix target/ferrite` ({VARIABLE} names another place)",
                prefix.dir.display()
            );
        }
        Ok(prefix)
    }

    /// The prefix itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A program of the prefix.
    pub fn bin(&self, name: &str) -> PathBuf {
        self.dir.join("bin").join(name)
    }

    /// A library of the prefix.
    pub fn lib(&self, name: &str) -> PathBuf {
        self.dir.join("lib").join(name)
    }

    /// A command that runs a program of the prefix; the test's own variable does not reach it,
    /// because a name FERRITE_* that is no setting is an error there.
    pub fn command(&self, name: &str) -> Command {
        clean(&self.bin(name))
    }
}

/// A command without the variables that are meant for the tests themselves.
pub fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove(VARIABLE);
    command
}

/// Cargo's target folder, as the tests see it.
pub fn target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root.join(dir),
        None => root.join("target"),
    }
}
