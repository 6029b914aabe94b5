//! Counting what libtest prints: enters a test run's output, leaves passed and failed.

use crate::run;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Passed and failed, of one layer or of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests and checks that succeeded.
    pub(crate) passed: u64,
    /// Tests and checks that did not.
    pub(crate) failed: u64,
}

impl Tally {
    /// The tally of one check that is not a libtest run.
    pub(crate) fn check(succeeded: bool) -> Tally {
        Tally { passed: u64::from(succeeded), failed: u64::from(!succeeded) }
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Takes in one line of output; only libtest's result lines count.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += number_before(result, " passed");
            self.failed += number_before(result, " failed");
        }
    }

    /// Takes in the exit status: a run that failed without a failed test (it did not compile, or
    /// a test program died before its result line) counts as one failure.
    pub(crate) fn finish(&mut self, succeeded: bool) {
        if !succeeded && self.failed == 0 {
            self.failed = 1;
        }
    }
}

/// Runs cargo test, shows what is worth showing, and counts.
pub(crate) fn counted(cargo: &mut Command) -> Result<Tally> {
    println!("$ {}", run::spelled(cargo));
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let mut tally = Tally::default();
    let output = child.stdout.take().context("the output is a pipe")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        tally.line(&line);
        if worth_showing(&line) {
            println!("{line}");
        }
    }
    tally.finish(child.wait()?.success());
    Ok(tally)
}

/// Whether a line of libtest is worth a person's time: all but the tests that passed.
pub(crate) fn worth_showing(line: &str) -> bool {
    let passed = line.starts_with("test ") && line.ends_with("... ok");
    let ignored = line.starts_with("test ") && line.contains("... ignored");
    let heading = line.starts_with("running ") && line.contains(" test");
    let empty = line.starts_with("test result: ok. 0 passed");
    !(passed || ignored || heading || empty || line.is_empty())
}

fn number_before(text: &str, word: &str) -> u64 {
    let digits = text.split(word).next().and_then(|head| head.rsplit(' ').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_added_and_others_are_not() {
        let mut tally = Tally::default();
        tally.line("test a::b ... ok");
        tally.line("test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; finished in 0.1s");
        tally.line("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered");
        assert_eq!(tally, Tally { passed: 13, failed: 2 });
    }

    #[test]
    fn a_run_that_dies_without_a_result_line_is_a_failure() {
        let mut tally = Tally { passed: 4, failed: 0 };
        tally.finish(false);
        assert_eq!(tally, Tally { passed: 4, failed: 1 });
        tally.finish(false);
        assert_eq!(tally.failed, 1, "a failure that was already counted is not counted twice");
    }

    #[test]
    fn failures_and_messages_are_shown() {
        assert!(!worth_showing("test a ... ok"));
        assert!(worth_showing("test a ... FAILED"));
        assert!(worth_showing("assertion `left == right` failed"));
        assert!(worth_showing("test result: ok. 3 passed; 0 failed"));
    }
}
