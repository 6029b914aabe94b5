//! The processors that the kernel lets this process run on.

use std::mem::zeroed;
use std::thread::available_parallelism;

/// CPUs that this process may run on, ascending; at least one.
pub fn affinity() -> Vec<usize> {
    // SAFETY: a cpu_set_t is plain bits; the call writes at most its size; CPU_ISSET reads within.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &mut set) != 0 {
            // More processors than a set has room for, or no such call.
            return (0..available_parallelism().map_or(1, usize::from)).collect();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}
