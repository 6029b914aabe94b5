//! The set of CPUs that a process may run on.

use super::check;
use std::io;
use std::mem::zeroed;

/// Restricts this process to `cpus`. Safe between fork and exec.
pub(crate) fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: CPU_SET writes within the set for numbers below CPU_SETSIZE; the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        check(libc::sched_setaffinity(0, size_of_val(&set), &set)).map(drop)
    }
}
