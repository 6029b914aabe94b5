//! The set of CPUs that this process may run on.

use super::check;
use std::io;
use std::mem::zeroed;

/// Restricts this process to `cpus`. Safe between fork and exec.
pub(crate) fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    let set = set_of(cpus);
    // SAFETY: the call only reads the set.
    check(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) }).map(drop)
}

fn set_of(cpus: &[usize]) -> libc::cpu_set_t {
    // SAFETY: a cpu_set_t is plain bits; CPU_SET writes within it for numbers below CPU_SETSIZE.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        set
    }
}
