//! The other MPI libraries, for tests that run what was built with them.
//!
//! Enters: the environments that `cargo xtask peers` makes in `target/peers`. Leaves: paths. A test
//! that needs one fails without it; it never skips.

use crate::prefix::target;
use anyhow::{Result, bail};
use std::path::PathBuf;

/// The environment of one of the peers in `testsuite/peers.toml`.
///
/// # Errors
/// When it has not been made.
pub fn environment(name: &str) -> Result<PathBuf> {
    let dir = target().join("peers").join(name);
    if !dir.join("pins").is_file() {
        bail!("there is no {}; `cargo xtask peers {name}` downloads it", dir.display());
    }
    Ok(dir)
}
