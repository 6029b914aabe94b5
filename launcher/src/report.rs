//! The table of `mpirun --report`: what the launcher decided and what the ranks told of themselves.

use crate::plan::Plan;
use crate::ranges::ranges;
use launch_wire::control::Face;
use std::collections::BTreeMap;
use std::time::Duration;

/// Most bytes of report text that are kept of one rank.
const TEXT_MAX: usize = 256 * 1024;

/// What the ranks told.
#[derive(Debug, Default)]
pub(crate) struct Report {
    texts: BTreeMap<usize, String>,
    faces: BTreeMap<Face, Vec<usize>>,
}

impl Report {
    /// A rank's lines of the table.
    pub(crate) fn add(&mut self, rank: usize, text: &str) {
        let kept = self.texts.entry(rank).or_default();
        if kept.len() + text.len() <= TEXT_MAX {
            kept.push_str(text.trim_end());
            kept.push('\n');
        }
    }

    /// The face that a rank uses.
    pub(crate) fn face(&mut self, rank: usize, face: Face) {
        let ranks = self.faces.entry(face).or_default();
        if let Err(at) = ranks.binary_search(&rank) {
            ranks.insert(at, rank);
        }
    }

    /// The ranks that introduced themselves, which those of another MPI library do not.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = usize> {
        self.faces.values().flatten().copied()
    }

    /// The table. Ranks that told the same share their lines.
    pub(crate) fn table(&self, plan: &Plan, time: Duration) -> String {
        let mut table = format!(
            "mpirun report: {} rank(s) on {}, {:.2} s\n  CPUs: {} usable; {}\n",
            plan.ranks(),
            plan.host,
            time.as_secs_f64(),
            plan.cpus,
            plan.binding.why
        );
        for (rank, cpus) in plan.binding.cpus.iter().enumerate() {
            if let Some(cpus) = cpus {
                let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
                table += &format!("  rank {rank}: CPU {}\n", cpus.join(", "));
            }
        }
        for (face, ranks) in &self.faces {
            table += &format!("  {}: {face}\n", ranges(ranks));
        }
        if self.faces.len() > 1 {
            table += "  note: the ranks use different ABIs; constants, handles and error codes of \
                      MPI must not be sent as data between them\n";
        }
        if let Some(caution) = &plan.caution {
            table += &format!("  note: {caution}\n");
        }
        let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (rank, text) in &self.texts {
            same.entry(text).or_default().push(*rank);
        }
        let mut groups: Vec<_> = same.into_iter().collect();
        groups.sort_by_key(|(_, ranks)| ranks[0]);
        for (text, ranks) in groups {
            table += &format!("  {}:\n", ranges(&ranks));
            for line in text.lines() {
                table += &format!("    {line}\n");
            }
        }
        if self.texts.is_empty() {
            table += "  no rank told how it communicated (no MPI program, another MPI library, or \
                      one rank)\n";
        }
        table
    }
}
