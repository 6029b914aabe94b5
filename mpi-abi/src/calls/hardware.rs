//! The hardware that a process is tied to (MPI-5.0 §7.4.2 and §9.1.2), by the names that hwloc gives
//! it. A process is tied to an instance when all processors that it may run on are in that one; it
//! is looked at anew each time, since a program may move its processes about.

use machine::Cpu;
use mpi_core::error::Result;
use mpi_core::handle::InfoHandle;
use mpi_core::info::Info;

use crate::cx::Cx;

/// How the standard wants resources to be named.
const SCHEME: &str = "hwloc://";

/// One kind of hardware, below the node.
struct Level {
    name: &'static str,
    /// What other libraries and people call it.
    also: &'static [&'static str],
    /// What tells its instances on a node apart, where that is known.
    instance: fn(&Cpu) -> Option<[usize; 2]>,
}

/// What is known, large to small.
const LEVELS: [Level; 7] = [
    Level { name: "Package", also: &["socket"], instance: |cpu| Some([cpu.socket, 0]) },
    Level { name: "NUMANode", also: &["numa"], instance: |cpu| Some([cpu.numa, 0]) },
    Level { name: "L3Cache", also: &[], instance: |cpu| Some([machine::cache(cpu.id, 3)?, 0]) },
    Level { name: "L2Cache", also: &[], instance: |cpu| Some([machine::cache(cpu.id, 2)?, 0]) },
    Level { name: "L1Cache", also: &[], instance: |cpu| Some([machine::cache(cpu.id, 1)?, 0]) },
    Level { name: "Core", also: &[], instance: |cpu| Some([cpu.socket, cpu.core]) },
    Level { name: "PU", also: &["hwthread"], instance: |cpu| Some([cpu.id, 0]) },
];

/// What Open MPI's own kinds of splits ask for, in the order of their numbers.
pub(crate) const OMPI: [&str; 7] =
    ["PU", "Core", "L1Cache", "L2Cache", "L3Cache", "Package", "NUMANode"];

impl Level {
    /// The number on its node of the instance that a process on these processors is tied to.
    fn place(&self, cpus: &[Cpu]) -> Option<i32> {
        let [major, minor] = (self.instance)(cpus.first()?)?;
        let tied = cpus.iter().all(|cpu| (self.instance)(cpu) == Some([major, minor]));
        let number = i32::try_from(major << 16 | minor & 0xffff).ok();
        number.filter(|_| tied)
    }

    fn is_called(&self, resource: &str) -> bool {
        let name = resource.strip_prefix(SCHEME).unwrap_or(resource);
        self.also.iter().chain([&self.name]).any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The number of the instance of `resource` that this process is tied to; nothing if it is tied to
/// none, or if no such resource is known.
pub(crate) fn place(resource: &str) -> Option<i32> {
    LEVELS.iter().find(|level| level.is_called(resource))?.place(&machine::cpus())
}

/// The same for all that is known, large to small.
pub(crate) fn places() -> [Option<i32>; LEVELS.len()] {
    let cpus = machine::cpus();
    LEVELS.each_ref().map(|level| level.place(&cpus))
}

/// What the resource at `level` of [`places`] is called.
pub(crate) fn name(level: usize) -> String {
    format!("{SCHEME}{}", LEVELS[level].name)
}

/// `MPI_Get_hw_resource_info`.
pub fn get_hw_resource_info(cx: &mut Cx<'_>, hw_info: &mut InfoHandle) -> Result<()> {
    let mut known = Info::new();
    for (level, place) in places().into_iter().enumerate() {
        known.set(name(level), place.is_some().to_string())?;
    }
    *hw_info = cx.always.infos.lock().insert(known)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places among packages, NUMA domains, cores and hardware threads.
    fn on(cpus: &[(usize, usize, usize)]) -> [Option<i32>; 4] {
        let cpu = |&(id, socket, core)| Cpu { id, socket, core, numa: socket };
        let cpus: Vec<Cpu> = cpus.iter().map(cpu).collect();
        [0, 1, 5, 6].map(|level: usize| LEVELS[level].place(&cpus))
    }

    #[test]
    fn tied_to_what_holds_all_of_it() {
        let second = Some(1 << 16);
        assert_eq!(on(&[(5, 1, 0)]), [second, second, second, Some(5 << 16)]);
        assert_eq!(on(&[(5, 1, 0), (7, 1, 0)]), [second, second, second, None]);
        assert_eq!(on(&[(5, 1, 0), (6, 1, 1)]), [second, second, None, None]);
        assert_eq!(on(&[(0, 0, 0), (5, 1, 0)]), [None; 4]);
        assert_eq!(on(&[]), [None; 4]);
    }

    #[test]
    fn names_with_and_without_their_scheme() {
        let found = |name: &str| LEVELS.iter().find(|level| level.is_called(name)).map(|l| l.name);
        assert_eq!(found("hwloc://NUMANode"), Some("NUMANode"));
        assert_eq!(found("socket"), Some("Package"));
        assert_eq!(found("hwloc://pu"), Some("PU"));
        assert_eq!(found("mpi://moon"), None);
    }
}
