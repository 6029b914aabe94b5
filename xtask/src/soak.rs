//! `cargo xtask soak`: random traffic with every word checked, for as long as one likes.
//!
//! Enters: minutes, a seed. Leaves: the verdict of the long test in `testsuite/tests/soak.rs`.

use crate::{install, place, run};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// How long, and what.
#[derive(Args)]
pub(crate) struct Options {
    /// Minutes, shared by the numbers of ranks that are played
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Play from this seed instead of a new one
    #[arg(long)]
    seed: Option<u64>,
    /// An installation; without it the tree is built and installed in target/ferrite
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// Installs, and plays.
pub(crate) fn soak(options: &Options) -> Result<()> {
    let prefix = match &options.prefix {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            install::install(&place::prefix())?;
            place::prefix()
        }
    };
    let mut cargo = run::cargo();
    cargo.args(["test", "--quiet", "-p", "testsuite", "--test", "soak", "--"]);
    cargo.args(["--ignored", "--nocapture"]);
    cargo.env("FERRITE_TEST_PREFIX", prefix).env("SOAK_MINUTES", options.minutes.to_string());
    if let Some(seed) = options.seed {
        cargo.env("SOAK_SEED", seed.to_string());
    }
    run::must(&mut cargo)
}
