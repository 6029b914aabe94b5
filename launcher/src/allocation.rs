//! What a batch system has granted: the hosts of the job that mpirun is part of.
//!
//! In: the variables of Slurm, PBS, LSF and Grid Engine, and the files that they name. Out: the hosts
//! with their slots, and what to tell a user whose allocation has more hosts than mpirun uses: it
//! starts ranks on other hosts only when these are named.

use crate::env::Environment;
use crate::hosts::{self, Host};
use std::collections::HashMap;
use std::ffi::OsStr;

/// Most hosts that a message names.
const SHOWN_MAX: usize = 64;
/// Most hosts of an allocation.
const HOSTS_MAX: usize = 1 << 16;

/// Hosts that a batch system has granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// What the batch system is called.
    by: &'static str,
    /// The variable that told of them.
    told_by: &'static str,
    hosts: Vec<Host>,
}

/// The ways in which batch systems tell, and how their text is read.
const WAYS: [(&str, &str, Way); 7] = [
    ("Slurm", "SLURM_JOB_NODELIST", Way::Slurm),
    ("Slurm", "SLURM_NODELIST", Way::Slurm),
    ("PBS", "PBS_NODEFILE", Way::FileOfSlots),
    ("LSF", "LSB_DJOB_HOSTFILE", Way::FileOfSlots),
    ("LSF", "LSB_MCPU_HOSTS", Way::Pairs),
    ("LSF", "LSB_HOSTS", Way::Slots),
    ("Grid Engine", "PE_HOSTFILE", Way::FileOfColumns),
];

/// How hosts and slots are written.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// `n[1-3,7],m5`, and the slots in another variable.
    Slurm,
    /// A file with a line for each slot.
    FileOfSlots,
    /// A file of lines `HOST SLOTS …`.
    FileOfColumns,
    /// `n1 4 n2 4`.
    Pairs,
    /// A word for each slot.
    Slots,
}

impl Allocation {
    /// What these variables tell of; an error names the variable that promises hosts and has none.
    pub(crate) fn of(variables: &Environment) -> Result<Option<Allocation>, String> {
        let value = |name: &str| variables.get(OsStr::new(name))?.to_str().map(str::trim);
        let told = |(by, name, way): (_, &'static str, _)| {
            let text = value(name).filter(|text| !text.is_empty())?;
            Some((by, name, way, text))
        };
        let Some((by, told_by, way, text)) = WAYS.into_iter().find_map(told) else {
            return Ok(None);
        };
        let file = || {
            let why =
                |error| format!("{told_by} names the file {text}, which cannot be read: {error}");
            machine::read_text(text).map_err(why)
        };
        let hosts = match way {
            Way::Slurm => {
                let counts = ["SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"];
                slurm(text, counts.into_iter().find_map(value).unwrap_or_default())
            }
            Way::Pairs => pairs(text.split_whitespace()),
            Way::Slots => counted(text.split_whitespace()),
            Way::FileOfSlots => counted(file()?.split_whitespace()),
            Way::FileOfColumns => {
                pairs(file()?.lines().flat_map(|line| line.split_whitespace().take(2)))
            }
        };
        match hosts.filter(|hosts| !hosts.is_empty()) {
            Some(hosts) => Ok(Some(Allocation { by, told_by, hosts })),
            None => Err(format!("{told_by} names no hosts that can be understood")),
        }
    }

    /// How many ranks fit on this machine, whose name is `this`.
    pub(crate) fn slots_of(&self, this: &str) -> Option<usize> {
        let own = self.hosts.iter().filter(|host| hosts::is_this(&host.name, this));
        Some(own.filter_map(|host| host.slots).sum()).filter(|&slots| slots > 0)
    }

