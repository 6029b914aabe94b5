//! `cargo xtask test`: sets up what is missing, then runs every layer of tests in order.
//!
//! A layer that fails does not stop the next, except that nothing runs after a failed preparation.
//! The last layers are the checkers of `checkers`.

use crate::checkers::{self, CHECKERS};
use crate::report::{self, Report};
use crate::tally::{self, Tally};
use crate::{install, peers, place, rdma, run, setup, suites};
use anyhow::Result;
use std::process::{Command, ExitCode};

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
    /// A cargo command that builds tests, which are run several programs at once and counted.
    Suites(&'static [&'static str]),
    /// A cargo test command, whose tests are counted.
    Tests(&'static [&'static str]),
    /// A task of our own that counts what it checks, and is skipped where it lacks something.
    Task(fn() -> Result<Tally>),
}

/// The unit tests and the test suite, in one build.
const TESTS: [&str; 4] = ["test", "--workspace", "--tests", "--no-run"];

/// What loom tries in every order of events; only the package itself is built for it.
const MODELS: [&str; 9] =
    ["rustc", "--package", "transports", "--lib", "--profile", "test", "--", "--cfg", "loom"];

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
    Layer { name: "build of the tests", budget: 300, work: Work::Check(&TESTS) },
    Layer { name: "tests", budget: 540, work: Work::Suites(&TESTS) },
    Layer {
        name: "examples in the documentation",
        budget: 60,
        work: Work::Tests(&["test", "--workspace", "--no-fail-fast", "--doc"]),
    },
];

/// Those that run at once, with the short checkers: the emulated host has one processor, and the
/// compiler can have the other.
const BESIDE: &[Layer] = &[
    Layer { name: "RDMA in an emulated host", budget: 150, work: Work::Task(rdma::layer) },
    Layer { name: "models under loom", budget: 120, work: Work::Suites(&MODELS) },
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
        report.layer(name, *budget, || prepare().map(|()| Tally::check(true)));
    }
    if report.good() {
        for layer in LAYERS {
            report.layer(layer.name, layer.budget, || perform(layer, all));
        }
        let (short, long): (Vec<_>, Vec<_>) = CHECKERS.iter().partition(|checker| checker.short);
        let beside = BESIDE.iter().map(|layer| report::Layer {
            name: layer.name,
            budget: layer.budget,
            run: Box::new(move || perform(layer, all)),
        });
        let short = short.into_iter().map(|checker| report::Layer {
            name: checker.title,
            budget: checker.budget,
            run: Box::new(|| checker.run()),
        });
        report.at_once(beside.chain(short).collect());
        for checker in long.into_iter().filter(|_| all) {
            report.layer(checker.title, checker.budget, || checker.run());
        }
    }
    report.close()
}

fn perform(layer: &Layer, all: bool) -> Result<Tally> {
    let mut cargo = run::cargo();
    match layer.work {
        Work::Check(words) => Ok(Tally::check(run::shown(cargo.args(words))?)),
        Work::Task(task) => checkers::or_skipped(layer.name, task()),
        Work::Suites(words) => suites::counted(words, &|program| {
            tell(program, all);
            if all {
                program.arg("--include-ignored");
            }
        }),
        Work::Tests(words) => {
            tell(cargo.args(words), all);
            if all {
                cargo.args(["--", "--include-ignored"]);
            }
            tally::counted(&mut cargo)
        }
    }
}

/// Tells tests where things are, and how much to try.
fn tell(command: &mut Command, all: bool) {
    command.env("FERRITE_TEST_PREFIX", place::prefix());
    command.env("FERRITE_TEST_SKIPPED", place::skipped());
    if all {
        // Random input and seeds of simulated worlds: many times what every run tries.
        command.env("PROPTEST_CASES", "4096").env("FERRITE_TEST_SEEDS", "2000");
    }
}
