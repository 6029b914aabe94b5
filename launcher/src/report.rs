//! The table of `mpirun --report`: what the launcher decided and what the ranks told of themselves.

use crate::plan::Plan;
use crate::ranges::ranges;
use crate::tree::frame::Arrived;
use launch_wire::control::Face;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Most bytes of report text that are kept of one rank.
const TEXT_MAX: usize = 256 * 1024;

/// What the ranks told.
#[derive(Debug, Default)]
pub(crate) struct Report {
    texts: BTreeMap<usize, String>,
    faces: BTreeMap<Face, Vec<usize>>,
    hosts: BTreeMap<usize, Arrived>,
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

    /// A host is there. How many of them are now.
    pub(crate) fn arrived(&mut self, host: Arrived) -> usize {
        self.hosts.insert(host.node, host);
        self.hosts.len()
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

    /// Where each rank is to run.
    pub(crate) fn places(&self, plan: &Plan) -> String {
        let mut lines = String::new();
        for rank in 0..plan.ranks() {
            let node = plan.node_of[rank];
            let Some(host) = self.hosts.get(&node) else { continue };
            let bound = host.bound.iter().find(|(bound, _)| *bound == rank);
            let place = match bound {
                Some((_, cpus)) => {
                    let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
                    format!("CPU {} ({})", cpus.join(", "), host.why)
                }
                None => format!("any of {} CPUs ({})", host.cpus, host.why),
            };
            lines += &format!("mpirun: rank {rank} on {}: {place}\n", plan.hosts[node]);
        }
        lines
    }

    /// The table. Ranks that told the same share their lines.
    pub(crate) fn table(&self, plan: &Plan, time: Duration) -> String {
        let names: Vec<&str> = self.hosts.keys().map(|&node| &*plan.hosts[node]).collect();
        let used = |node: &usize| plan.node_of.contains(node);
        let mut table = format!(
            "mpirun report: {} rank(s) on {}, {:.2} s\n",
            plan.ranks(),
            match names[..] {
                [one] => one.to_string(),
                _ => format!("{} hosts", self.hosts.keys().filter(|node| used(node)).count()),
            },
            time.as_secs_f64(),
        );
        for (node, host) in self.hosts.iter().filter(|(node, _)| used(node)) {
            if names.len() > 1 {
                table += &format!("  {}: {}\n", plan.hosts[*node], ranges(&plan.ranks_of(*node)));
            }
            table += &format!("  CPUs: {} usable; {}\n", host.cpus, host.why);
            for (rank, cpus) in &host.bound {
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
        let cautions: BTreeSet<&String> =
            self.hosts.values().filter_map(|host| host.caution.as_ref()).collect();
        for caution in cautions {
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
            table += "  no rank told how it communicated (no MPI program, another MPI library, one \
                      rank, or MPI_Init failed)\n";
        }
        table
    }
}
