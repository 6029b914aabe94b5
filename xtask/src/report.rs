//! What a run of many layers tells at its end: the seconds of each beside its budget, what was
//! skipped for want of something, and the sum over everything as the plain line `N passed, N failed`.

use crate::place;
use crate::tally::Tally;
use anyhow::{Context, Result};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// What has run until now.
pub(crate) struct Report {
    total: Tally,
    lines: Vec<String>,
}

impl Report {
    /// Nothing has run and nothing has been skipped.
    pub(crate) fn begin() -> Result<Report> {
        fs::create_dir_all(place::target())?;
        fs::write(place::skipped(), "").context("cannot write the list of skipped tests")?;
        Ok(Report { total: Tally::default(), lines: Vec::new() })
    }

    /// Runs a layer that may take `budget` seconds on two cores.
    pub(crate) fn layer(
        &mut self,
        name: &str,
        budget: u64,
        run: impl FnOnce() -> Result<Tally>,
    ) -> Result<()> {
        println!("== {name}");
        let start = Instant::now();
        let tally = run()?;
        let seconds = start.elapsed().as_secs();
        let over = if seconds > budget { "  over its budget" } else { "" };
        self.lines.push(format!(
            "{name:<30} {seconds:>5} s of {budget:>4} s  {:>6} ok {:>4} failed{over}",
            tally.passed, tally.failed
        ));
        self.total.add(tally);
        Ok(())
    }

    /// Whether nothing has failed yet.
    pub(crate) fn good(&self) -> bool {
        self.total.failed == 0
    }

    /// Tells all, and the verdict.
    pub(crate) fn close(self) -> Result<ExitCode> {
        println!("== layers");
        for line in self.lines {
            println!("{line}");
        }
        let skipped = fs::read_to_string(place::skipped());
        let skipped = skipped.context("the list of skipped tests is gone")?;
        skipped.lines().for_each(|line| println!("skipped: {line}"));
        println!("{} skipped for want of something", skipped.lines().count());
        println!("{} passed, {} failed", self.total.passed, self.total.failed);
        Ok(if self.total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Notes that something was passed over; tests that cannot run note themselves in the same file.
pub(crate) fn skipped(name: &str, why: &str) -> Result<()> {
    println!("skipped: {name}: {why}");
    let mut file = OpenOptions::new().append(true).create(true).open(place::skipped())?;
    Ok(writeln!(file, "{name}: {}", why.replace('\n', " "))?)
}
