//! The OSU micro-benchmarks: a heading that names the value and its unit, then a line for each
//! size, with a word of judgement where they were asked to validate.

use super::case::{Case, Outcome, key, name};
use std::path::PathBuf;

/// Those of two ranks: the words in their names.
const PAIRS: [&str; 10] = [
    "latency",
    "bw",
    "bibw",
    "latency_mt",
    "latency_mp",
    "latency_persistent",
    "bw_persistent",
    "bibw_persistent",
    "cas_latency",
    "get_bw",
];

/// The cases of these programs.
pub(super) fn cases(files: &[PathBuf], np: &[u32]) -> Vec<Case> {
    let mut cases = Vec::new();
    for file in files {
        let name = name(file);
        let Some(test) = name.strip_prefix("osu_") else { continue };
        let possible = |ranks: &&u32| match test {
            "hello" | "init" => true,
            "mbw_mr" | "multi_lat" => ranks.is_multiple_of(2),
            _ if is_of_a_pair(test, file) => **ranks == 2,
            _ => **ranks >= 2,
        };
        for &ranks in np.iter().filter(possible) {
            let (name, program) = (name.clone(), file.clone());
            cases.push(Case { name, program, ranks, ..Case::default() });
        }
    }
    cases
}

/// Whether it runs on two ranks only: so by its name, or by the folder of one-sided tests.
fn is_of_a_pair(test: &str, file: &std::path::Path) -> bool {
    let one_sided = ["get", "put", "acc", "fop", "cas"].map(|verb| test.starts_with(verb));
    let folder = file.parent().is_some_and(|dir| name(dir) == "one-sided");
    PAIRS.contains(&test) || folder || (one_sided.contains(&true) && test.contains('_'))
}

/// It printed values, and none that is wrong.
pub(super) fn judge(case: &Case, said: &str) -> Outcome {
    let (mut unit, mut sized, mut column) = (String::new(), false, 0);
    let mut rows = Vec::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let unmarked = Some(line).filter(|line| line.contains("Pure Comm"));
        if let Some(heading) = line.trim().strip_prefix('#').or(unmarked) {
            // Other ranks' remarks may come behind the heading.
            let Some(named) = unit_of(heading) else { continue };
            unit = named.to_string();
            sized = heading.trim_start().starts_with("Size");
            column = usize::from(sized) + ahead_of_pure(heading);
        } else if words.contains(&"Fail") {
            return Outcome::Failed(format!("wrong data: {line}"));
        } else {
            let numbers: Vec<f64> = words.iter().map_while(|word| word.parse().ok()).collect();
            let value = numbers.get(column).filter(|_| !unit.is_empty());
            if let Some(&value) = value.filter(|value| **value > 0.0) {
                let bytes = sized.then(|| numbers[0] as u64);
                rows.push((key(case, bytes, &unit), value));
            }
        }
    }
    if rows.is_empty() && !matches!(case.name.as_str(), "osu_hello" | "osu_init") {
        return Outcome::Failed("it printed no values".into());
    }
    Outcome::Passed { rows, answer: None }
}

/// The unit that a heading names: in brackets, or a rate.
fn unit_of(heading: &str) -> Option<&str> {
    let bracketed = heading.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let rate = || heading.split_whitespace().find(|word| word.ends_with("/s"));
    bracketed.map(|(unit, _)| unit).or_else(rate)
}

/// How many values stand before the one that is taken: where a heading tells the time of the
/// communication alone beside what it takes with a computation meanwhile, the former.
fn ahead_of_pure(heading: &str) -> usize {
    match heading.split_once("Pure Comm") {
        Some((before, _)) => before.matches('(').count(),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Outcome {
        judge(&Case { name: "osu_x".into(), ranks: 2, ..Case::default() }, text)
    }

    #[test]
    fn values_with_and_without_sizes_are_read() {
        let read = |text| match judged(text) {
            Outcome::Passed { rows, .. } => {
                rows.into_iter().map(|(key, value)| (key.bytes, key.unit, value)).collect()
            }
            _ => Vec::new(),
        };
        let sized = "# OSU MPI Latency Test v9\n# Size    Latency (us)\n8   0.25\n16  0.5\n";
        assert_eq!(read(sized), [(Some(8), "us".into(), 0.25), (Some(16), "us".into(), 0.5)]);
        assert_eq!(read("# Avg Latency(us)\n   0.42\n"), [(None, "us".into(), 0.42)]);
        let pure =
            "# Size  Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)\n4 3.5 1.5 2.5 9\n";
        assert_eq!(read(pure), [(Some(4), "us".into(), 2.5)]);
        let none = "  Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)\n 3.5 1.5 2.5 9\n";
        assert_eq!(read(none), [(None, "us".into(), 2.5)]);
        let remarks = "# Size  Avg Latency(us)\n# allocated 32 bytes at 0x5638\n8  0.25\n";
        assert_eq!(read(remarks), [(Some(8), "us".into(), 0.25)]);
        let rates = "# Size   MB/s   Messages/s\n1  7.5  750.0\n";
        assert_eq!(read(rates), [(Some(1), "MB/s".into(), 7.5)]);
    }

    #[test]
    fn wrong_data_and_silence_fail() {
        let text = "# Size  Latency (us)  Validation\n8  0.25  Fail\n";
        assert!(matches!(judged(text), Outcome::Failed(_)));
        assert!(matches!(judged("# nothing\n"), Outcome::Failed(_)));
    }

    #[test]
    fn pairs_run_on_two_ranks_and_collectives_on_all() {
        let on = |file: &str| {
            let cases = cases(&[PathBuf::from(file)], &[1, 2, 4]);
            cases.iter().map(|case| case.ranks).collect::<Vec<_>>()
        };
        assert_eq!(on("pt2pt/osu_latency"), [2]);
        assert_eq!(on("one-sided/osu_put_latency"), [2]);
        assert_eq!(on("collective/osu_bcast"), [2, 4]);
        assert_eq!(on("osu_mbw_mr"), [2, 4]);
        assert_eq!(on("osu_init"), [1, 2, 4]);
        assert_eq!(on("other"), [0; 0]);
    }
}
