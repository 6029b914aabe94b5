//! Where things are: the repository, cargo's target folder, the prefix used for trying things.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ lies in the repository")
}

/// Cargo's target folder: `target/`, or what CARGO_TARGET_DIR says.
pub(crate) fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The prefix that the demo, the tests and the README use.
pub(crate) fn prefix() -> PathBuf {
    target().join("ferrite")
}

/// The file in which tests that cannot run write their names and the reason.
pub(crate) fn skipped() -> PathBuf {
    target().join("skipped-tests")
}

/// A path as a person would type it from the root of the repository.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
