//! The rounds: every library once, the order turned by one place each time.
//!
//! Enters: a group and the libraries. Leaves: its samples, in `target/compare/GROUP.samples`. A run
//! that fails is told and leaves no sample, so its rows show in the report.

use super::contestants::{Contestant, FLOOR, floor_of};
use super::groups::{Group, Kind, Over};
use super::samples::{self, Key, Sample};
use super::{folder, memory};
use crate::run;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Seconds after which a run is given up.
const PATIENCE: u64 = 100;

/// Where the samples of a group are.
pub(crate) fn file(group: &Group) -> PathBuf {
    folder().join(format!("{}.samples", group.name))
}

/// Runs a group and keeps its samples.
pub(crate) fn run(
    group: &Group,
    contestants: &[Contestant],
    rounds: usize,
    append: bool,
) -> Result<()> {
    let mut samples = if append { samples::read(&file(group)) } else { Vec::new() };
    let first = samples.iter().map(|sample| sample.round + 1).max().unwrap_or(0);
    let floor = Contestant::floor();
    let mut all: Vec<&Contestant> =
        contestants.iter().filter(|contestant| contestant.takes_part(group.over)).collect();
    if group.program == "floor" {
        all.clear();
    }
    all.extend(group.floor.then_some(&floor));
    for round in first..first + rounds {
        let start = Instant::now();
        for turn in 0..all.len() {
            let contestant = all[(turn + round) % all.len()];
            for &ranks in &group.ranks {
                let rows = one(group, contestant, ranks).unwrap_or_else(|error| {
                    eprintln!("{}: {} on {ranks} ranks: {error:#}", group.name, contestant.name);
                    Vec::new()
                });
                let library = contestant.name.clone();
                samples.extend(rows.into_iter().map(|(key, value)| Sample {
                    round,
                    library: library.clone(),
                    key,
                    value,
                }));
            }
        }
        let (done, seconds) = (round + 1 - first, start.elapsed().as_secs_f64());
        eprintln!("{}: round {done} of {rounds}, {seconds:.1} s", group.name);
        samples::write(&file(group), &samples)?;
    }
    Ok(())
}

/// One run of one library; no rows if it has no such program.
fn one(group: &Group, contestant: &Contestant, ranks: u32) -> Result<Vec<(Key, f64)>> {
    let floor = contestant.name == FLOOR;
    let name = if floor { floor_of(group.over) } else { group.program };
    let Some(program) = contestant.program(name) else { return Ok(Vec::new()) };
    match group.kind {
        Kind::Clock => return clock(contestant, ranks, &program),
        Kind::Memory => return memory::measure(contestant, ranks, &program),
        Kind::Printed | Kind::Imb => {}
    }
    let launch = contestant.launch(ranks, &program, group.over);
    let mut command = within(&launch, PATIENCE);
    if group.kind == Kind::Imb {
        let text = output(command.args(imb_words(group, ranks)?))?;
        return Ok(samples::imb(ranks, &text));
    }
    let sizes: Vec<String> = group.sizes.iter().map(u64::to_string).collect();
    command.args(group.words);
    if !sizes.is_empty() {
        command.args(["--sizes", &sizes.join(",")]);
    }
    match (floor, group.program) {
        (true, "floor") => drop(command.args(["--only", &group.tests.join(",")])),
        (true, _) if group.over != Over::Memory => drop(command.args(["--only", group.name])),
        (true, program) => drop(command.args(["--only", program])),
        _ if group.tests.is_empty() => {}
        _ => drop(command.args(["--only", &group.tests.join(",")])),
    }
    Ok(samples::printed(ranks, &output(&mut command)?))
}

/// The same command, given up after so many seconds.
pub(crate) fn within(launch: &Command, seconds: u64) -> Command {
    let mut command = run::command("timeout");
    command.args(["--kill-after=5", &seconds.to_string()]);
    command.arg(launch.get_program()).args(launch.get_args());
    for (name, value) in launch.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn output(command: &mut Command) -> Result<String> {
    let said = command.stdin(Stdio::null()).output().context("cannot be started")?;
    if !said.status.success() {
        let errors = String::from_utf8_lossy(&said.stderr);
        let last: Vec<&str> = errors.lines().rev().take(3).collect();
        bail!("{}: {}", said.status, last.into_iter().rev().collect::<Vec<_>>().join(" / "));
    }
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// The words for IMB-MPI1, which reads its sizes from a file.
fn imb_words(group: &Group, ranks: u32) -> Result<Vec<String>> {
    let lengths = folder().join("imb-lengths");
    let sizes: Vec<String> = group.sizes.iter().map(u64::to_string).collect();
    std::fs::write(&lengths, sizes.join("\n") + "\n")?;
    let mut words: Vec<String> = ["-npmin", &ranks.to_string(), "-msglen"].map(String::from).into();
    words.push(lengths.to_string_lossy().into_owned());
    // Its own bounds (1,000 calls and 40 MB) make a row of small messages shorter than a
    // millisecond, which one interrupt doubles.
    words.extend(["-iter", "50000,1000", "-time", "0.04"].map(String::from));
    let all =
        ["Barrier", "Allreduce", "Bcast", "Alltoall", "Allgather", "Gather", "Scatter", "Reduce"];
    match &group.tests[..] {
        [] => words.extend(all.map(String::from)),
        tests => words.extend(tests.iter().cloned()),
    }
    Ok(words)
}

/// The time from start to exit.
fn clock(contestant: &Contestant, ranks: u32, program: &Path) -> Result<Vec<(Key, f64)>> {
    let mut command = contestant.launch(ranks, program, Over::Memory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().context("cannot be started")?;
    let value = start.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        bail!("{status}");
    }
    let (test, variant, unit) = ("startup".into(), format!("{ranks}-ranks"), "ms".into());
    Ok(vec![(Key { ranks, test, variant, bytes: None, unit }, value)])
}
