//! `cargo xtask check`, and the last layers of `cargo xtask test`: tools that look for whole kinds of
//! faults, where tests look for one each.
//!
//! Enters: the tree. Leaves: a tally, like that of a layer of tests. What a checker needs it
//! installs; what cannot be had makes it count as skipped, with the reason, and never as passed.
//! Memcheck and the fuzzers are ordinary tests of the test suite.

mod sanitizers;
mod tools;

use crate::report::{self, Report};
use crate::tally::{self, Tally};
use crate::{run, setup};
use anyhow::Result;
use std::fmt;
use std::process::ExitCode;

/// One tool, and how it is used on this tree.
pub(crate) struct Checker {
    /// Its name on the command line.
    name: &'static str,
    /// What it is, in the list of layers.
    pub(crate) title: &'static str,
    /// Seconds that it may take on two cores, not counting what has to be installed.
    pub(crate) budget: u64,
    /// Whether it runs in every test run, or only in long ones.
    pub(crate) short: bool,
    check: fn() -> Result<Tally>,
}

/// All of them, the short ones first.
pub(crate) const CHECKERS: &[Checker] = &[
    Checker {
        name: "aarch64",
        title: "check for aarch64",
        budget: 60,
        short: true,
        check: aarch64,
    },
    Checker { name: "deny", title: "licences and sources", budget: 10, short: false, check: deny },
    Checker { name: "miri", title: "core under miri", budget: 1200, short: false, check: miri },
    Checker {
        name: "address",
        title: "programs, addresses checked",
        budget: 600,
        short: false,
        check: || sanitizers::programs(&sanitizers::ADDRESS),
    },
    Checker {
        name: "thread",
        title: "programs, threads checked",
        budget: 600,
        short: false,
        check: || sanitizers::programs(&sanitizers::THREAD),
    },
];

/// What a checker or a layer needs and this machine cannot get.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Checker {
    /// Runs it; without what it needs it is noted as skipped, and counts for nothing.
    pub(crate) fn run(&self) -> Result<Tally> {
        or_skipped(self.title, (self.check)())
    }
}

/// What a check counts for: nothing, and noted as skipped, if it could not have what it needs.
pub(crate) fn or_skipped(title: &str, checked: Result<Tally>) -> Result<Tally> {
    match checked {
        Err(error) if error.is::<Missing>() => {
            report::skipped(title, &format!("{error:#}"))?;
            Ok(Tally::default())
        }
        checked => checked,
    }
}

/// The names of all, for the command line.
pub(crate) fn names() -> Vec<&'static str> {
    CHECKERS.iter().map(|checker| checker.name).collect()
}

/// Runs the checkers of these names, or all.
pub(crate) fn check(names: &[String]) -> Result<ExitCode> {
    setup::setup(false)?;
    let mut report = Report::begin()?;
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    for checker in CHECKERS.iter().filter(|checker| wanted(checker.name)) {
        report.layer(checker.title, checker.budget, || checker.run());
    }
    report.close()
}

/// What is installed compiles for a processor of another order of memory and other types in C, without
/// a warning.
fn aarch64() -> Result<Tally> {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    tools::target(TARGET)?;
    setup::cross_compiler().map_err(|error| Missing(format!("{error:#}")))?;
    let mut cargo = run::cargo();
    cargo.args(["check", "--quiet", "--target", TARGET]);
    // Not clippy: a cast that is needed where C's `char` has a sign is none that it accepts here.
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-Dwarnings");
    // The headers of verbs are the same for all processors.
    cargo.env("PKG_CONFIG_ALLOW_CROSS", "1");
    Ok(Tally::check(run::shown(&mut cargo)?))
}

/// What we depend on is licensed and comes from where `deny.toml` says.
fn deny() -> Result<Tally> {
    let deny = tools::cargo_deny()?;
    let command = || {
        let mut command = run::command(&deny.to_string_lossy());
        command.args(["--log-level", "error"]);
        command
    };
    let mut good = run::shown(command().args(["check", "bans", "licenses", "sources"]))?;
    // The known holes are in a list that cargo-deny fetches, which not every machine can.
    if run::output(command().args(["fetch", "db"])).is_some() {
        good &= run::shown(command().args(["--offline", "check", "advisories"]))?;
    } else {
        report::skipped("known holes of dependencies", "cargo-deny cannot fetch their list")?;
    }
    Ok(Tally::check(good))
}

/// The core's unit tests, interpreted: every access within what it was lent, every value valid, no
/// race.
fn miri() -> Result<Tally> {
    tools::miri()?;
    let mut cargo = run::command("rustup");
    cargo.args(["run", tools::NIGHTLY, "cargo", "miri", "test", "--package", "mpi-core", "--lib"]);
    // Proptest looks for the inputs that failed before. A few new ones are enough: what is wrong
    // shows in any that gets there.
    cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "2");
    tools::plain(&mut cargo);
    tally::counted(&mut cargo)
}
