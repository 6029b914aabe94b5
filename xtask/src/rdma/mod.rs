//! `cargo xtask rdma`: our RDMA on a machine that has no such network, in an emulated Linux host with
//! soft-RoCE devices at both ends of wires that lose, delay and reorder packets as they are told.
//!
//! Enters: an installation and a plan of `testsuite/rdma-vm`, `short` or `shows`. Leaves: whether every step
//! ended well; of `shows` also samples, tables and plots in `target/rdma`, and with `--publish` those of
//! `docs/papers.md`.

mod built;
mod kept;
mod kernel;
mod machine;
mod plan;
mod shows;
mod values;

use crate::checkers::Missing;
use crate::tally::Tally;
use crate::{install, place, setup};
use anyhow::{Result, bail};
use clap::Args;
use kept::Kept;
use kernel::Kernel;
use machine::{Machine, Outcome};
use plan::{Plan, Step};
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What to do in the emulated host.
#[derive(Args)]
pub(crate) struct Options {
    /// Only whether everything works, in less than three minutes: the plan of `cargo xtask test`
    #[arg(long)]
    short: bool,
    /// Only these figures, and of the steps that belong to none those whose names begin so
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Rounds; each measures every line of every figure once
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// After so many minutes in the host no further step is begun; the first round has precedence
    #[arg(long, default_value_t = 40)]
    minutes: u64,
    /// Our installation; without it the tree is built and installed in target/ferrite
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Run this line for bash in a host of two wires instead, and print what it says; `ends` and `pair`
    /// of testsuite/rdma-vm help
    #[arg(long, value_name = "LINE", conflicts_with_all = ["short", "only", "publish", "show"])]
    run: Option<String>,
    /// What the wires do to packets during that line, as "delay 13ms limit 100000"
    #[arg(long, value_name = "WORDS", requires = "run", default_value = "")]
    netem: String,
    /// How many seconds that line may take
    #[arg(long, requires = "run", default_value_t = 300)]
    seconds: u64,
    /// Tell of what was measured last, and run nothing
    #[arg(long)]
    show: bool,
    /// Write tables and plots into docs/papers.md
    #[arg(long, conflicts_with = "short")]
    publish: bool,
}

/// Runs what was asked for; whether all of it ended well.
pub(crate) fn rdma(options: &Options) -> Result<bool> {
    if options.show {
        return shows::tell(&Plan::read("shows")?, options.publish);
    }
    let plan = Plan::read(if options.short { "short" } else { "shows" })?;
    known(&plan, &options.only)?;
    let prefix = match &options.prefix {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            install::install(&place::prefix())?;
            place::prefix()
        }
    };
    let kernel = prepare()?;
    if let Some(line) = &options.run {
        let step = Step::plain(line, &options.netem, options.seconds);
        let outcomes = host(&kernel, &prefix, &plan, &[&step])?;
        print!("{}", outcomes[0].said);
        return Ok(outcomes[0].status == 0);
    }
    let mut wanted = possible(&plan, &prefix)?;
    wanted.retain(|step| asked_for(step, &options.only));
    if wanted.is_empty() {
        bail!("nothing of {} can be run with this installation", options.only.join(", "));
    }
    if options.short {
        return Ok(complain(&wanted, &host(&kernel, &prefix, &plan, &wanted)?) == 0);
    }
    let steps = in_rounds(&plan, &wanted, options.rounds);
    let all: Vec<&Step> = steps.iter().map(|(_, step)| *step).collect();
    let programs = built::programs(&prefix, &plan.programs)?;
    let end = Instant::now() + Duration::from_secs(60 * options.minutes);
    let mut kept = Kept::begin(&plan, &steps)?;
    let mut outcomes = Vec::new();
    for hosts in [1, 2] {
        let (prefix, programs) = (&*prefix, &*programs);
        let machine = Machine { kernel: &kernel, wires: plan.wires, hosts, prefix, programs };
        let mine: Vec<usize> = (0..all.len()).filter(|n| all[*n].hosts == hosts).collect();
        if mine.is_empty() {
            continue;
        }
        let theirs: Vec<&Step> = mine.iter().map(|number| all[*number]).collect();
        machine.perform(&theirs, Some(end), |number, outcome| {
            let (round, step) = steps[mine[number]];
            kept.add(round, step, &outcome)?;
            outcomes.push((step, outcome));
            Ok(())
        })?;
    }
    let (all, outcomes): (Vec<&Step>, Vec<Outcome>) = outcomes.into_iter().unzip();
    let failed = complain(&all, &outcomes);
    Ok(shows::tell(&plan, options.publish)? && failed == 0)
}

/// The short plan, as a layer of the tests on the prefix that these have.
pub(crate) fn layer() -> Result<Tally> {
    let kernel = prepare()?;
    let plan = Plan::read("short")?;
    let steps = possible(&plan, &place::prefix())?;
    let failed = complain(&steps, &host(&kernel, &place::prefix(), &plan, &steps)?);
    Ok(Tally { passed: (steps.len() - failed) as u64, failed: failed as u64 })
}

/// Installs what the emulated host needs, and fetches its kernel. What cannot be had is [`Missing`].
fn prepare() -> Result<Kernel> {
    if env::consts::ARCH != "x86_64" {
        return Err(Missing(format!(
            "the emulated host is an x86-64 and runs what is built here, which is for {}",
            env::consts::ARCH
        ))
        .into());
    }
    let missing = |error: anyhow::Error| Missing(format!("{error:#}"));
    setup::emulated_host().map_err(missing)?;
    Ok(Kernel::fetch().map_err(missing)?)
}

