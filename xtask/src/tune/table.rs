//! From times to rules.

use super::way::{Row, Way};
use crate::compare::samples::size;
use std::fmt::Write as _;

/// An algorithm keeps the next size unless another one is quicker by more than this part.
const KEEP: f64 = 0.97;

/// What the algorithms of a collective took.
pub(super) struct Trial {
    pub(super) way: Way,
    pub(super) ranks: u32,
    pub(super) collective: &'static str,
    /// By algorithm, `name` or `name:ports`.
    pub(super) times: Vec<(String, Row)>,
}

impl Trial {
    /// The algorithms to take, each up to its largest size; without a limit the last.
    fn choices(&self) -> Vec<(&str, Option<u64>)> {
        let sizes: Vec<u64> =
            self.times.first().map_or(Vec::new(), |(_, row)| row.keys().copied().collect());
        let mut choices: Vec<(&str, Option<u64>)> = Vec::new();
        for (at, size) in sizes.iter().enumerate() {
            let time = |row: &Row| row.get(size).copied().unwrap_or(f64::INFINITY);
            let best = self.times.iter().min_by(|a, b| time(&a.1).total_cmp(&time(&b.1)));
            let Some((best, row)) = best else { continue };
            let limit = sizes.get(at + 1).map(|next| middle(*size, *next));
            if let Some((name, end)) = choices.last_mut() {
                let before = self.times.iter().find(|(other, _)| other == name);
                if before.is_some_and(|(_, other)| time(row) >= KEEP * time(other)) {
                    *end = limit;
                    continue;
                }
            }
            choices.push((best.as_str(), limit));
        }
        choices
    }

    /// The choices in one line, with what they take.
    pub(super) fn summary(&self) -> String {
        let words = self.choices().into_iter().map(|(name, end)| match end {
            Some(end) => format!("{name} to {end}"),
            None => name.to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

impl Trial {
    /// What every algorithm took, in microseconds: a line for each.
    pub(super) fn listing(&self) -> String {
        let mut text = String::new();
        for (name, row) in &self.times {
            let cells = row.iter().map(|(bytes, time)| format!("  {}: {time:.1}", size(*bytes)));
            let _ = writeln!(text, "  {name:20}{}", cells.collect::<String>());
        }
        text
    }
}

/// The size in the middle between two, as sizes go: by their ratio.
fn middle(low: u64, high: u64) -> u64 {
    ((low as f64).max(1.0) * high as f64).sqrt() as u64
}

/// The lines of a rule that name its algorithm.
pub(super) fn algorithm(candidate: &str) -> String {
    match candidate.split_once(':') {
        Some((name, ports)) => format!("algorithm = \"{name}\"\nports = {ports}\n"),
        None => format!("algorithm = \"{candidate}\"\n"),
    }
}

/// The key that limits a rule by size.
fn limit_of(collective: &str) -> &'static str {
    match collective {
        "gather" | "scatter" | "allgather" | "alltoall" => "max_block",
        _ => "max_bytes",
    }
}

/// A table of rules. Those measured in the memory of one node come first and hold where as many
/// ranks share a node; those between nodes of one rank each follow, then all others.
pub(super) fn text(trials: &[Trial]) -> String {
    let mut text = String::from(
        "# Written by `cargo xtask tune`. mpi-core/src/coll/default_table.toml tells the format.\n",
    );
    let mut trials: Vec<&Trial> = trials.iter().collect();
    trials.sort_by_key(|trial| (trial.collective, trial.way, trial.ranks));
    let alike = |a: &&Trial, b: &&Trial| (a.collective, a.way) == (b.collective, b.way);
    for series in trials.chunk_by(alike) {
        let mut fewer = 1;
        for (trial, more) in series.iter().zip(series.iter().skip(1).map(Some).chain([None])) {
            // More ranks by the same choices say it for fewer too.
            if more.is_none_or(|more| more.choices() != trial.choices()) {
                text += &trial.rules(fewer, more.is_none());
                fewer = trial.ranks;
            }
        }
    }
    text
}

impl Trial {
    /// Rules for more than `fewer` ranks, up to those of the trial unless it is the last.
    fn rules(&self, fewer: u32, is_last: bool) -> String {
        let mut text = String::new();
        for (candidate, end) in self.choices() {
            let _ = write!(text, "\n[[{}]]\n{}", self.collective, algorithm(candidate));
            match self.way {
                // Which there is on one node only.
                Way::Memory if candidate.starts_with("shared_memory") => {}
                Way::Memory => text += &format!("min_ranks_per_node = {}\n", fewer + 1),
                Way::Tcp => text += "max_ranks_per_node = 1\n",
                Way::Nodes(_) | Way::TwoNodes => {}
            }
            if !is_last {
                text += &format!("max_ranks = {}\n", self.ranks);
            }
            if let Some(end) = end {
                text += &format!("{} = {end}\n", limit_of(self.collective));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(way: Way, ranks: u32, times: &[(&str, [f64; 3])]) -> Trial {
        let row = |values: &[f64; 3]| [8, 1024, 65536].into_iter().zip(*values).collect();
        let times = times.iter().map(|(name, values)| ((*name).into(), row(values))).collect();
        Trial { way, ranks, collective: "scatter", times }
    }

    #[test]
    fn the_quickest_serves_up_to_the_middle_of_two_sizes() {
        let binomial = ("binomial:2", [1.0, 3.0, 90.0]);
        let linear = ("linear:64", [2.0, 2.0, 40.0]);
        let made = text(&[trial(Way::Tcp, 4, &[binomial, linear])]);
        let rules: Vec<&str> = made.split("\n\n").skip(1).collect();
        assert_eq!(
            rules,
            [
                "[[scatter]]\nalgorithm = \"binomial\"\nports = 2\nmax_ranks_per_node = 1\nmax_block = 90",
                "[[scatter]]\nalgorithm = \"linear\"\nports = 64\nmax_ranks_per_node = 1\n",
            ]
        );
    }

    #[test]
    fn a_little_is_no_reason_to_change() {
        let segment = ("shared_memory", [1.0, 2.0, 3.0]);
        let other = ("linear", [2.0, 1.96, 3.0]);
        assert_eq!(trial(Way::Memory, 2, &[segment, other]).choices(), [("shared_memory", None)]);
    }

    #[test]
    fn more_ranks_follow_fewer() {
        let one = |ranks, name| trial(Way::Memory, ranks, &[(name, [1.0, 2.0, 3.0])]);
        let made = text(&[one(8, "linear"), one(2, "shared_memory"), one(4, "linear")]);
        let (two, more) = made.split_once("[[scatter]]\n").unwrap().1.split_once("\n\n").unwrap();
        assert_eq!(two, "algorithm = \"shared_memory\"\nmax_ranks = 2");
        assert_eq!(more, "[[scatter]]\nalgorithm = \"linear\"\nmin_ranks_per_node = 3\n");
    }
}