    /// What to say where no hosts are named, so that only this one is used.
    pub(crate) fn note(&self, this: &str) -> Option<String> {
        let is_other = |host: &&Host| !hosts::is_this(&host.name, this);
        let others = self.hosts.iter().filter(is_other).count();
        if others == 0 {
            return None;
        }
        let entry = |host: &Host| match host.slots {
            Some(slots) => format!("{}:{slots}", host.name),
            None => host.name.clone(),
        };
        let shown: Vec<String> = self.hosts.iter().take(SHOWN_MAX).map(entry).collect();
        let rest = match self.hosts.len() - shown.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let (by, list) = (self.by, shown.join(","));
        let has = match (self.hosts.len(), others) {
            (1, _) => "has one host, which is not this one".to_string(),
            (n, _) => format!("has {n} hosts"),
        };
        Some(format!(
            "note: this allocation of {by} {has} ({}), and all ranks run on this host, {this}, alone. \
             To use the hosts of the allocation, which mpirun reaches by ssh, add -H {list}{rest}",
            self.told_by
        ))
    }
}

/// A host by name, if that can be one.
fn host(name: &str, slots: usize) -> Option<Host> {
    let host = hosts::entry(name).ok().filter(|host| host.slots.is_none())?;
    Some(Host { slots: (slots > 0).then_some(slots), ..host })
}

/// Hosts that are named once for each slot.
fn counted<'a>(names: impl Iterator<Item = &'a str>) -> Option<Vec<Host>> {
    sum(names.map(|name| (name, 1)))
}

/// Hosts, each followed by its number of slots.
fn pairs<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Vec<Host>> {
    let mut pairs = Vec::new();
    while let Some(name) = words.next() {
        pairs.push((name, words.next()?.parse().ok()?));
    }
    sum(pairs.into_iter())
}

/// Each host once, with all of its slots.
fn sum<'a>(pairs: impl Iterator<Item = (&'a str, usize)>) -> Option<Vec<Host>> {
    let (mut all, mut places) = (Vec::new(), HashMap::new());
    for (name, slots) in pairs {
        match places.get(name) {
            Some(&at) => {
                let known: &mut Host = &mut all[at];
                known.slots = Some(known.slots.unwrap_or(0).saturating_add(slots));
            }
            None if all.len() == HOSTS_MAX => return None,
            None => {
                places.insert(name, all.len());
                all.push(host(name, slots)?);
            }
        }
    }
    Some(all)
}

/// Slurm's list of hosts, with `counts` slots: `4(x2),3` are 4, 4 and 3.
fn slurm(list: &str, counts: &str) -> Option<Vec<Host>> {
    let mut names = Vec::new();
    for part in outside_brackets(list) {
        names.extend(expand(part)?);
        if names.len() > HOSTS_MAX {
            return None;
        }
    }
    let count = |part: &str| {
        let (slots, times) = part.split_once("(x").unwrap_or((part, "1)"));
        let times: usize = times.trim_end_matches(')').parse().ok()?;
        Some(std::iter::repeat_n(slots.parse().ok()?, times.min(HOSTS_MAX)))
    };
    let slots: Vec<usize> = counts.split(',').filter_map(count).flatten().collect();
    let slots = slots.into_iter().chain(std::iter::repeat(0));
    names.iter().zip(slots).map(|(name, slots)| host(name, slots)).collect()
}

/// The parts between those commas that are not within brackets.
fn outside_brackets(list: &str) -> Vec<&str> {
    let mut within = false;
    let cut = |letter: char| {
        within = letter == '[' || within && letter != ']';
        letter == ',' && !within
    };
    list.split(cut).filter(|part| !part.is_empty()).collect()
}

