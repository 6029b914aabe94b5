//! The processors that the kernel lets this process run on.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::thread::available_parallelism;

/// CPUs that this process may run on, ascending; at least one.
pub fn affinity() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        // More processors than a set has room for, or no such call.
        Err(_) => (0..available_parallelism().map_or(1, usize::from)).collect(),
    }
}
