//! `cargo xtask compare`: our library beside the others on this machine, and beside the machine itself.
//!
//! Enters: what the command line picks. Leaves: verdicts on standard output, and in
//! `target/compare` the samples, the tables and the plots. The method is that of decision 34:
//! every round runs every library once, the order is rotated, and what counts is the median
//! of the ratios inside the rounds. `benches/` holds the programs, its README how to read them.

pub(crate) mod contestants;
pub(crate) mod groups;
pub(crate) mod machine;
mod memory;
mod page;
pub(crate) mod plot;
pub(crate) mod publish;
pub(crate) mod report;
mod results;
pub(crate) mod rounds;
pub(crate) mod samples;
pub(crate) mod verdict;

use crate::{install, peers, place};
use anyhow::{Context, Result, bail};
use clap::Args;
use contestants::Contestant;
use groups::{Group, Over};
use std::fs;
use std::path::PathBuf;

/// The libraries that we are compared with, unless others are named.
const PEERS: [&str; 3] = ["mpich", "openmpi", "impi"];

/// What to compare, and how.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these groups: latency, cold, rate, bandwidth, cold-bandwidth, collectives, oversubscribed, imb,
    /// tcp-latency, tcp-bandwidth, udp-latency, udp-bandwidth, pack, startup, memory, idle, floor
    #[arg(long, value_delimiter = ',', value_name = "GROUPS")]
    only: Vec<String>,
    /// Rounds; each runs every library once
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Numbers of ranks, instead of those of the group
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    np: Vec<u32>,
    /// Sizes in bytes, instead of those of the group
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…")]
    sizes: Vec<u64>,
    /// Only these tests of a group, such as bcast,reduce
    #[arg(long, value_delimiter = ',', value_name = "TESTS")]
    tests: Vec<String>,
    /// Compare with these: mpich, openmpi, impi, or NAME=PREFIX for any other installation
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    against: Vec<String>,
    /// Our installation; without it the tree is built and installed in target/ferrite
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Where the peers' environments are; without it they are made in target/peers
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// An IMB-MPI1 built with a library that cannot run Intel's, as NAME=PROGRAM
    #[arg(long, value_delimiter = ',', value_name = "NAME=PROGRAM")]
    imb: Vec<String>,
    /// Add the rounds to those measured before
    #[arg(long)]
    append: bool,
    /// Measure nothing, print what was measured before
    #[arg(long)]
    show: bool,
    /// Write the results into benches/results, and make docs/performance.md anew from all results there
    #[arg(long)]
    publish: bool,
}

/// Where samples, tables, plots and the compiled programs go.
fn folder() -> PathBuf {
    place::target().join("compare")
}

/// Measures and tells; whether our library stands every comparison.
pub(crate) fn compare(options: &Options) -> Result<bool> {
    let groups = chosen(options)?;
    fs::create_dir_all(folder()).context("cannot make target/compare")?;
    if !options.show {
        let mut contestants = contestants(options, &groups)?;
        if groups.iter().any(|group| group.over == Over::Udp) {
            let beside = contestants[0].over_tcp("tcp");
            contestants.push(beside);
        }
        for group in &groups {
            contestants::compile(&contestants, group.program)?;
            if group.floor {
                contestants::compile(&contestants, contestants::floor_of(group.over))?;
            }
        }
        for group in &groups {
            rounds::run(group, &contestants, options.rounds, options.append)?;
        }
    }
    let stands = report::report(&groups)?;
    if options.publish {
        publish::publish(&groups)?;
    }
    Ok(stands)
}

/// The groups asked for, with the ranks, sizes and tests asked for.
fn chosen(options: &Options) -> Result<Vec<Group>> {
    let mut groups = groups::all();
    if let Some(unknown) = options.only.iter().find(|name| groups.iter().all(|g| g.name != **name))
    {
        let names: Vec<&str> = groups.iter().map(|group| group.name).collect();
        bail!("there is no group {unknown}; there are {}", names.join(", "));
    }
    groups.retain(|group| options.only.is_empty() || options.only.iter().any(|n| n == group.name));
    for group in &mut groups {
        if !options.np.is_empty() {
            group.ranks.clone_from(&options.np);
        }
        if !options.sizes.is_empty() {
            group.sizes.clone_from(&options.sizes);
        }
        if !options.tests.is_empty() {
            group.tests.clone_from(&options.tests);
        }
    }
    Ok(groups)
}

/// Ours first, then those that it is compared with.
fn contestants(options: &Options, groups: &[Group]) -> Result<Vec<Contestant>> {
    let ours = match &options.prefix {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            install::install(&place::prefix())?;
            place::prefix()
        }
    };
    let names: Vec<String> = match &options.against[..] {
        [] if groups.iter().all(|group| group.over == Over::Udp) => Vec::new(),
        [] => PEERS.map(String::from).to_vec(),
        names => names.to_vec(),
    };
    let known: Vec<String> = names.iter().filter(|name| !name.contains('=')).cloned().collect();
    let home = match &options.peers {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            if !known.is_empty() {
                peers::peers(&known)?;
            }
            place::target().join("peers")
        }
    };
    let mut all = vec![Contestant::at("ours", ours)?];
    for name in &names {
        let (name, prefix) = match name.split_once('=') {
            Some((name, dir)) => (name, std::path::absolute(dir)?),
            None => (name.as_str(), home.join(name)),
        };
        all.push(Contestant::at(name, prefix)?);
    }
    let intel = home.join("impi/bin/IMB-MPI1");
    for contestant in &mut all {
        contestant.find_imb(&intel, &options.imb)?;
    }
    Ok(all)
}
