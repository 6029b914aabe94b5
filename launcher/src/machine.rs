//! The machine as far as placing ranks needs it: the CPUs that this process may use, and the core,
//! package and NUMA domain of each. In: the affinity mask, `/sys`, the cgroup's quota. What cannot
//! be read counts as one package with a core for each CPU.

use crate::sys;
use std::fs;
use std::path::Path;

/// One CPU (hardware thread) and where it sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// The kernel's number.
    pub(crate) id: usize,
    /// Its package.
    pub(crate) socket: usize,
    /// Its core within the package.
    pub(crate) core: usize,
    /// Its NUMA domain.
    pub(crate) numa: usize,
}

/// What ranks can be placed on.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    /// The CPUs of our mask, neighbours side by side.
    pub(crate) cpus: Vec<Cpu>,
    /// The number of CPUs that are switched on, ours or not.
    pub(crate) online: usize,
    /// How many CPUs' worth of time a cgroup grants, if it limits it.
    pub(crate) quota: Option<usize>,
}

impl Machine {
    /// This machine, as this process may use it.
    pub(crate) fn here() -> Machine {
        let nodes: Vec<Vec<usize>> = (0..)
            .map_while(|n| {
                fs::read_to_string(format!("/sys/devices/system/node/node{n}/cpulist")).ok()
            })
            .map(|text| cpu_list(&text))
            .collect();
        let mut cpus: Vec<Cpu> = sys::affinity().into_iter().map(|id| cpu(id, &nodes)).collect();
        cpus.sort_by_key(|cpu| (cpu.numa, cpu.socket, cpu.core, cpu.id));
        let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let online = cpu_list(&online).len().max(cpus.len());
        Machine { cpus, online, quota: quota() }
    }

    /// How many CPUs' worth of work fits: the mask or the quota, whichever is smaller.
    pub(crate) fn usable(&self) -> usize {
        self.cpus.len().min(self.quota.unwrap_or(usize::MAX)).max(1)
    }
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

/// The smallest quota on the way from our cgroup to the root, in whole CPUs, rounded up.
fn quota() -> Option<usize> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut smallest = None;
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let group = Path::new(group.trim_start_matches('/'));
        let roots: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            list if list.split(',').any(|c| c == "cpu") => {
                &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        for root in roots {
            for place in group.ancestors() {
                let found = quota_of(&Path::new(root).join(place));
                smallest = smallest.into_iter().chain(found).min();
            }
        }
    }
    smallest
}

fn quota_of(group: &Path) -> Option<usize> {
    if let Ok(text) = fs::read_to_string(group.join("cpu.max")) {
        let (quota, period) = text.trim().split_once(' ')?;
        return whole(quota, period);
    }
    let quota = fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
    let period = fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
    whole(quota.trim(), period.trim())
}

fn whole(quota: &str, period: &str) -> Option<usize> {
    let (quota, period) = (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?);
    usize::try_from(quota.div_ceil(period.max(1))).ok().map(|cpus| cpus.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_and_quotas() {
        assert_eq!(cpu_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(cpu_list(""), Vec::<usize>::new());
        assert_eq!(whole("150000", "100000"), Some(2));
        assert_eq!(whole("max", "100000"), None);
        assert_eq!(whole("-1", "100000"), None);
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
