//! `cargo xtask rails`: algorithms of several ports on hosts with several network cards, as in
//! Qian and Afsahi, "Efficient RDMA-based multi-port collectives on multi-rail QsNetII clusters",
//! 2006: gather, scatter and all-to-all with two ports over two cards beside one over one.
//!
//! Enters: an installation, the number of hosts, what a card lets through. Leaves: a table. The
//! hosts are network namespaces; a stream takes a card of its own, so a card's rate is its own.

mod hosts;

use crate::compare::samples::{self, Key, Sample, size};
use crate::compare::verdict::{self, Estimate};
use crate::{install, place, run};
use anyhow::{Context, Result, bail};
use clap::Args;
use hosts::Hosts;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Each with the name that the paper gives it.
const ALGORITHMS: [(&str, &str, &str); 4] = [
    ("gather", "binomial", "BGRW"),
    ("scatter", "binomial", "BSRW"),
    ("scatter", "linear", "SSRW"),
    ("alltoall", "pairwise", "DARW"),
];
/// Numbers of ports, cards and streams.
const PORTS: [u32; 2] = [1, 2];
/// From this length on a message is cut over all streams; the paper has 1 KiB, where a message
/// needs no answer first.
const STRIPE: &str = "8KiB";

/// What to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of hosts, of one rank each
    #[arg(long, default_value_t = 8)]
    np: u32,
    /// What a card lets through each way, as `tc` writes it
    #[arg(long, default_value = "100mbit")]
    rate: String,
    /// Sizes in bytes of the block for each rank
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "BYTES,…",
        default_value = "16,256,1024,4096,16384,65536,262144"
    )]
    sizes: Vec<u64>,
    /// Rounds; each runs every algorithm once with one port and once with two
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Add the rounds to those measured before
    #[arg(long)]
    append: bool,
    /// Our installation; without it the tree is built and installed in target/ferrite
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// Values by round, for each algorithm with its ports, collective and size.
type Rows = BTreeMap<Key, BTreeMap<String, BTreeMap<usize, f64>>>;

/// Measures and prints.
pub(crate) fn rails(options: &Options) -> Result<()> {
    let prefix = match &options.prefix {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            install::install(&place::prefix())?;
            place::prefix()
        }
    };
    let folder = place::target().join("rails");
    fs::create_dir_all(&folder).context("cannot make target/rails")?;
    let program = folder.join("collectives");
    let mut cc = run::command(&prefix.join("bin/mpicc").to_string_lossy());
    cc.args(["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-o"]).arg(&program);
    run::must(cc.arg(place::root().join("benches/collectives.c")))?;

    let file = folder.join("rails.samples");
    let mut all = if options.append { samples::read(&file) } else { Vec::new() };
    let first = all.iter().map(|sample| sample.round + 1).max().unwrap_or(0);
    let hosts = Hosts::make(options.np, 2, &options.rate)?;
    for round in first..first + options.rounds {
        for (collective, algorithm, _) in ALGORITHMS {
            for turn in 0..PORTS.len() {
                let ports = PORTS[(turn + round) % PORTS.len()];
                let choice = (collective, algorithm, ports);
                let rows = measure(&prefix, &program, &hosts, options, choice)?;
                let library = format!("{algorithm}:{ports}");
                let sample = |(key, value)| Sample { round, library: library.clone(), key, value };
                all.extend(rows.into_iter().map(sample));
            }
        }
        samples::write(&file, &all)?;
        eprintln!("round {} of {}", round + 1 - first, options.rounds);
    }
    print!("{}", table(&samples::by_row(&all)));
    Ok(())
}

