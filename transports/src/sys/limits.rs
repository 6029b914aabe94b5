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

/// The soft limit of a resource.
fn soft(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel writes one rlimit, which is ours; what it cannot tell stays without a limit.
    unsafe { libc::getrlimit(resource, &mut limit) };
    limit.rlim_cur
}