/// `n[01-03,7]x` in full.
fn expand(part: &str) -> Option<Vec<String>> {
    let Some((front, rest)) = part.split_once('[') else { return Some(vec![part.to_string()]) };
    let (inside, behind) = rest.split_once(']')?;
    let behind = expand(behind)?;
    let mut names = Vec::new();
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let more = to.saturating_sub(from).saturating_add(1).saturating_mul(behind.len());
        if names.len().saturating_add(more) > HOSTS_MAX {
            return None;
        }
        let width = first.len();
        for number in from..=to {
            names.extend(behind.iter().map(|behind| format!("{front}{number:0width$}{behind}")));
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(variables: &[(&str, &str)]) -> Result<Option<Allocation>, String> {
        Allocation::of(&variables.iter().map(|(n, v)| (n.into(), v.into())).collect())
    }

    fn shown(variables: &[(&str, &str)]) -> String {
        let hosts = told(variables).unwrap().unwrap().hosts;
        let entry = |h: &Host| format!("{}:{} ", h.name, h.slots.unwrap_or(0));
        hosts.iter().map(entry).collect()
    }

    #[test]
    fn four_batch_systems() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = place.path().join(name);
            std::fs::write(&file, text).unwrap();
            file.to_str().unwrap().to_string()
        };
        let slots = file("slots", "n1\nn1\nn2\nn1\n");
        let columns = file("columns", "n1 3 all.q@n1 UNDEFINED\nn2 1 all.q@n2 UNDEFINED\n");
        let slurm = [("SLURM_JOB_NODELIST", "n[1-2],m05"), ("SLURM_TASKS_PER_NODE", "4(x2),3")];
        assert_eq!(shown(&slurm), "n1:4 n2:4 m05:3 ");
        let cpus = [("SLURM_NODELIST", "r[1-2]n[09-10,3]"), ("SLURM_JOB_CPUS_PER_NODE", "8(x6)")];
        assert_eq!(shown(&cpus), "r1n09:8 r1n10:8 r1n3:8 r2n09:8 r2n10:8 r2n3:8 ");
        assert_eq!(shown(&[("SLURM_JOB_NODELIST", "n7")]), "n7:0 ");
        for variable in [
            ("PBS_NODEFILE", &*slots),
            ("LSB_DJOB_HOSTFILE", &*slots),
            ("PE_HOSTFILE", &*columns),
            ("LSB_MCPU_HOSTS", "n1 3 n2 1"),
            ("LSB_HOSTS", "n1 n1 n1 n2"),
        ] {
            assert_eq!(shown(&[variable]), "n1:3 n2:1 ", "{variable:?}");
        }
        assert_eq!(told(&[("PBS_JOBID", "7"), ("LSB_HOSTS", "")]), Ok(None));
        for (name, value) in [
            ("PBS_NODEFILE", "/no/such/file"),
            ("LSB_MCPU_HOSTS", "n1 4 n2"),
            ("SLURM_JOB_NODELIST", "n[1-999999999999]"),
            ("SLURM_JOB_NODELIST", "n[1-2"),
            ("LSB_HOSTS", "-oProxyCommand=x"),
        ] {
            assert!(told(&[(name, value)]).unwrap_err().contains(name), "{value}");
        }
    }

    #[test]
    fn whoever_has_more_hosts_is_told_how_to_use_them() {
        let note = |list: &str| {
            let told = told(&[("LSB_MCPU_HOSTS", list)]).unwrap().unwrap();
            (told.note("n1.cluster"), told.slots_of("n1.cluster"))
        };
        assert_eq!(note("n1 4"), (None, Some(4)));
        let (text, slots) = note("n1 4 n2 2");
        assert!(text.unwrap().ends_with("add -H n1:4,n2:2") && slots == Some(4));
        let (text, slots) = note("n2 2");
        assert!(text.unwrap().contains("not this one") && slots.is_none());
        let many: String = (0..70).map(|n| format!("m{n} 1 ")).collect();
        assert!(note(&many).0.unwrap().ends_with(" and 6 more"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-c0-3,\\-\\[\\] (x)]{0,24}") {
            for name in ["SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "LSB_MCPU_HOSTS", "LSB_HOSTS"] {
                let _ = told(&[(name, &text), ("SLURM_NODELIST", "n1")]);
            }
        }
    }
}
