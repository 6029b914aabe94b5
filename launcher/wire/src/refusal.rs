//! How this process was started, told from the environment alone, and when to refuse to go on.
//!
//! A program whose launcher speaks something that we do not would otherwise run as N programs
//! that each believe to be alone. That is refused, with the line to type; a program that nobody
//! started in parallel is a singleton (MPI-5.0 §11.8.3).

use std::fmt;

/// The most ranks of a job: MPI tells their number as an int.
pub(crate) const RANKS_MAX: usize = i32::MAX as usize;

/// What a process of this environment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A rank whose launcher left an open socket for PMI-1.
    PmiFd {
        /// The descriptor's number.
        fd: i32,
        /// This process's rank.
        rank: usize,
        /// The number of ranks.
        size: usize,
    },
    /// A rank whose launcher listens for PMI-1 at an address.
    PmiPort {
        /// `host:port`.
        address: String,
        /// The name under which this process is expected.
        id: String,
    },
    /// Alone: one rank.
    Singleton,
}

/// One of several tasks, or so the environment says, but without a way to reach the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Who started the task, and how that is known.
    pub evidence: String,
    /// The number of tasks, where it is known.
    pub size: Option<usize>,
    /// The program's name, for the line to type.
    pub program: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { evidence, size, program } = self;
        let number = size.map_or("N".to_string(), |n| n.to_string());
        write!(
            f,
            "{evidence}, but offers no process manager that Ferrite MPI can talk to (PMI-1): \
             going on would make each task a job of its own. Start it with: \
             mpirun -n {number} {program}   (FERRITE_SINGLETON=1 lets each task run alone)"
        )
    }
}

/// Reads the environment through `lookup`; `program` is the name to use in the line to type.
pub fn judge(lookup: &dyn Fn(&str) -> Option<String>, program: &str) -> Result<Start, Refusal> {
    let alone = lookup("FERRITE_SINGLETON").map(|text| text.trim().to_ascii_lowercase());
    if matches!(alone.as_deref(), Some("1" | "true" | "on" | "yes")) {
        return Ok(Start::Singleton);
    }
    let number = |name: &str| lookup(name).and_then(|text| text.trim().parse::<usize>().ok());
    let refuse = |evidence: String, size: Option<usize>| {
        Err(Refusal { evidence, size, program: program.to_string() })
    };
    let (rank, size) = (number("PMI_RANK"), number("PMI_SIZE"));
    if let Some(text) = lookup("PMI_FD") {
        return match (text.trim().parse(), rank, size) {
            (Ok(fd), Some(rank), Some(size)) if fd >= 0 && rank < size && size <= RANKS_MAX => {
                Ok(Start::PmiFd { fd, rank, size })
            }
            _ => {
                refuse("PMI_FD is set, with no usable PMI_RANK and PMI_SIZE beside it".into(), size)
            }
        };
    }
    if let (Some(address), Some(id)) = (lookup("PMI_PORT"), lookup("PMI_ID")) {
        return Ok(Start::PmiPort { address, id });
    }
    if let Some(size) = size.filter(|&n| n > 1) {
        return refuse(
            format!("PMI_SIZE={size} says that this is one of {size} tasks"),
            Some(size),
        );
    }
    match foreign_step(lookup) {
        Some((evidence, size)) if size != Some(1) => refuse(evidence, size),
        _ => Ok(Start::Singleton),
    }
}

/// The evidence that another launcher started this process as a task, and how many there are.
fn foreign_step(lookup: &dyn Fn(&str) -> Option<String>) -> Option<(String, Option<usize>)> {
    let number = |name: &str| lookup(name).and_then(|text| text.trim().parse::<usize>().ok());
    let slurm = slurm_step_size(lookup);
    if let Some(n) = slurm.filter(|&n| n > 1) {
        return Some((format!("srun started this program as a step of {n} tasks"), Some(n)));
    }
    let ompi = number("OMPI_COMM_WORLD_SIZE");
    if let Some(n) = ompi.filter(|&n| n > 1) {
        return Some((format!("Open MPI's launcher started this program as {n} tasks"), Some(n)));
    }
    lookup("PMIX_NAMESPACE").map(|_| {
        let evidence = "a PMIx launcher (prterun, or srun --mpi=pmix) started this program";
        (evidence.to_string(), ompi.or(slurm))
    })
}

