//! Which CPUs share a cache, and how much it holds.

use std::fs;

use crate::cpu_list;

/// One cache that serves a CPU, as the kernel lists it.
struct Cache {
    cpu: usize,
    place: usize,
    level: u32,
}

impl Cache {
    fn read(&self, what: &str) -> Option<String> {
        read(self.cpu, self.place, what)
    }
}

fn read(cpu: usize, place: usize, what: &str) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{place}/{what}");
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// The caches that serve a CPU, but for those of instructions alone.
fn caches(cpu: usize) -> impl Iterator<Item = Cache> {
    (0..)
        .map_while(move |place| Some((place, read(cpu, place, "level")?)))
        .filter_map(move |(place, level)| Some(Cache { cpu, place, level: level.parse().ok()? }))
        .filter(|cache| cache.read("type").is_some_and(|kind| kind != "Instruction"))
}

/// The cache of this level, 1 to 3, that serves a CPU, as the first of the CPUs that it serves; of
/// the first level that of data. Nothing where the kernel does not say.
pub fn cache(cpu: usize, level: u32) -> Option<usize> {
    let found = caches(cpu).find(|cache| cache.level == level)?;
    cpu_list(&found.read("shared_cpu_list")?).into_iter().min()
}

/// Bytes that the cache of this level, 1 to 3, that serves a CPU holds; of the first level that of data. Nothing where
/// the kernel does not say.
pub fn cache_bytes(cpu: usize, level: u32) -> Option<u64> {
    bytes(&caches(cpu).find(|cache| cache.level == level)?.read("size")?)
}

/// The CPUs that share a CPU's last cache before memory. Nothing where the kernel does not say.
pub fn last_level_cpus(cpu: usize) -> Option<Vec<usize>> {
    let last = caches(cpu).max_by_key(|cache| cache.level)?;
    Some(cpu_list(&last.read("shared_cpu_list")?))
}

/// Bytes that the last cache between a CPU and memory holds. Nothing where the kernel does not say.
pub fn last_level_bytes(cpu: usize) -> Option<u64> {
    let last = caches(cpu).max_by_key(|cache| cache.level)?;
    bytes(&last.read("size")?)
}

/// The kernel's notation `8192K`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| !unit.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn who_shares_a_cache_agrees_on_it() {
        for level in 1..=3 {
            for cpu in crate::affinity() {
                if let Some(first) = cache(cpu, level) {
                    assert!(first <= cpu && cache(first, level) == Some(first));
                    assert_eq!(last_level_bytes(first), last_level_bytes(cpu));
                    assert!(last_level_cpus(cpu).unwrap().contains(&cpu));
                    assert!(cache_bytes(cpu, level) <= last_level_bytes(cpu));
                }
            }
        }
        assert_eq!(cache(0, 99), None);
    }

    #[test]
    fn sizes() {
        assert_eq!(["8192K", "32M", "64"].map(bytes), [Some(8 << 20), Some(32 << 20), Some(64)]);
        assert_eq!(["", "K", "12X", "99999999999G"].map(bytes), [None; 4]);
    }

    proptest! {
        #[test]
        fn any_size_is_read(text in ".{0,12}") {
            let _ = bytes(&text);
        }
    }
}
