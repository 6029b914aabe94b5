//! `cargo xtask tune`: measures which algorithm of each collective is the quickest here, and writes
//! a table of rules that says so (its format is told in `mpi-core/src/coll/default_table.toml`; a
//! program takes it by `FERRITE_COLL_TABLE`). `--check` asks the other question: whether what the
//! rules choose is consistent with itself.
//!
//! Enters: an installation, numbers of ranks, what messages go over. Leaves: a table, or complaints.

mod consistency;
mod measure;
mod table;
mod way;

use crate::compare::samples::{self, Sample};
use crate::{install, place};
use anyhow::{Context, Result};
use clap::Args;
use consistency::{Findings, Times};
use measure::Bench;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use table::Trial;
use way::Way;

/// The collectives that `benches/collectives.c` measures.
const COLLECTIVES: [&str; 8] =
    ["barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce"];

/// What to tune for.
#[derive(Args)]
pub(crate) struct Options {
    /// Numbers of ranks
    #[arg(long, value_delimiter = ',', value_name = "N,…", default_value = "2,4,8")]
    np: Vec<u32>,
    /// Ways that messages go: memory, tcp, nodes:K for groups of K ranks that share memory, or
    /// two-nodes for two such groups
    #[arg(long, value_delimiter = ',', value_name = "WAYS", default_value = "memory")]
    over: Vec<Way>,
    /// Only these collectives
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Sizes in bytes: of the message or vector, or of the block for each rank
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "BYTES,…",
        default_value = "8,64,512,4096,16384,65536,262144,1048576"
    )]
    sizes: Vec<u64>,
    /// Numbers of ports that algorithms of several ports are tried with
    #[arg(long, value_delimiter = ',', value_name = "K,…", default_value = "1,2,64")]
    ports: Vec<u32>,
    /// Rounds; each runs every algorithm once
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds that a row is measured in a round
    #[arg(long, default_value_t = 0.01)]
    seconds: f64,
    /// Our installation; without it the tree is built and installed in target/ferrite
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// The table, to be written or, with --check, to be used instead of the one compiled in
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Only say where the rules contradict themselves, such as a broadcast that takes longer than
    /// one of more bytes
    #[arg(long)]
    check: bool,
    /// With --check: add the rounds to those measured before
    #[arg(long)]
    append: bool,
}

/// Tunes or checks; whether the check found nothing.
pub(crate) fn tune(options: &Options) -> Result<bool> {
    let prefix = match &options.prefix {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            install::install(&place::prefix())?;
            place::prefix()
        }
    };
    let folder = place::target().join("tune");
    fs::create_dir_all(&folder).context("cannot make target/tune")?;
    let bench = Bench::build(prefix, folder.clone(), options.seconds)?;
    if options.check {
        return check(&bench, options, &folder);
    }
    let mut trials = Vec::new();
    for &way in &options.over {
        for collective in chosen(options) {
            for &ranks in &options.np {
                let trial = trial(&bench, options, way, ranks, collective)?;
                eprintln!("{collective} on {ranks} ranks over {way}: {}", trial.summary());
                eprint!("{}", trial.listing());
                trials.push(trial);
            }
        }
    }
    let text = table::text(&trials);
    match &options.table {
        Some(file) => {
            fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        None => print!("{text}"),
    }
    Ok(true)
}

fn chosen(options: &Options) -> impl Iterator<Item = &'static str> + '_ {
    let wanted = |name: &&str| options.only.is_empty() || options.only.iter().any(|it| it == name);
    COLLECTIVES.into_iter().filter(wanted)
}

/// Measures every algorithm of a collective.
fn trial(
    bench: &Bench,
    options: &Options,
    way: Way,
    ranks: u32,
    collective: &'static str,
) -> Result<Trial> {
    let candidates = bench.candidates(collective, &options.ports)?;
    let mut trial = Trial { way, ranks, collective, times: Vec::new() };
    let sizes = &options.sizes[..if collective == "barrier" { 1 } else { options.sizes.len() }];
    let mut rounds = vec![Vec::new(); candidates.len()];
    for _ in 0..options.rounds {
        for (candidate, rounds) in candidates.iter().zip(&mut rounds) {
            let only = bench.only(collective, candidate)?;
            rounds.push(bench.row(way, ranks, collective, sizes, Some(&only))?);
        }
    }
    let medians = rounds.iter().map(|rounds| measure::medians(rounds));
    trial.times = candidates.into_iter().zip(medians).collect();
    Ok(trial)
}

/// Whether nothing takes longer than what does more, in the rounds measured now and, if they are
/// to be added to, before.
fn check(bench: &Bench, options: &Options, folder: &Path) -> Result<bool> {
    let tests = [&COLLECTIVES[..], &consistency::INSTEAD].concat();
    let mut found = 0;
    for &way in &options.over {
        for &ranks in &options.np {
            let file = folder.join(format!("check-{way}-{ranks}.samples"));
            let mut all = if options.append { samples::read(&file) } else { Vec::new() };
            let first = all.iter().map(|sample| sample.round + 1).max().unwrap_or(0);
            for round in first..first + options.rounds {
                let (sizes, table) = (&options.sizes[..], options.table.as_deref());
                let rows = bench.run(way, ranks, &tests, sizes, table)?;
                let sample = |(key, value)| Sample { round, library: way.to_string(), key, value };
                all.extend(rows.into_iter().map(sample));
            }
            samples::write(&file, &all)?;
            let mut rounds = BTreeMap::<usize, Times>::new();
            for Sample { round, key, value, .. } in all {
                let row = rounds.entry(round).or_default().entry(key.test).or_default();
                row.insert(key.bytes.unwrap_or(0), value);
            }
            let rounds: Vec<Times> = rounds.into_values().collect();
            let Findings { claims, contradictions, open } =
                consistency::judge(&rounds, &options.sizes);
            println!(
                "{ranks} ranks over {way}, {} rounds: {} contradictions in {claims}, {} undecided",
                rounds.len(),
                contradictions.len(),
                open.len()
            );
            contradictions.iter().for_each(|complaint| println!("  {complaint}"));
            open.iter().for_each(|complaint| println!("  (undecided) {complaint}"));
            found += contradictions.len();
        }
    }
    Ok(found == 0)
}
