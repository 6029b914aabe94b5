//! Several test programs at once: many tests wait, for time-outs, other processes or an emulated
//! network, while others compute.
//!
//! Enters: a cargo command that builds tests. Leaves: their tally. Each program runs as cargo
//! would run it, and what it says is shown when it has ended; one that takes long is named before.

use crate::run;
use crate::tally::{self, Tally};
use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

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

/// After so long a program that has not ended is named, and again whenever it has run twice as long.
const LONG_RUN: Duration = Duration::from_secs(60);

/// Lines that are shown of it then.
const LAST_LINES: usize = 3;

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
        let package = self.package.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{package}/{}", self.name);
        let runs_on = |last: &[String]| {
            let seconds = begin.elapsed().as_secs();
            println!("-- {name} runs for {seconds} s now; its last lines:\n{}", last.join("\n"));
        };
        let heard = hear(&mut command, LONG_RUN, runs_on);
        let (lines, succeeded) = heard.with_context(|| format!("cannot run {name}"))?;
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.line(line));
        tally.finish(succeeded);
        let shown = lines.iter().filter(|line| tally::worth_showing(line));
        let told: String = shown.map(|line| format!("{line}\n")).collect();
        println!("-- {name}, {} s\n{told}", begin.elapsed().as_secs());
        Ok(tally)
    }
}

/// Runs a program; the lines that it wrote, and whether it succeeded. `runs_on` hears the last ones as often as it has
/// not ended after `patience` and each time twice as long.
fn hear(
    command: &mut Command,
    mut patience: Duration,
    runs_on: impl Fn(&[String]),
) -> Result<(Vec<String>, bool)> {
    let begin = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (sender, receiver) = mpsc::channel();
    send_lines(child.stdout.take().context("the output is a pipe")?, sender.clone());
    send_lines(child.stderr.take().context("the errors are a pipe")?, sender);
    let mut lines = Vec::new();
    loop {
        match receiver.recv_timeout(patience.saturating_sub(begin.elapsed())) {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                runs_on(&lines[lines.len().saturating_sub(LAST_LINES)..]);
                patience *= 2;
            }
        }
    }
    Ok((lines, child.wait()?.success()))
}

/// Sends on what comes out of a pipe, line by line.
fn send_lines(pipe: impl Read + Send + 'static, sender: Sender<String>) {
    let lines = BufReader::new(pipe).split(b'\n').map_while(std::io::Result::ok);
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    thread::spawn(move || lines.for_each(|line| drop(sender.send(line))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(message: &str) -> Option<(String, PathBuf)> {
        let suite = suite(serde_json::from_str(message).expect("a message"))?;
        Some((suite.name, suite.package))
    }

    #[test]
    fn a_program_that_takes_long_is_named_with_its_last_lines() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "seq 8; echo error >&2; sleep 1; echo end; exit 3"]);
        let named = Mutex::new(Vec::new());
        let runs_on = |last: &[String]| named.lock().push(last.len());
        let (lines, succeeded) = hear(&mut shell, Duration::from_millis(300), runs_on).unwrap();
        assert_eq!((lines.len(), succeeded), (10, false));
        assert_eq!(lines[9], "end");
        assert_eq!(named.lock().last(), Some(&LAST_LINES), "it was named while it slept");
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
