//! Where this process may run and what there is, in the two notations of Open MPI's
//! `OMPI_Affinity_str`: in words, as in `socket 0[core 1[hwt 0-1]]`, or as a map, `[../BB]`, in which `B`
//! is a hardware thread that it may use and `.` another. Cores are counted through all packages.

use std::collections::BTreeMap;

use launch_wire::control;
use machine::Cpu;

/// How to write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// In words.
    Words,
    /// As a map.
    Map,
}

/// To what `mpirun` has bound this process, to what it is bound now, and what there is.
pub fn told(notation: Notation) -> [String; 3] {
    let (online, mine) = (machine::online(), machine::affinity());
    let layout = Layout::of(&online);
    let bound = mine.len() < online.len() || mine.len() == 1;
    let now = match bound {
        true => layout.shown(notation, &mine),
        false => "Not bound (i.e., bound to all processors)".to_owned(),
    };
    let by_mpirun = match bound && std::env::var_os(control::VARIABLE).is_some() {
        true => now.clone(),
        false => "Open MPI did not bind this process".to_owned(),
    };
    [by_mpirun, now, layout.all(notation)]
}

/// The packages of a machine, the cores of each, the hardware threads of each by the kernel's numbers.
struct Layout(Vec<Vec<Vec<usize>>>);

impl Layout {
    fn of(cpus: &[Cpu]) -> Layout {
        let mut packages: BTreeMap<usize, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
        for cpu in cpus {
            packages.entry(cpu.socket).or_default().entry(cpu.core).or_default().push(cpu.id);
        }
        Layout(packages.into_values().map(|cores| cores.into_values().collect()).collect())
    }

    fn shown(&self, notation: Notation, mine: &[usize]) -> String {
        match notation {
            Notation::Words => self.words(mine),
            Notation::Map => self.map(mine),
        }
    }

    fn all(&self, notation: Notation) -> String {
        match notation {
            Notation::Words => self.counted(),
            Notation::Map => self.map(&[]),
        }
    }

    fn words(&self, mine: &[usize]) -> String {
        let mut parts = Vec::new();
        let packages = self.0.iter().enumerate();
        let cores =
            packages.flat_map(|(package, cores)| cores.iter().map(move |core| (package, core)));
        for (number, (package, core)) in cores.enumerate() {
            let threads: Vec<usize> =
                (0..core.len()).filter(|&thread| mine.contains(&core[thread])).collect();
            if !threads.is_empty() {
                parts.push(format!("socket {package}[core {number}[hwt {}]]", ranges(&threads)));
            }
        }
        parts.join(", ")
    }

    fn map(&self, mine: &[usize]) -> String {
        let thread = |id: &usize| if mine.contains(id) { 'B' } else { '.' };
        let core = |core: &Vec<usize>| core.iter().map(thread).collect::<String>();
        let package =
            |cores: &Vec<Vec<usize>>| cores.iter().map(core).collect::<Vec<_>>().join("/");
        self.0.iter().map(|cores| format!("[{}]", package(cores))).collect()
    }

    /// How many cores and threads each package has.
    fn counted(&self) -> String {
        let packages = self.0.iter().enumerate();
        let parts = packages.map(|(package, cores)| {
            let threads: Vec<usize> = cores.iter().map(Vec::len).collect();
            let what = match threads.as_slice() {
                [one] => format!("1 core with {}", counted(*one, "hwt")),
                [first, rest @ ..] if rest.iter().all(|threads| threads == first) => {
                    format!("{} cores, each with {}", threads.len(), counted(*first, "hwt"))
                }
                _ => {
                    let each: Vec<String> = threads.iter().map(usize::to_string).collect();
                    format!("{} cores with ({}) hwts", threads.len(), each.join(", "))
                }
            };
            format!("socket {package} has {what}")
        });
        parts.collect::<Vec<_>>().join("; ")
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Ascending numbers as in `0-1,3`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let shown = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(threads: &[(usize, usize)]) -> Layout {
        let cpu =
            |(id, &(socket, core)): (usize, &(usize, usize))| Cpu { id, socket, core, numa: 0 };
        Layout::of(&threads.iter().enumerate().map(cpu).collect::<Vec<_>>())
    }

    #[test]
    fn two_packages_of_cores_with_two_threads() {
        let layout = layout(&[(0, 0), (0, 4), (3, 0), (3, 4), (0, 0), (0, 4), (3, 0), (3, 4)]);
        assert_eq!(layout.map(&[]), "[../..][../..]");
        assert_eq!(layout.map(&[1, 5, 6]), "[../BB][.B/..]");
        assert_eq!(layout.words(&[1, 5, 6]), "socket 0[core 1[hwt 0-1]], socket 1[core 2[hwt 1]]");
        let all = "socket 0 has 2 cores, each with 2 hwts; socket 1 has 2 cores, each with 2 hwts";
        assert_eq!(layout.counted(), all);
    }

    #[test]
    fn cores_that_differ_and_one_alone() {
        assert_eq!(layout(&[(0, 0)]).counted(), "socket 0 has 1 core with 1 hwt");
        let different = layout(&[(0, 0), (0, 0), (0, 1)]);
        assert_eq!(different.counted(), "socket 0 has 2 cores with (2, 1) hwts");
        assert_eq!(ranges(&[0, 1, 3, 5, 6, 7]), "0-1,3,5-7");
    }

    #[test]
    fn this_process_is_somewhere() {
        let [_, now, all] = told(Notation::Map);
        assert!(now.contains('B') || now.starts_with("Not bound"), "{now}");
        assert!(all.starts_with('[') && all.ends_with(']'), "{all}");
    }
}
