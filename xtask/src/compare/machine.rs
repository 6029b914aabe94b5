//! The machine that is measured on: a sentence about it, and a short name for a folder.
//!
//! Enters: `/proc/cpuinfo`. Leaves: text such as `2 processors of AMD EPYC, Linux 6.18` and
//! `epyc-zen4-2cpu`. Virtual machines often hide the processor's model name, so the
//! generation comes from the family and model numbers.

use crate::run;
use std::fs;
use std::thread::available_parallelism;

/// The processors and the system.
pub(crate) fn described() -> String {
    let info = info();
    let model = field(&info, "model name").unwrap_or("an unknown processor");
    let kernel = run::output(run::command("uname").arg("-r")).unwrap_or_default();
    format!("{} processors of {model}, Linux {}", count(), kernel.trim())
}

/// The name of the folder of this machine's results.
pub(super) fn name() -> String {
    format!("{}-{}cpu", processor(&info()), count())
}

/// How many processors a machine of this name has.
pub(super) fn processors(name: &str) -> Option<u32> {
    name.rsplit('-').next()?.strip_suffix("cpu")?.parse().ok()
}

fn count() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn info() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

/// The brand and the generation, as far as they are known.
fn processor(info: &str) -> String {
    let model_name = field(info, "model name").unwrap_or_default().to_lowercase();
    let brands = ["epyc", "ryzen", "threadripper", "xeon", "core"];
    let brand = brands.into_iter().find(|brand| model_name.contains(brand)).unwrap_or("cpu");
    let number = |name| field(info, name).and_then(|word| word.parse().ok()).unwrap_or(0);
    match generation(number("cpu family"), number("model")) {
        Some(generation) => format!("{brand}-{generation}"),
        None => brand.into(),
    }
}

/// AMD's and Intel's family numbers do not overlap here.
fn generation(family: u32, model: u32) -> Option<&'static str> {
    Some(match (family, model) {
        (6, 85) => "skylake",
        (6, 106 | 108) => "icelake",
        (6, 143) => "sapphire-rapids",
        (6, 207) => "emerald-rapids",
        (6, 173 | 174) => "granite-rapids",
        (23, 0..=0x2f) => "zen1",
        (23, _) => "zen2",
        (25, 0x10..=0x1f | 0x60..=0xaf) => "zen4",
        (25, _) => "zen3",
        (26, _) => "zen5",
        _ => return None,
    })
}

/// The value behind a name and a colon, of the first processor.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = info
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(before, _)| before.trim() == name)?;
    Some(value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_a_short_name() {
        let info = "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nmodel\t\t: 1\n";
        assert_eq!(processor(info), "epyc-zen4");
        assert_eq!(processor("model name : Intel(R) Xeon(R) Processor\n"), "xeon");
        assert_eq!(processor(""), "cpu");
        assert_eq!(processors("epyc-zen4-2cpu"), Some(2));
        assert_eq!(processors("epyc"), None);
    }
}
