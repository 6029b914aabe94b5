//! `cargo xtask accept SUITE FOLDER`: programs of others, built by whoever runs this, on our library.
//!
//! Enters: a folder of programs of one suite, built with our compiler wrappers or with those of
//! another library of the three families. Leaves: whether each run was right by the program's own
//! word, and a table of times; with `--peer` another library runs the same beside ours, in
//! turns, and decision 34 judges. Of the suites nothing is here but what their programs
//! are called, what they are given and what they print. `debian` goes its own way.

mod case;
mod debian;
mod imb;
mod mpi4py;
mod mpich;
mod npb;
mod osu;
mod run_case;
mod smg;
mod suite;

use crate::compare::contestants::Contestant;
use crate::compare::samples::{self, Sample};
use crate::compare::{publish, report};
use crate::{install, place};
use anyhow::{Context, Result, bail};
use case::{Case, Outcome};
use clap::Args;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use suite::Suite;

/// Numbers of ranks without `--np`.
const RANKS: [u32; 3] = [1, 2, 4];

/// What to run, and on what.
#[derive(Args)]
pub(crate) struct Options {
    /// Whose programs they are
    suite: Suite,
    /// The folder of the built programs; debian's come from packages
    folder: Option<PathBuf>,
    /// Numbers of ranks; each program runs on those that it can [default: 1,2,4; debian: 2,4]
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    np: Vec<u32>,
    /// Only programs and cases whose name contains one of these
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Our installation; without it the tree is built and installed in target/ferrite
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Another library beside ours, as NAME=PREFIX
    #[arg(long, value_delimiter = ',', value_name = "NAME=PREFIX")]
    peer: Vec<String>,
    /// The folder of the programs as built for a peer that cannot run ours, as NAME=FOLDER
    #[arg(long, value_delimiter = ',', value_name = "NAME=FOLDER")]
    programs: Vec<String>,
    /// Rounds; each runs every library once
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Add the rounds to those run before
    #[arg(long)]
    append: bool,
    /// What samples and tables are called, instead of like the suite
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Run nothing, tell of the samples that are there
    #[arg(long)]
    show: bool,
    /// Write the results into benches/results under that name, and make docs/performance.md anew
    #[arg(long)]
    publish: bool,
    /// Seconds after which a run is given up
    #[arg(long, default_value_t = 300)]
    patience: u64,
    /// Of debian all cases, not only a quick one
    #[arg(long)]
    all: bool,
    /// Of debian skip the cases whose packages are not installed
    #[arg(long)]
    no_install: bool,
    /// Further words for each program
    #[arg(last = true, value_name = "WORDS")]
    words: Vec<String>,
}

impl Options {
    /// On how many ranks programs run.
    fn np(&self) -> Vec<u32> {
        match self.suite {
            _ if !self.np.is_empty() => self.np.clone(),
            Suite::Debian => debian::RANKS.to_vec(),
            _ => RANKS.to_vec(),
        }
    }
}

/// A library, and what it runs.
struct Entrant {
    library: Contestant,
    folder: PathBuf,
}

/// How the runs of one library went.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Where samples and tables go.
fn folder() -> PathBuf {
    place::target().join("accept")
}

/// Runs the suite and tells; whether all of our library's runs were right and no row is worse.
pub(crate) fn accept(options: &Options) -> Result<bool> {
    if options.suite == Suite::Debian {
        return debian::accept(options);
    }
    fs::create_dir_all(folder()).context("cannot make target/accept")?;
    let name = options.table.clone().unwrap_or_else(|| options.suite.to_string());
    let file = folder().join(format!("{name}.samples"));
    let mut tallies = BTreeMap::new();
    if !options.show {
        tallies = measure(options, &file)?;
    }
    let samples = samples::read(&file);
    let (table, worse) = report::tabulate(&samples);
    fs::write(folder().join(format!("{name}.md")), &table)?;
    println!("\n{table}");
    for (name, Tally { passed, failed, skipped }) in &tallies {
        println!("{name}: {passed} passed, {failed} failed, {skipped} skipped");
    }
    if options.publish {
        let command = command(options, &name, samples::rounds(&samples));
        publish::publish_as(&name, &command, &samples)?;
    }
    Ok(worse == 0 && tallies.get("ours").is_none_or(|tally| tally.failed == 0))
}

