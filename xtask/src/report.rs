//! What a run of many layers tells at its end: the seconds of each beside its budget, what was
//! skipped for want of something, and the sum over everything as the plain line `N passed, N failed`.

use crate::place;
use crate::tally::Tally;
use anyhow::{Context, Result};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

/// One of several layers that run at once.
pub(crate) struct Layer<'a> {
    pub(crate) name: &'a str,
    /// Seconds that it may take on two cores.
    pub(crate) budget: u64,
    pub(crate) run: Box<dyn FnOnce() -> Result<Tally> + Send + 'a>,
}

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
    pub(crate) fn layer(&mut self, name: &str, budget: u64, run: impl FnOnce() -> Result<Tally>) {
        self.take(timed(name, budget, run));
    }

    /// Runs several at once, where one alone leaves a processor idle.
    pub(crate) fn at_once(&mut self, layers: Vec<Layer<'_>>) {
        thread::scope(|scope| {
            let begin = |Layer { name, budget, run }| scope.spawn(move || timed(name, budget, run));
            let running: Vec<_> = layers.into_iter().map(begin).collect();
            for layer in running {
                self.take(layer.join().expect("a layer does not panic"));
            }
        });
    }

    fn take(&mut self, (line, tally): (String, Tally)) {
        self.lines.push(line);
        self.total.add(tally);
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

/// Runs a layer, which has failed if it could not be carried out; the line that tells of it, and its tally.
fn timed(name: &str, budget: u64, run: impl FnOnce() -> Result<Tally>) -> (String, Tally) {
    println!("== {name}");
    let start = Instant::now();
    let tally = run().unwrap_or_else(|error| {
        eprintln!("{name}: {error:#}");
        Tally::check(false)
    });
    let seconds = start.elapsed().as_secs();
    let over = if seconds > budget { "  over its budget" } else { "" };
    let Tally { passed, failed } = tally;
    let line = format!(
        "{name:<30} {seconds:>5} s of {budget:>4} s  {passed:>6} ok {failed:>4} failed{over}"
    );
    (line, tally)
}

/// Notes that something was passed over; tests that cannot run note themselves in the same file.
pub(crate) fn skipped(name: &str, why: &str) -> Result<()> {
    println!("skipped: {name}: {why}");
    let mut file = OpenOptions::new().append(true).create(true).open(place::skipped())?;
    Ok(writeln!(file, "{name}: {}", why.replace('\n', " "))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_cannot_start_takes_nothing_from_those_beside_it() {
        let mut report = Report { total: Tally::default(), lines: Vec::new() };
        let starts = || Ok(Tally { passed: 5, failed: 0 });
        let layer = |name, run| Layer { name, budget: 1, run };
        report.at_once(vec![
            layer("one", Box::new(starts)),
            layer("two", Box::new(|| anyhow::bail!("cannot start"))),
            layer("three", Box::new(starts)),
        ]);
        report.layer("four", 1, || anyhow::bail!("cannot start"));
        report.layer("five", 1, starts);
        assert_eq!(report.total, Tally { passed: 15, failed: 2 });
        assert_eq!(report.lines.len(), 5);
    }
}
