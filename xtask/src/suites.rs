//! Several test programs at once: many tests wait, for time-outs, other processes or an emulated
//! network, while others compute.
//!
//! Enters: a cargo command that builds tests. Leaves: their tally. Each program runs as cargo
//! would run it, and what it says is shown when it has ended.

use crate::run;
use crate::tally::{self, Tally};
use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use serde::Deserialize;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// How many run at once, on two processors or more.
const AT_ONCE: usize = 3;

/// Those that take longest, which are begun first so that none is left over at the end.
const LONG: [&str; 8] = [
    "failures",
    "programs",
    "sim",
    "guard",
    "network_programs",
    "several_hosts",
    "transports",
    "ways",
];

/// Those that look at what the whole machine has, of which others would take something meanwhile.
const ALONE: [&str; 1] = ["kills"];

/// A line of what cargo says of its work; only those of test programs have all of it.
#[derive(Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A test program.
struct Suite {
    name: String,
    /// The folder of its package, in which cargo runs it.
    package: PathBuf,
    executable: PathBuf,
}

/// Builds tests by cargo with these words, and runs their programs, each prepared; their tally.
pub(crate) fn counted(words: &[&str], prepare: &(dyn Fn(&mut Command) + Sync)) -> Result<Tally> {
    let Some(suites) = built(words)? else { return Ok(Tally::check(false)) };
    let (alone, together): (Vec<_>, Vec<_>) =
        suites.into_iter().partition(|suite| ALONE.contains(&&*suite.name));
    let mut tally = Tally::default();
    for (suites, at_once) in [(together, AT_ONCE), (alone, 1)] {
        let queue = Mutex::new(suites.into_iter());
        let work = || -> Result<Tally> {
            let mut tally = Tally::default();
            while let Some(suite) = next(&queue) {
                tally.add(suite.run(prepare)?);
            }
            Ok(tally)
        };
        thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                tally.add(worker.join().expect("a worker does not panic")?);
            }
            Ok(())
        })?;
    }
    Ok(tally)
}

fn next(queue: &Mutex<impl Iterator<Item = Suite>>) -> Option<Suite> {
    queue.lock().next()
}

/// The test programs, the long ones first; none if they cannot be built.
fn built(words: &[&str]) -> Result<Option<Vec<Suite>>> {
    let mut cargo = run::cargo();
    cargo.arg(words[0]).arg("--message-format=json-render-diagnostics").args(&words[1..]);
    println!("$ {}", run::spelled(&cargo));
    let output = cargo.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        return Ok(None);
    }
    let mut suites = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        suites.extend(suite(serde_json::from_slice(line)?));
    }
    if suites.is_empty() {
        bail!("cargo built no test program by: {}", words.join(" "));
    }
    let place = |suite: &Suite| LONG.iter().position(|name| suite.name == *name);
    suites.sort_by_key(|suite| place(suite).unwrap_or(LONG.len()));
    Ok(Some(suites))
}

/// The test program of which cargo says that it is built.
fn suite(message: Message) -> Option<Suite> {
    message.profile.filter(|profile| profile.test)?;
    let package = message.manifest_path?.parent()?.to_path_buf();
    Some(Suite { name: message.target?.name, package, executable: message.executable? })
}

impl Suite {
    fn run(&self, prepare: &dyn Fn(&mut Command)) -> Result<Tally> {
        let begin = Instant::now();
        let mut command = Command::new(&self.executable);
        prepare(&mut command);
        command.env("CARGO_MANIFEST_DIR", &self.package).current_dir(&self.package);
        let output = command.output().with_context(|| format!("cannot start {}", self.name))?;
        let mut tally = Tally::default();
        let mut told = String::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            tally.line(line);
            if tally::worth_showing(line) {
                told += &format!("{line}\n");
            }
        }
        tally.finish(output.status.success());
        let package = self.package.file_name().unwrap_or_default().to_string_lossy();
        let seconds = begin.elapsed().as_secs();
        let errors = String::from_utf8_lossy(&output.stderr);
        println!("-- {package}/{}, {seconds} s\n{told}{errors}", self.name);
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(message: &str) -> Option<(String, PathBuf)> {
        let suite = suite(serde_json::from_str(message).expect("a message"))?;
        Some((suite.name, suite.package))
    }

    #[test]
    fn what_cargo_built_to_test_is_run_in_the_folder_of_its_package() {
        let test = r#"{"reason":"compiler-artifact","manifest_path":"/w/launcher/Cargo.toml",
            "target":{"kind":["test"],"name":"hosts"},"profile":{"test":true},"executable":"/t/hosts-1"}"#;
        assert_eq!(found(test), Some(("hosts".into(), "/w/launcher".into())));
        assert_eq!(found(&test.replace("true", "false")), None, "a program of the package");
        assert_eq!(found(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