/// Runs every case in all rounds and keeps the samples in `file`; how the runs went.
fn measure(options: &Options, file: &Path) -> Result<BTreeMap<String, Tally>> {
    let entrants = entrants(options)?;
    let mut cases = options.suite.cases(&entrants[0].folder, &options.np(), &options.words)?;
    let wanted = |case: &Case| options.only.iter().any(|part| case.name.contains(part.as_str()));
    cases.retain(|case| options.only.is_empty() || wanted(case));
    if cases.is_empty() {
        bail!("{} holds nothing of this suite to run", entrants[0].folder.display());
    }
    let mut samples = if options.append { samples::read(file) } else { Vec::new() };
    let first = next_round(&samples);
    let mut tallies = BTreeMap::new();
    for round in first..first + options.rounds {
        for case in &cases {
            samples.extend(play(options, case, &entrants, round, &mut tallies));
        }
        samples::write(file, &samples)?;
    }
    Ok(tallies)
}

/// The first round of which there are no samples.
fn next_round(samples: &[Sample]) -> usize {
    samples.iter().map(|sample| sample.round + 1).max().unwrap_or(0)
}

/// What somebody would type to measure the same elsewhere: folders have other names there.
fn command(options: &Options, name: &str, rounds: usize) -> String {
    let suite = options.suite;
    let np: Vec<String> = options.np().iter().map(u32::to_string).collect();
    let mut text = format!("cargo xtask accept {suite} FOLDER --np {}", np.join(","));
    if !options.only.is_empty() {
        text += &format!(" --only {}", options.only.join(","));
    }
    for (option, pairs, what) in
        [("--peer", &options.peer, "PREFIX"), ("--programs", &options.programs, "FOLDER")]
    {
        let names = pairs.iter().filter_map(|pair| pair.split_once('='));
        let named: Vec<String> = names.map(|(name, _)| format!("{name}={what}")).collect();
        if !named.is_empty() {
            text += &format!(" {option} {}", named.join(","));
        }
    }
    text += &format!(" --rounds {rounds} --table {name} --publish");
    for (at, word) in options.words.iter().enumerate() {
        let word = word.rsplit('/').next().unwrap_or_default();
        text += &format!("{} {word}", if at == 0 { " --" } else { "" });
    }
    text
}

/// Ours first, then the peers.
fn entrants(options: &Options) -> Result<Vec<Entrant>> {
    let ours = match &options.prefix {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            install::install(&place::prefix())?;
            place::prefix()
        }
    };
    let folder = options.folder.as_ref().context("the folder of the built programs is missing")?;
    let folder =
        fs::canonicalize(folder).with_context(|| format!("no folder {}", folder.display()))?;
    let mut all = vec![Entrant { library: Contestant::at("ours", ours)?, folder: folder.clone() }];
    for peer in &options.peer {
        let Some((name, prefix)) = peer.split_once('=') else {
            bail!("--peer {peer} has no name: NAME=PREFIX is wanted");
        };
        let named = options.programs.iter().filter_map(|pair| pair.split_once('='));
        let own = named.filter(|(of, _)| *of == name).map(|(_, dir)| dir).next_back();
        let folder = match own {
            Some(dir) => fs::canonicalize(dir).with_context(|| format!("no folder {dir}"))?,
            None => folder.clone(),
        };
        all.push(Entrant { library: Contestant::at(name, std::path::absolute(prefix)?)?, folder });
    }
    Ok(all)
}

/// One case on every library, the first one another each round. What they answer must be the same.
fn play(
    options: &Options,
    case: &Case,
    entrants: &[Entrant],
    round: usize,
    tallies: &mut BTreeMap<String, Tally>,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut answers: Vec<(&str, String)> = Vec::new();
    for turn in 0..entrants.len() {
        let Entrant { library, folder } = &entrants[(turn + round) % entrants.len()];
        let outcome = run_case::run(options.suite, case, library, folder, options.patience);
        let tally = tallies.entry(library.name.clone()).or_default();
        let told = match &outcome {
            Outcome::Passed { .. } => {
                tally.passed += 1;
                "passed".to_string()
            }
            Outcome::Failed(why) => {
                tally.failed += 1;
                format!("FAILED: {why}")
            }
            Outcome::Skipped(why) => {
                tally.skipped += 1;
                format!("skipped: {why}")
            }
        };
        println!("{} on {} ranks, {}: {told}", case.name, case.ranks, library.name);
        if let Outcome::Passed { rows, answer } = outcome {
            answers.extend(answer.map(|answer| (library.name.as_str(), answer)));
            let library = library.name.clone();
            samples.extend(rows.into_iter().map(|(key, value)| {
                let library = library.clone();
                Sample { round, library, key, value }
            }));
        }
    }
    for (name, answer) in &answers {
        if *answer != answers[0].1 {
            println!("{}: {name} answers {answer}, {} {}", case.name, answers[0].0, answers[0].1);
            tallies.entry("ours".into()).or_default().failed += 1;
        }
    }
    samples
}