/// The number of tasks of the Slurm step that this process is a task of. A batch script is in no
/// step; the step of an interactive shell has a reserved number and is one task.
fn slurm_step_size(lookup: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
    const FIRST_RESERVED: u32 = 0xffff_fff0;
    let number = |name: &str| lookup(name).and_then(|text| text.trim().parse::<u32>().ok());
    let step = number("SLURM_STEP_ID").or_else(|| number("SLURM_STEPID"))?;
    number("SLURM_PROCID")?;
    if step >= FIRST_RESERVED {
        return Some(1);
    }
    let size = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"))?;
    usize::try_from(size).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(vars: &[(&str, &str)]) -> Result<Start, Refusal> {
        let find = |name: &str| {
            vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        };
        judge(&find, "./wave")
    }

    const STEP: [(&str, &str); 3] =
        [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "4")];

    #[test]
    fn pmi_comes_first() {
        let mut vars = vec![("PMI_FD", "7"), ("PMI_RANK", "2"), ("PMI_SIZE", "4")];
        vars.extend(STEP);
        assert_eq!(judged(&vars), Ok(Start::PmiFd { fd: 7, rank: 2, size: 4 }));
        let port = [("PMI_PORT", "127.0.0.1:4000"), ("PMI_ID", "3")];
        let (address, id) = ("127.0.0.1:4000".to_string(), "3".to_string());
        assert_eq!(judged(&port), Ok(Start::PmiPort { address, id }));
        let beyond = [("PMI_FD", "7"), ("PMI_RANK", "2"), ("PMI_SIZE", "4294967298")];
        assert!(judged(&beyond).is_err(), "it would be taken for 2");
    }

    #[test]
    fn nobody_started_it() {
        assert_eq!(judged(&[]), Ok(Start::Singleton));
        let batch = [("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "9")];
        assert_eq!(judged(&batch), Ok(Start::Singleton));
        let shell = [("SLURM_STEP_ID", "4294967290"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")];
        assert_eq!(judged(&shell), Ok(Start::Singleton));
        let one = [("PMIX_NAMESPACE", "prterun-1"), ("OMPI_COMM_WORLD_SIZE", "1")];
        assert_eq!(judged(&one), Ok(Start::Singleton));
    }

    #[test]
    fn a_task_without_a_process_manager_is_refused_with_the_line_to_type() {
        let refusal = judged(&STEP).unwrap_err();
        assert_eq!(refusal.size, Some(4));
        assert!(refusal.to_string().contains("mpirun -n 4 ./wave"), "{refusal}");
        let pmix = judged(&[("PMIX_NAMESPACE", "x")]).unwrap_err();
        assert!(pmix.to_string().contains("mpirun -n N ./wave"), "{pmix}");
        assert!(judged(&[("OMPI_COMM_WORLD_SIZE", "2")]).is_err());
        assert!(judged(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]).is_err());
        assert!(judged(&[("PMI_FD", "5"), ("PMI_RANK", "2"), ("PMI_SIZE", "2")]).is_err());
        assert!(judged(&[("PMI_FD", "x"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")]).is_err());
        let mut alone = STEP.to_vec();
        alone.push(("FERRITE_SINGLETON", "1"));
        assert_eq!(judged(&alone), Ok(Start::Singleton));
    }

    proptest! {
        #[test]
        fn any_environment_is_judged(
            values in proptest::collection::vec(proptest::option::of("[-0-9a-z]{0,12}"), 9),
        ) {
            const NAMES: [&str; 9] = [
                "PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID", "SLURM_STEP_ID",
                "SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE",
            ];
            let find = |name: &str| {
                NAMES.iter().position(|n| *n == name).and_then(|i| values[i].clone())
            };
            if let Ok(Start::PmiFd { fd, rank, size }) = judge(&find, "p") {
                prop_assert!(fd >= 0 && rank < size);
            }
        }
    }
}
