//! How many processors this process may really use: its affinity mask and the CPU quota of its
//! control groups, version 1 and 2 (decision 24).

use std::sync::OnceLock;

/// How many processors the ranks of this host share, as `mpirun` tells them: where each is bound to
/// a core of its own, its mask alone would look as if all had to share that one.
const SHARED: &str = "_FERRITE_USABLE_CPUS";

/// Processors that the ranks of this host can keep busy at one time, as far as this process can
/// tell; at least 1.
pub fn usable() -> usize {
    let shared = std::env::var(SHARED).ok().and_then(|text| text.parse::<usize>().ok());
    let mask = machine::affinity().len().max(shared.unwrap_or(0));
    machine::quota().map_or(mask, |quota| mask.min(quota)).max(1)
}

/// The processor that this process is bound to, if that is a single one.
pub fn only() -> Option<u32> {
    let mask = machine::affinity();
    (mask.len() == 1).then(|| mask[0] as u32)
}

/// The socket and the last-level cache, as the first CPU that it serves, of all processors that this process may use,
/// if they share one. Asked once: a process that moves later is near the others as before, or its choices were bad.
pub fn place() -> Option<[u32; 2]> {
    static PLACE: OnceLock<Option<[u32; 2]>> = OnceLock::new();
    *PLACE.get_or_init(|| {
        let mask = machine::affinity();
        let together = machine::last_level_cpus(*mask.first()?)?;
        let first = together.iter().min()?;
        let socket = machine::cpus().first()?.socket;
        mask.iter().all(|cpu| together.contains(cpu)).then_some([socket as u32, *first as u32])
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_process_has_a_processor() {
        assert!(super::usable() >= 1);
        assert_eq!(super::place(), super::place());
    }
}
