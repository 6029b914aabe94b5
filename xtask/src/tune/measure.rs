//! Runs `benches/collectives.c` with one algorithm, or with the rules of a table.

use super::way::{Row, Way};
use crate::compare::samples;
use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The measuring program of one installation.
pub(super) struct Bench {
    prefix: PathBuf,
    folder: PathBuf,
    seconds: f64,
}

impl Bench {
    /// Compiles it.
    pub(super) fn build(prefix: PathBuf, folder: PathBuf, seconds: f64) -> Result<Bench> {
        let bench = Bench { prefix, folder, seconds };
        let mut cc = run::command(&bench.prefix.join("bin/mpicc").to_string_lossy());
        cc.args(["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-o"]).arg(bench.program());
        run::must(cc.arg(place::root().join("benches/collectives.c")))?;
        Ok(bench)
    }

    fn program(&self) -> PathBuf {
        self.folder.join("collectives")
    }

    fn mpirun(&self, ranks: u32) -> Command {
        let mut command = run::command(&self.prefix.join("bin/mpirun").to_string_lossy());
        command.args(["--timeout", "100", "-n", &ranks.to_string()]).arg(self.program());
        command.stdin(Stdio::null());
        command
    }

    /// The algorithms that serve a collective, with numbers of ports. The library itself is
    /// asked, by a name that no algorithm has: its complaint names them all.
    pub(super) fn candidates(&self, collective: &str, ports: &[u32]) -> Result<Vec<String>> {
        let variable = format!("FERRITE_COLL_{}", collective.to_uppercase());
        let output = self.mpirun(1).args(["--only", "barrier"]).env(variable, "?").output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let names = said.split_once("(one of: ").and_then(|(_, rest)| rest.split_once(')'));
        let Some((names, _)) = names else {
            bail!("{collective}: the library does not say which algorithms it has:\n{said}");
        };
        let has_ports = |name: &str| {
            !["chain", "ring", "nodes"].contains(&name)
                && !name.starts_with("shared_memory")
                && !name.contains("doubling")
        };
        let with_ports = |name: &str| -> Vec<String> {
            let one = |k: &u32| if *k == 1 { name.into() } else { format!("{name}:{k}") };
            if has_ports(name) { ports.iter().map(one).collect() } else { vec![name.into()] }
        };
        // The message may be broken into lines.
        Ok(names.split(',').flat_map(|name| with_ports(name.trim())).collect())
    }

    /// A table by which a collective has this algorithm alone.
    pub(super) fn only(&self, collective: &str, candidate: &str) -> Result<PathBuf> {
        let file = self.folder.join("only.toml");
        let text = format!("[[{collective}]]\n{}", super::table::algorithm(candidate));
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }

    /// How long the calls of some collectives take.
    pub(super) fn run(
        &self,
        way: Way,
        ranks: u32,
        collectives: &[&str],
        sizes: &[u64],
        table: Option<&Path>,
    ) -> Result<Vec<(samples::Key, f64)>> {
        let mut command = self.mpirun(ranks);
        let near = match way {
            Way::Nodes(ranks) => Some(ranks),
            Way::TwoNodes => Some(ranks.div_ceil(2)),
            Way::Memory | Way::Tcp => None,
        };
        command.envs(near.map(|ranks| ("FERRITE_NODE_RANKS", ranks.to_string())));
        command.envs((way == Way::Tcp).then_some(("FERRITE_TRANSPORT", "tcp")));
        if let Some(table) = table {
            command.env("FERRITE_COLL_TABLE", std::path::absolute(table)?);
        }
        // The largest first: memory that the library touches for the first time is not measured
        // with the smaller ones, which would not get through all of it.
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        command.args(["--only", &collectives.join(","), "--sizes", &sizes.join(",")]);
        command.args(["--seconds", &self.seconds.to_string()]);
        let output = command.output().context("mpirun cannot be started")?;
        if !output.status.success() {
            let (said, what) = (String::from_utf8_lossy(&output.stderr), collectives.join(", "));
            bail!("{what} on {ranks} ranks over {way}: {}\n{said}", output.status);
        }
        Ok(samples::printed(ranks, &String::from_utf8_lossy(&output.stdout)))
    }

    /// How long the calls of one collective take, by size.
    pub(super) fn row(
        &self,
        way: Way,
        ranks: u32,
        collective: &str,
        sizes: &[u64],
        table: Option<&Path>,
    ) -> Result<Row> {
        let rows = self.run(way, ranks, &[collective], sizes, table)?;
        Ok(rows.into_iter().map(|(key, value)| (key.bytes.unwrap_or(0), value)).collect())
    }
}

/// The median for each size.
pub(super) fn medians(rounds: &[Row]) -> Row {
    let sizes = rounds.first().into_iter().flat_map(Row::keys);
    let median = |size: &u64| {
        let mut values: Vec<f64> = rounds.iter().filter_map(|row| row.get(size).copied()).collect();
        values.sort_by(f64::total_cmp);
        (*size, values[values.len() / 2])
    };
    sizes.map(median).collect()
}
