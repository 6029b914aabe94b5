//! `cargo xtask test`: sets up what is missing, then runs every layer of tests in order.
//!
//! A layer that fails does not stop the next, except that nothing runs after a failed preparation.
//! At the end stand the seconds of each layer beside its budget, and the sum over everything as
//! the plain line `N passed, N failed`.

use crate::tally::{self, Tally};
use crate::{install, peers, place, run, setup};
use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

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

/// Runs all layers; `all` includes the tests that are marked as long (`#[ignore]`), and tries more
/// random input.
pub(crate) fn test(all: bool) -> Result<ExitCode> {
    setup::setup(false)?;
    let (mut total, mut lines) = (Tally::default(), Vec::new());
    // Tests that cannot run here write their names and the reason into this file.
    let skipped = place::target().join("skipped-tests");
    fs::write(&skipped, "").context("cannot write the list of skipped tests")?;
    for Preparation { name, budget, prepare } in PREPARATIONS {
        println!("== {name}");
        let start = Instant::now();
        let prepared = prepare();
        if let Err(error) = &prepared {
            eprintln!("{name}: {error:#}");
        }
        let tally = Tally::check(prepared.is_ok());
        lines.push(summary(name, start, *budget, tally));
        total.add(tally);
    }
    let prepared = total.failed == 0;
    for layer in LAYERS.iter().filter(|_| prepared) {
        println!("== {}", layer.name);
        let start = Instant::now();
        let tally = perform(layer, all)?;
        lines.push(summary(layer.name, start, layer.budget, tally));
        total.add(tally);
    }
    println!("== layers");
    for line in lines {
        println!("{line}");
    }
    let skipped = fs::read_to_string(&skipped).context("the list of skipped tests is gone")?;
    skipped.lines().for_each(|line| println!("skipped: {line}"));
    println!("{} skipped for want of something", skipped.lines().count());
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn perform(layer: &Layer, all: bool) -> Result<Tally> {
    let mut cargo = run::cargo();
    match layer.work {
        Work::Check(words) => return Ok(Tally::check(run::shown(cargo.args(words))?)),
        Work::Tests(words) => cargo
            .args(words)
            .env("FERRITE_TEST_PREFIX", place::prefix())
            .env("FERRITE_TEST_SKIPPED", place::target().join("skipped-tests")),
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
    counted(&mut cargo)
}

/// Runs cargo test, shows what is worth showing, and counts.
fn counted(cargo: &mut Command) -> Result<Tally> {
    println!("$ {}", run::spelled(cargo));
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let mut tally = Tally::default();
    let output = child.stdout.take().context("the output is a pipe")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        tally.line(&line);
        if tally::worth_showing(&line) {
            println!("{line}");
        }
    }
    tally.finish(child.wait()?.success());
    Ok(tally)
}

fn summary(name: &str, start: Instant, budget: u64, tally: Tally) -> String {
    let seconds = start.elapsed().as_secs();
    let over = if seconds > budget { "  over its budget" } else { "" };
    format!(
        "{name:<30} {seconds:>5} s of {budget:>4} s  {:>6} ok {:>4} failed{over}",
        tally.passed, tally.failed
    )
}
