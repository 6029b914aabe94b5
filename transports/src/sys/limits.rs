//! What `ulimit` allows this process, as far as shared memory is concerned.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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
            address_space: soft(Resource::As),
            file_bytes: soft(Resource::Fsize),
            descriptors: soft(Resource::Nofile),
        }
    }
}

/// Lets this process open as many descriptors as its hard limit allows. Whether that is more than it
/// could before.
pub fn raise_descriptors() -> bool {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None is no limit.
    let is_less = current.is_some_and(|soft| maximum.is_none_or(|hard| soft < hard));
    is_less && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok()
}

/// The soft limit of a resource.
fn soft(resource: Resource) -> u64 {
    getrlimit(resource).current.unwrap_or(u64::MAX)
}
