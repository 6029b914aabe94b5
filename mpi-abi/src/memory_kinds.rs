//! Kinds of memory that the program may give to MPI (MPI-5.0 §12.4.3): of those it asks for, in a
//! session's hints or by `mpirun --memory-alloc-kinds`, it is told the ones that are served.

/// The key of the hint that asks and tells.
pub(crate) const KEY: &str = "mpi_memory_alloc_kinds";
/// The key of the promise to use no other kinds with an object.
pub(crate) const PROMISE: &str = "mpi_assert_memory_alloc_kinds";

/// What is served of what mpirun was asked for, if it was.
pub(crate) fn of_world() -> Option<String> {
    std::env::var(launch_wire::MEMORY_KINDS).ok().map(|asked| granted(&asked))
}

/// Whether all kinds in a list are served: an object cannot be promised others.
pub(crate) fn all_served(kinds: &str) -> bool {
    kinds.split(',').all(|kind| is_served(kind.trim()))
}

/// The kinds that are served, each with its restrictors: memory of the system, and memory that MPI
/// itself gave out, which are told apart nowhere.
const KINDS: [(&str, &[&str]); 2] =
    [("mpi", &["alloc_mem", "win_allocate", "win_allocate_shared"]), ("system", &[])];

/// Those of the kinds in `asked`, a list with commas, that are served; and, whoever asks, `mpi`
/// and `system`, which every program may use.
pub(crate) fn granted(asked: &str) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    let wanted = asked.split(',').map(str::trim).filter(|kind| is_served(kind));
    for kind in wanted.chain(KINDS.map(|(kind, _)| kind)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(",")
}

/// Whether a kind is served with all restrictors that follow its name after colons.
fn is_served(kind: &str) -> bool {
    let mut words = kind.split(':');
    let name = words.next().unwrap_or_default();
    let known = KINDS.iter().find(|(known, _)| *known == name);
    known.is_some_and(|(_, restrictors)| words.all(|word| restrictors.contains(&word)))
}

#[cfg(test)]
mod tests {
    use super::granted;

    #[test]
    fn only_what_is_served_is_granted() {
        for (asked, got) in [
            ("", "mpi,system"),
            ("system", "system,mpi"),
            ("cuda:device, mpi:alloc_mem,system", "mpi:alloc_mem,system,mpi"),
            ("mpi:alloc_mem:win_allocate", "mpi:alloc_mem:win_allocate,mpi,system"),
            ("mpi:other,system:fast", "mpi,system"),
        ] {
            assert_eq!(granted(asked), got);
        }
    }
}
