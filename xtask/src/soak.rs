//! `cargo xtask soak`: random traffic with every word checked, for as long as one likes, on one host or on four
//! with random mishaps.
//!
//! Enters: minutes or runs, a seed. Leaves: the verdict of the long test in `testsuite/tests/soak.rs`
//! or `testsuite/tests/mishaps`.

use crate::{install, place, run};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use std::process::Command;

/// Minutes of traffic, if nobody says otherwise.
const MINUTES: f64 = 10.0;

/// How long, and what.
#[derive(Args)]
pub(crate) struct Options {
    /// Minutes, shared by the numbers of ranks that are played [default: 10]; with --faults, after which no run begins
    #[arg(long)]
    minutes: Option<f64>,
    /// Play from this seed instead of a new one
    #[arg(long)]
    seed: Option<u64>,
    /// Kill processes and disturb the network meanwhile, on four hosts (namespaces; needs root and nftables)
    #[arg(long)]
    faults: bool,
    /// How many jobs something is done to, two of three killings, one a fault of the network
    #[arg(long, requires = "faults", default_value_t = 300)]
    runs: u32,
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
    let (test, variables) = if options.faults { ("mishaps", "MISHAPS") } else { ("soak", "SOAK") };
    let mut cargo = run::cargo();
    cargo.args(["test", "--quiet", "-p", "testsuite", "--test", test, "--"]);
    cargo.args(["--ignored", "--nocapture"]).env("FERRITE_TEST_PREFIX", prefix);
    let tell = |cargo: &mut Command, name: &str, value: Option<String>| {
        if let Some(value) = value {
            cargo.env(format!("{variables}_{name}"), value);
        }
    };
    let minutes = options.minutes.or((!options.faults).then_some(MINUTES));
    tell(&mut cargo, "MINUTES", minutes.map(|minutes| minutes.to_string()));
    tell(&mut cargo, "SEED", options.seed.map(|seed| seed.to_string()));
    tell(&mut cargo, "RUNS", options.faults.then(|| options.runs.to_string()));
    run::must(&mut cargo)
}
