//! What was measured, in a file that grows with each step: a run that is ended early has lost nothing.
//!
//! Enters: outcomes of steps. Leaves: samples, in the place of those that the same figures had before.

use super::machine::Outcome;
use super::plan::{Plan, Step};
use super::values;
use crate::compare::samples::{self, Key, Sample};
use crate::place;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The samples, and which host measured which round of which figure.
pub(super) struct Kept<'a> {
    plan: &'a Plan,
    all: Vec<Sample>,
    hosts: BTreeMap<(&'a str, usize), usize>,
}

/// The file of all samples.
pub(super) fn file() -> PathBuf {
    place::target().join("rdma/shows.samples")
}

impl<'a> Kept<'a> {
    /// Forgets what the figures of these steps had.
    pub(super) fn begin(plan: &'a Plan, steps: &[(usize, &'a Step)]) -> Result<Kept<'a>> {
        let figures: BTreeSet<&str> =
            steps.iter().filter_map(|(_, step)| step.figure.as_deref()).collect();
        let mut all = samples::read(&file());
        all.retain(|old| !figures.contains(&*old.key.test));
        fs::create_dir_all(place::target().join("rdma"))?;
        Ok(Kept { plan, all, hosts: BTreeMap::new() })
    }

    /// Adds what a step has measured. Ratios are taken inside one host: what another host measured of the same round of
    /// the figure goes.
    pub(super) fn add(&mut self, round: usize, step: &'a Step, outcome: &Outcome) -> Result<()> {
        let (Some(name), Some(line)) = (&step.figure, &step.line) else { return Ok(()) };
        let Some(figure) = self.plan.figures.iter().find(|figure| figure.name == *name) else {
            return Ok(());
        };
        let host = self.hosts.insert((name, round), outcome.host);
        if host.is_some_and(|host| host != outcome.host) {
            self.all.retain(|old| old.key.test != *name || old.round != round);
        }
        for value in values::printed(&outcome.said) {
            if value.unit == figure.unit {
                let (test, variant, bytes) = (name.clone(), value.variant, value.bytes);
                let key = Key { ranks: 2, test, variant, bytes, unit: value.unit };
                self.all.push(Sample { round, library: line.clone(), key, value: value.value });
            }
        }
        samples::write(&file(), &self.all)
    }
}
