//! `cargo xtask test`: sets up what is missing, then runs every layer of tests in order.
//!
//! A layer that fails does not stop the next, except that nothing runs after a failed preparation.
//! The last layers are the checkers of `checkers`.

use crate::checkers::{self, CHECKERS};
use crate::report::Report;
use crate::tally::{self, Tally};
use crate::{install, peers, place, rdma, run, setup};
use anyhow::Result;
use std::process::ExitCode;

/// One layer of tests.
struct Layer {
    name: &'static str,
    /// Seconds that it may take on two cores.
    budget: u64,
    work: Work,
}

/// What a layer does.
enum Work {
    /// A command whose success is one check.
    Check(&'static [&'static str]),
    /// A cargo test command, whose tests are counted.
    Tests(&'static [&'static str]),
    /// The same under loom, built apart from everything else.
    Models(&'static [&'static str]),
    /// A task of our own that counts what it checks, and is skipped where it lacks something.
    Task(fn() -> Result<Tally>),
}

const LAYERS: &[Layer] = &[
    Layer { name: "format", budget: 10, work: Work::Check(&["fmt", "--all", "--check"]) },
    Layer {
        name: "lints",
        budget: 240,
        work: Work::Check(&[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Layer {
        name: "unit tests",
        budget: 420,
        work: Work::Tests(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins"]),
    },
    Layer {
        name: "test suite",
        budget: 600,
        work: Work::Tests(&["test", "--workspace", "--no-fail-fast", "--test", "*"]),
    },
    Layer {
        name: "models under loom",
        budget: 240,
        work: Work::Models(&["test", "--release", "--package", "transports", "--lib"]),
    },
    Layer {
        name: "examples in the documentation",
        budget: 60,
        work: Work::Tests(&["test", "--workspace", "--no-fail-fast", "--doc"]),
    },
    Layer { name: "RDMA in an emulated host", budget: 180, work: Work::Task(rdma::layer) },
];

/// What comes before the layers: without it the tests have nothing to run on.
struct Preparation {
    name: &'static str,
    /// Seconds that it may take on two cores.
    budget: u64,
    prepare: fn() -> Result<()>,
}

const PREPARATIONS: &[Preparation] = &[
    Preparation { name: "install", budget: 300, prepare: || install::install(&place::prefix()) },
    Preparation { name: "peers", budget: 180, prepare: || peers::peers(&[]) },
];

/// Runs all layers; `all` includes the tests that are marked as long (`#[ignore]`), tries more
/// random input, and adds the checkers that take long.
pub(crate) fn test(all: bool) -> Result<ExitCode> {
    setup::setup(false)?;
    let mut report = Report::begin()?;
    for Preparation { name, budget, prepare } in PREPARATIONS {
        report.layer(name, *budget, || {
            let prepared = prepare();
            if let Err(error) = &prepared {
                eprintln!("{name}: {error:#}");
            }
            Ok(Tally::check(prepared.is_ok()))
        })?;
    }
    if report.good() {
        for layer in LAYERS {
            report.layer(layer.name, layer.budget, || perform(layer, all))?;
        }
        for checker in CHECKERS.iter().filter(|checker| all || checker.short) {
            report.layer(checker.title, checker.budget, || checker.run())?;
        }
    }
    report.close()
}

fn perform(layer: &Layer, all: bool) -> Result<Tally> {
    let mut cargo = run::cargo();
    match layer.work {
        Work::Check(words) => return Ok(Tally::check(run::shown(cargo.args(words))?)),
        Work::Task(task) => return checkers::or_skipped(layer.name, task()),
        Work::Tests(words) => cargo
            .args(words)
            .env("FERRITE_TEST_PREFIX", place::prefix())
            .env("FERRITE_TEST_SKIPPED", place::skipped()),
        Work::Models(words) => {
            let apart = place::target().join("loom");
            cargo.args(words).env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", apart)
        }
    };
    if all {
        // Random input and seeds of simulated worlds: many times what every run tries.
        cargo.env("PROPTEST_CASES", "4096").env("FERRITE_TEST_SEEDS", "2000");
        cargo.args(["--", "--include-ignored"]);
    }
    tally::counted(&mut cargo)
}
