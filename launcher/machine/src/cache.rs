//! Which CPUs share a cache.

use std::fs;

use crate::cpu_list;

/// The cache of this level, 1 to 3, that serves a CPU, as the first of the CPUs that it serves; of
/// the first level that of data. Nothing where the kernel does not say.
pub fn cache(cpu: usize, level: u32) -> Option<usize> {
    let read = |place: usize, what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{place}/{what}");
        fs::read_to_string(path).ok().map(|text| text.trim().to_string())
    };
    (0..)
        .map_while(|place| Some((place, read(place, "level")?)))
        .filter(|(place, _)| read(*place, "type").is_some_and(|kind| kind != "Instruction"))
        .find(|(_, found)| found.parse() == Ok(level))
        .and_then(|(place, _)| cpu_list(&read(place, "shared_cpu_list")?).into_iter().min())
}

#[cfg(test)]
mod tests {
    use super::cache;

    #[test]
    fn who_shares_a_cache_agrees_on_it() {
        for level in 1..=3 {
            for cpu in crate::affinity() {
                if let Some(first) = cache(cpu, level) {
                    assert!(first <= cpu && cache(first, level) == Some(first));
                }
            }
        }
        assert_eq!(cache(0, 99), None);
    }
}
