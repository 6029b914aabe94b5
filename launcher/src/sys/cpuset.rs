//! The set of CPUs that a process or a thread may run on.

use super::check;
use libc::pid_t;
use std::io;
use std::mem::zeroed;

/// Restricts this process to `cpus`. Safe between fork and exec.
pub(crate) fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    set_affinity_of(0, cpus)
}

/// The same of a thread of any process; 0 is the calling one.
pub(crate) fn set_affinity_of(thread: pid_t, cpus: &[usize]) -> io::Result<()> {
    let set = set_of(cpus);
    // SAFETY: the call only reads the set.
    check(unsafe { libc::sched_setaffinity(thread, size_of_val(&set), &set) }).map(drop)
}

/// Whether a thread may run on just these CPUs.
pub(crate) fn is_tied(thread: pid_t, cpus: &[usize]) -> bool {
    // SAFETY: a cpu_set_t is plain bits.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the call writes at most the set's size.
    let known = unsafe { libc::sched_getaffinity(thread, size_of_val(&set), &mut set) } == 0;
    // SAFETY: CPU_EQUAL compares plain bits.
    known && unsafe { libc::CPU_EQUAL(&set, &set_of(cpus)) }
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
