//! The programs in C, each compiled by our mpicc and run by our mpirun: one test for each program
//! and number of ranks, named like `pingpong on 2`.
//!
//! This test program has no libtest harness, since its tests are found in a folder; it prints the
//! same lines and takes filters, `--skip`, `--list` and `--include-ignored` as libtest does.

use anyhow::Result;
use parking_lot::Mutex;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Instant;
use testsuite::prefix::Prefix;
use testsuite::programs::{self, Program};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let (filters, skipped) = chosen(&words);
    let wanted = |name: &str| {
        let any = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        !any(&skipped) && (filters.is_empty() || any(&filters))
    };
    let programs = programs::listed().expect("the manifest");
    if words.iter().any(|word| word == "--list") {
        for name in programs.iter().flat_map(names).filter(|name| wanted(name)) {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    let tally = Mutex::new(Tally::default());
    let queue = Mutex::new(
        programs.iter().filter(|program| names(program).iter().any(|name| wanted(name))),
    );
    let work = || {
        while let Some(program) = next(&queue) {
            try_out(program, &wanted, &tally);
        }
    };
    // One compiles while the other runs.
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    tally.into_inner().close(start)
}

fn next<'a>(queue: &Mutex<impl Iterator<Item = &'a Program>>) -> Option<&'a Program> {
    queue.lock().next()
}

/// Parts of the names of tests: those that run if there are any, and those that do not.
fn chosen(words: &[String]) -> (Vec<&str>, Vec<&str>) {
    let (mut filters, mut skipped) = (Vec::new(), Vec::new());
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "--skip" {
            skipped.extend(words.next());
        } else if !word.starts_with('-') {
            filters.push(word);
        }
    }
    (filters, skipped)
}

fn names(program: &Program) -> Vec<String> {
    program.ranks.iter().map(|ranks| format!("{} on {ranks}", program.name)).collect()
}

/// Compiles a program and runs it on each of its numbers of ranks.
fn try_out(program: &Program, wanted: &dyn Fn(&str) -> bool, tally: &Mutex<Tally>) {
    let compiled = compile(program);
    for (name, ranks) in names(program).iter().zip(&program.ranks) {
        if wanted(name) {
            let ran = match &compiled {
                Ok((prefix, executable)) => programs::run(prefix, executable, *ranks),
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            tally.lock().take(name, ran);
        }
    }
}

fn compile(program: &Program) -> Result<(Prefix, PathBuf)> {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    fs::create_dir_all(&into)?;
    let prefix = Prefix::find()?;
    let executable = program.compile(&prefix, &into)?;
    Ok((prefix, executable))
}

/// What libtest would count and print.
#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<String>,
}

impl Tally {
    fn take(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("test {name} ... ok");
            }
            Err(error) => {
                println!("test {name} ... FAILED");
                println!("{error:#}");
                self.failures.push(name.to_string());
            }
        }
    }

    fn close(self, start: Instant) -> ExitCode {
        if !self.failures.is_empty() {
            println!("\nfailures:\n    {}", self.failures.join("\n    "));
        }
        println!(
            "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; \
             finished in {:.2}s",
            if self.failures.is_empty() { "ok" } else { "FAILED" },
            self.passed,
            self.failures.len(),
            start.elapsed().as_secs_f64()
        );
        if self.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
