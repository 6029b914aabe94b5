//! The set of CPUs that this process may run on.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;

/// Restricts this process to `cpus`. Safe between fork and exec.
pub(crate) fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}