/// One run of one algorithm.
fn measure(
    prefix: &Path,
    program: &Path,
    hosts: &Hosts,
    options: &Options,
    (collective, algorithm, ports): (&str, &str, u32),
) -> Result<Vec<(Key, f64)>> {
    let mut command = run::command(&prefix.join("bin/mpirun").to_string_lossy());
    command.args(["--timeout", "100", "--launcher", "ip netns exec", "-H", &hosts.list()]);
    command.args(["-n", &options.np.to_string()]).arg(program).args(["--only", collective]);
    let sizes: Vec<String> = options.sizes.iter().map(u64::to_string).collect();
    command.args(["--apart", "--sizes", &sizes.join(","), "--seconds", "0.02"]);
    // Ranks take themselves to be alone on their hosts, but share this one's processors.
    command.env("FERRITE_WAIT_SPIN_POLLS", "0").env("FERRITE_WAIT_YIELD", "0s");
    command.env("FERRITE_TCP_STREAMS", ports.to_string());
    command.env("FERRITE_TCP_STRIPE_BYTES", STRIPE).env("FERRITE_TCP_EAGER_BYTES", STRIPE);
    let variable = format!("FERRITE_COLL_{}", collective.to_uppercase());
    command.env(variable, format!("{algorithm}:{ports}"));
    let output = command.stdin(Stdio::null()).output().context("mpirun cannot be started")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{collective} by {algorithm}:{ports}: {}\n{said}", output.status);
    }
    Ok(samples::printed(options.np, &String::from_utf8_lossy(&output.stdout)))
}

/// A line for each collective, algorithm and size; the last column of a scatter tells which of its
/// two algorithms serves the size better with two ports.
fn table(rows: &Rows) -> String {
    let mut text = String::from(
        "| collective | algorithm | block | one port µs | two ports µs | one/two | 95 % | \
         binomial/linear |\n\
         |---|---|--:|--:|--:|--:|---|--:|\n",
    );
    for (collective, algorithm, name) in ALGORITHMS {
        for (key, libraries) in rows.iter().filter(|(key, _)| key.test == collective) {
            let of = |algorithm: &str, ports: u32| libraries.get(&format!("{algorithm}:{ports}"));
            let [Some(one), Some(two)] = PORTS.map(|ports| of(algorithm, ports)) else { continue };
            let Some(Estimate { r, low, high }) = verdict::ratio(one, two, false) else { continue };
            let [one, two] = [one, two]
                .map(|row| verdict::median(&mut row.values().copied().collect::<Vec<_>>()));
            let against = match (collective, of("binomial", 2), of("linear", 2)) {
                ("scatter", Some(binomial), Some(linear)) => {
                    verdict::ratio(binomial, linear, false).map_or(String::new(), |estimate| {
                        format!("{:.2} ({:.2}–{:.2})", estimate.r, estimate.low, estimate.high)
                    })
                }
                _ => String::new(),
            };
            text += &format!(
                "| {collective} | {algorithm} ({name}) | {} | {one:.0} | {two:.0} | {r:.2} | \
                 {low:.2}–{high:.2} | {against} |\n",
                size(key.bytes.unwrap_or(0))
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_port_is_divided_by_two_and_the_tree_by_the_sequence() {
        let key = |test: &str| Key {
            ranks: 8,
            test: test.into(),
            variant: "8-ranks".into(),
            bytes: Some(1024),
            unit: "us".into(),
        };
        let values = [
            ("gather", "binomial:1", 40.0),
            ("gather", "binomial:2", 20.0),
            ("scatter", "binomial:1", 40.0),
            ("scatter", "binomial:2", 30.0),
            ("scatter", "linear:1", 30.0),
            ("scatter", "linear:2", 15.0),
        ];
        let sample = |(test, library, value): (&str, &str, f64)| Sample {
            round: 0,
            library: library.into(),
            key: key(test),
            value,
        };
        let text = table(&samples::by_row(&values.map(sample)));
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines[0],
            "| gather | binomial (BGRW) | 1 KiB | 40 | 20 | 2.00 | 2.00–2.00 |  |"
        );
        assert!(lines[1].ends_with("| 1.33 | 1.33–1.33 | 2.00 (2.00–2.00) |"), "{text}");
        assert_eq!(lines.len(), 3, "the all-to-all has not run");
    }
}
