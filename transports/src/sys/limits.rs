//! What `ulimit` allows this process, as far as shared memory is concerned.

/// Limits of a process; `u64::MAX` where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of addresses (`ulimit -v`).
    pub address_space: u64,
    /// Bytes of a file (`ulimit -f`), which a memfd is.
    pub file_bytes: u64,
    /// Open descriptors (`ulimit -n`).
    pub descriptors: u64,
}

impl Limits {
    /// Those that the kernel holds this process to.
    pub fn of_this_process() -> Limits {
        Limits {
            address_space: soft(libc::RLIMIT_AS),
            file_bytes: soft(libc::RLIMIT_FSIZE),
            descriptors: soft(libc::RLIMIT_NOFILE),
        }
    }
}

/// Lets this process open as many descriptors as its hard limit allows. Whether that is more than it
/// could before.
pub fn raise_descriptors() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit and reads one, which are ours.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 || limit.rlim_cur >= limit.rlim_max
        {
            return false;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
    }
}

/// The soft limit of a resource.
fn soft(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel writes one rlimit, which is ours; what it cannot tell stays without a limit.
    unsafe { libc::getrlimit(resource, &mut limit) };
    limit.rlim_cur
}