/// Compiles what the plan names and runs these steps in a host of its own.
fn host(kernel: &Kernel, prefix: &Path, plan: &Plan, steps: &[&Step]) -> Result<Vec<Outcome>> {
    let programs = built::programs(prefix, &plan.programs)?;
    let mut outcomes = Vec::new();
    let machine = Machine { kernel, wires: plan.wires, hosts: 1, prefix, programs: &programs };
    machine.perform(steps, None, |_, outcome| {
        outcomes.push(outcome);
        Ok(())
    })?;
    Ok(outcomes)
}

/// The steps for which everything is there; of the others it is said why not.
fn possible<'a>(plan: &'a Plan, prefix: &Path) -> Result<Vec<&'a Step>> {
    built::examples(&plan.examples)?;
    let words: BTreeSet<&String> =
        plan.steps.iter().filter_map(|step| step.over.as_ref()).collect();
    let mut known = BTreeSet::new();
    for word in words {
        match built::refused(prefix, word) {
            None => drop(known.insert(word)),
            Some(why) => {
                println!("left out: what goes over {word}, which is not built yet ({why})")
            }
        }
    }
    let there = |file: &String| place::target().join(file).exists();
    let mut absent = BTreeSet::new();
    absent.extend(
        plan.steps.iter().filter_map(|step| step.needs.as_ref()).filter(|file| !there(file)),
    );
    for file in &absent {
        println!(
            "left out: what needs {}, which is not there",
            place::shown(&place::target().join(file))
        );
    }
    let may = |step: &&Step| {
        let over = step.over.as_ref().is_none_or(|word| known.contains(word));
        over && step.needs.as_ref().is_none_or(|file| !absent.contains(file))
    };
    Ok(plan.steps.iter().filter(may).collect())
}

/// Whether each of these words names something.
fn known(plan: &Plan, only: &[String]) -> Result<()> {
    let is_known =
        |word: &&String| plan.steps.iter().any(|step| asked_for(step, &[word.to_string()]));
    let Some(word) = only.iter().find(|word| !is_known(word)) else { return Ok(()) };
    let figures = plan.figures.iter().map(|figure| &*figure.name);
    let others = plan.steps.iter().filter(|step| step.figure.is_none());
    let mut others: Vec<&str> =
        others.filter_map(|step| step.name.split([' ', ',']).next()).collect();
    others.dedup();
    let names: Vec<&str> = figures.chain(others).collect();
    bail!(
        "no step is named {word}; there are figures and steps that begin so: {}",
        names.join(", ")
    )
}

/// Whether a step is among those asked for; nothing asks for all.
fn asked_for(step: &Step, only: &[String]) -> bool {
    let asked = |word: &String| match &step.figure {
        Some(figure) => figure == word,
        None => step.name.starts_with(word.as_str()),
    };
    only.is_empty() || only.iter().any(asked)
}

/// The steps in the order in which they run, with their rounds: those that measure run in all that their figure has,
/// the others once.
fn in_rounds<'a>(plan: &Plan, steps: &[&'a Step], rounds: usize) -> Vec<(usize, &'a Step)> {
    let rounds_of = |step: &Step| {
        let name = step.figure.as_ref()?;
        let figure = plan.figures.iter().find(|figure| figure.name == *name)?;
        Some(figure.rounds.map_or(rounds, |most| rounds.min(most)))
    };
    let of = |round| {
        let runs = move |step: &&&Step| round < rounds_of(step).unwrap_or(1);
        steps.iter().filter(runs).map(move |step| (round, *step))
    };
    (0..rounds).flat_map(of).collect()
}

/// Shows what failed steps said; how many they are.
fn complain(steps: &[&Step], outcomes: &[Outcome]) -> usize {
    let has_failed = |outcome: &Outcome| outcome.status != 0 && !outcome.is_unbegun();
    let failed = || steps.iter().zip(outcomes).filter(|(_, outcome)| has_failed(outcome));
    for (step, Outcome { status, said, .. }) in failed() {
        println!("\n{} failed with status {status}: {}\n{said}", step.title(), step.run);
    }
    failed().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, figure: Option<&str>) -> Step {
        Step {
            name: name.into(),
            figure: figure.map(Into::into),
            line: figure.map(|_| "l".into()),
            ..Step::plain("true", "", 1)
        }
    }

    #[test]
    fn rounds_are_interleaved_and_what_measures_nothing_runs_once() {
        let (a, b, c) = (step("a", Some("f")), step("b", None), step("c", Some("f")));
        let d = step("d", Some("once"));
        let figures = "[[figure]]\nname = 'f'\ntitle = ''\nunit = ''\n\
                       [[figure]]\nname = 'once'\ntitle = ''\nunit = ''\nrounds = 1";
        let plan = Plan::parse(figures);
        let rounds = in_rounds(&plan.expect("a plan"), &[&a, &b, &c, &d], 2);
        let order: Vec<(usize, &str)> =
            rounds.iter().map(|(round, step)| (*round, &*step.name)).collect();
        assert_eq!(order, [(0, "a"), (0, "b"), (0, "c"), (0, "d"), (1, "a"), (1, "c")]);
    }

    #[test]
    fn steps_are_asked_for_by_their_figure_or_else_by_their_name() {
        let asked = |step: &Step, word: &str| asked_for(step, &[word.to_owned()]);
        let measures = step("latency of rc", Some("latency"));
        assert!(asked(&measures, "latency") && !asked(&measures, "latency of"));
        assert!(!asked(&step("latency of rc, far", Some("latency-81")), "latency"));
        assert!(asked(&step("ring over rc", None), "ring"));
        assert!(asked_for(&measures, &[]));
    }
}
