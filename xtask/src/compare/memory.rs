//! What a job costs in memory, looked at from outside while its ranks stand still.
//!
//! Enters: the program `memory`, whose rank 0 prints `ready` when every rank has talked to every
//! other, and then waits for a byte on its standard input. Leaves: the proportional set sizes of all
//! processes of the job (ranks, launcher, and what the launcher started), and by how much the shared
//! memory of the machine grew; each divided by the number of ranks.

use super::contestants::Contestant;
use super::groups::Over;
use super::samples::Key;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Stdio};

/// The variable by which the processes of a job are known, however they were started.
const MARK: &str = "BENCH_MEMORY_OF";

/// Runs a job and looks at it.
pub(super) fn measure(
    contestant: &Contestant,
    ranks: u32,
    program: &Path,
) -> Result<Vec<(Key, f64)>> {
    let before = shmem()?;
    let mark = format!("{}-{}", contestant.name, std::process::id());
    let mut command = contestant.launch(ranks, program, Over::Memory);
    command.env(MARK, &mark).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context("cannot be started")?;
    let out = child.stdout.take().context("the output is a pipe")?;
    let looked = until_ready(out).and_then(|rest| Ok((look(&mark, program)?, rest)));
    let after = shmem()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(b"\n")?;
    }
    let status = child.wait()?;
    let (seen, rest) = looked?;
    drop(rest);
    if !status.success() || seen.ranks != ranks {
        bail!("{status}, {} of {ranks} ranks seen", seen.ranks);
    }
    let growth = after.saturating_sub(before);
    let row = |test: &str, kib: u64| {
        let (variant, unit) = (format!("{ranks}-ranks"), "KiB".into());
        let key = Key { ranks, test: test.into(), variant, bytes: None, unit };
        (key, kib as f64 / f64::from(ranks))
    };
    Ok(vec![
        row("memory", seen.in_ranks + seen.elsewhere + growth),
        row("memory-of-ranks", seen.in_ranks),
        row("memory-of-launcher", seen.elsewhere),
        row("growth-of-shmem", growth),
    ])
}

/// Reads up to the line `ready`.
fn until_ready(out: ChildStdout) -> Result<BufReader<ChildStdout>> {
    let mut out = BufReader::new(out);
    let mut line = String::new();
    while line.trim_end() != "ready" {
        line.clear();
        if out.read_line(&mut line)? == 0 {
            bail!("ended before it was ready");
        }
    }
    Ok(out)
}

/// Proportional set sizes of a job's processes, in KiB.
#[derive(Default)]
struct Seen {
    ranks: u32,
    in_ranks: u64,
    elsewhere: u64,
}

/// Looks at every process that carries the mark.
fn look(mark: &str, program: &Path) -> Result<Seen> {
    let mark = format!("{MARK}={mark}").into_bytes();
    let mut seen = Seen::default();
    for entry in fs::read_dir("/proc")? {
        let dir = entry?.path();
        // A process that has just ended, or is none of ours, is not of the job.
        let Ok(environment) = fs::read(dir.join("environ")) else { continue };
        if !environment.split(|byte| *byte == 0).any(|word| word == mark) {
            continue;
        }
        let Ok(rollup) = fs::read_to_string(dir.join("smaps_rollup")) else { continue };
        let kib = field(&rollup, "Pss:").context("smaps_rollup has no Pss")?;
        if fs::read_link(dir.join("exe")).is_ok_and(|exe| exe == program) {
            seen.ranks += 1;
            seen.in_ranks += kib;
        } else {
            seen.elsewhere += kib;
        }
    }
    Ok(seen)
}

/// The shared memory of the machine, in KiB.
fn shmem() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    field(&text, "Shmem:").context("/proc/meminfo has no Shmem")
}

/// The number behind a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
