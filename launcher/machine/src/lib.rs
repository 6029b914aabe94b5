//! The machine as far as placing ranks, splitting communicators and making connections need it: the CPUs that
//! this process may use, the core, package and NUMA domain of each, and the addresses of this host. In: the
//! affinity mask, `/sys`, the quota of the control groups, the kernel's load and its list of interfaces. What
//! cannot be read of CPUs counts as one package with a core for each CPU. Besides, files that users name, read whole.

mod busy;
mod cache;
mod files;
pub mod interfaces;
mod mask;
mod quota;

pub use busy::others_running;
pub use cache::{cache, cache_bytes, last_level_bytes, last_level_cpus};
pub use files::read_text;
pub use mask::affinity;
pub use quota::quota;

use std::fs;

/// Where the kernel lists the CPUs that are switched on.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// One CPU (hardware thread) and where it sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub id: usize,
    /// Its package.
    pub socket: usize,
    /// Its core within the package.
    pub core: usize,
    /// Its NUMA domain.
    pub numa: usize,
}

/// What ranks can be placed on.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The CPUs of our mask, neighbours side by side.
    pub cpus: Vec<Cpu>,
    /// The number of CPUs that are switched on, ours or not.
    pub online: usize,
    /// How many CPUs' worth of time a cgroup grants, if it limits it.
    pub quota: Option<usize>,
}

impl Machine {
    /// This machine, as this process may use it.
    pub fn here() -> Machine {
        let cpus = cpus();
        let online = fs::read_to_string(ONLINE).unwrap_or_default();
        let online = cpu_list(&online).len().max(cpus.len());
        Machine { cpus, online, quota: quota() }
    }

    /// How many CPUs' worth of work fits: the mask or the quota, whichever is smaller.
    pub fn usable(&self) -> usize {
        self.cpus.len().min(self.quota.unwrap_or(usize::MAX)).max(1)
    }
}

/// The CPUs that this process may use, neighbours side by side.
pub fn cpus() -> Vec<Cpu> {
    located(affinity())
}

/// All CPUs that are switched on, neighbours side by side.
pub fn online() -> Vec<Cpu> {
    located(cpu_list(&fs::read_to_string(ONLINE).unwrap_or_default()))
}

fn located(ids: Vec<usize>) -> Vec<Cpu> {
    let nodes: Vec<Vec<usize>> = (0..)
        .map_while(|n| fs::read_to_string(format!("/sys/devices/system/node/node{n}/cpulist")).ok())
        .map(|text| cpu_list(&text))
        .collect();
    let mut cpus: Vec<Cpu> = ids.into_iter().map(|id| cpu(id, &nodes)).collect();
    cpus.sort_by_key(|cpu| (cpu.numa, cpu.socket, cpu.core, cpu.id));
    cpus
}

fn cpu(id: usize, nodes: &[Vec<usize>]) -> Cpu {
    let number = |name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{id}/topology/{name}");
        fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok())
    };
    Cpu {
        id,
        socket: number("physical_package_id").unwrap_or(0),
        core: number("core_id").unwrap_or(id),
        numa: nodes.iter().position(|cpus| cpus.contains(&id)).unwrap_or(0),
    }
}

/// The kernel's notation `0-3,8,10-11`.
fn cpu_list(text: &str) -> Vec<usize> {
    const CPUS_MAX: usize = 1 << 16;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().ok()?;
        let last: usize = last.trim().parse().ok()?;
        (last < CPUS_MAX).then_some(first..=last)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        assert_eq!(cpu_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(cpu_list(""), Vec::<usize>::new());
    }

    #[test]
    fn this_machine_has_a_cpu() {
        let here = Machine::here();
        assert!(!here.cpus.is_empty() && here.usable() <= here.online);
    }

    proptest! {
        #[test]
        fn any_list_is_read(text in "[0-9,\\- a]{0,20}") {
            prop_assert!(cpu_list(&text).iter().all(|&cpu| cpu < 1 << 16));
        }
    }
}
