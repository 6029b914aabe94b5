//! The NAS parallel benchmarks: which programs run on how many ranks, and what they print.

use super::case::{Case, Outcome, key, name};
use std::path::{Path, PathBuf};

/// The shapes of DT's graph, and how many ranks it needs in classes S, W, A and B.
const SHAPES: [(&str, [u32; 4]); 3] =
    [("BH", [5, 11, 21, 43]), ("WH", [5, 11, 21, 43]), ("SH", [12, 32, 80, 192])];

/// The cases of these programs. A file is named BENCHMARK.CLASS.RANKS, with `x` for any number.
pub(super) fn cases(files: &[PathBuf], np: &[u32]) -> Vec<Case> {
    let mut cases = Vec::new();
    for file in files {
        let name = name(file);
        let [benchmark, class, ranks] = name.split('.').collect::<Vec<_>>()[..] else { continue };
        if benchmark == "dt" {
            cases.extend(graphs(file, class));
        } else if let Some(runs_on) = rule(benchmark) {
            let fixed: Option<u32> = ranks.parse().ok();
            let possible = |n: &&u32| runs_on(**n) && fixed.is_none_or(|fixed| fixed == **n);
            cases.extend(np.iter().filter(possible).map(|&ranks| Case {
                name: format!("{benchmark}.{class}"),
                program: file.clone(),
                ranks,
                ..Case::default()
            }));
        }
    }
    cases
}

/// On which numbers of ranks a benchmark runs; nothing if it is none of the suite.
fn rule(benchmark: &str) -> Option<fn(u32) -> bool> {
    match benchmark {
        "bt" | "sp" => Some(|n| n.isqrt().pow(2) == n),
        "is" | "cg" | "ft" | "mg" => Some(u32::is_power_of_two),
        "lu" | "ep" => Some(|_| true),
        _ => None,
    }
}

/// DT sends along a graph of a shape that it is given, with one rank for each node.
fn graphs(file: &Path, class: &str) -> Vec<Case> {
    let Some(at) = ["S", "W", "A", "B"].iter().position(|known| *known == class) else {
        return Vec::new();
    };
    let case = |(shape, nodes): &(&str, [u32; 4])| Case {
        name: format!("dt.{class}.{shape}"),
        program: file.to_path_buf(),
        words: vec![(*shape).into()],
        ranks: nodes[at],
        ..Case::default()
    };
    SHAPES.iter().map(case).collect()
}

/// The benchmark verifies its result itself.
pub(super) fn judge(case: &Case, said: &str) -> Outcome {
    let value = |label: &str| {
        let after = |line: &str| Some(line.trim().strip_prefix(label)?.trim().to_string());
        let equals = |text: String| Some(text.strip_prefix('=')?.trim().to_string());
        said.lines().filter_map(after).filter_map(equals).next_back()
    };
    match value("Verification") {
        Some(word) if word.eq_ignore_ascii_case("SUCCESSFUL") => {}
        Some(word) => return Outcome::Failed(format!("verification: {word}")),
        None => return Outcome::Failed("it says nothing of a verification".into()),
    }
    let number = |label: &str| value(label)?.parse::<f64>().ok();
    // The rate has more digits than the time, and says which is faster for the small classes.
    let rate = number("Mop/s total").filter(|rate| *rate > 0.0 && rate.is_finite());
    let time = number("Time in seconds");
    let rows = [(rate, "Mop/s"), (time, "s")].into_iter();
    let rows = rows.filter_map(|(value, unit)| Some((key(case, None, unit), value?)));
    Outcome::Passed { rows: rows.collect(), answer: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str], np: &[u32]) -> Vec<(String, u32)> {
        let files: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        cases(&files, np).into_iter().map(|case| (case.name, case.ranks)).collect()
    }

    #[test]
    fn each_benchmark_runs_on_the_ranks_that_it_can() {
        let np = [1, 2, 4, 8, 9];
        let on = |name| of(&[name], &np).into_iter().map(|(_, ranks)| ranks).collect::<Vec<_>>();
        assert_eq!(on("bt.S.x"), [1, 4, 9]);
        assert_eq!(on("bin/cg.A.x"), [1, 2, 4, 8]);
        assert_eq!(on("cg.A.4"), [4]);
        assert_eq!(on("ep.W.x"), np);
        assert_eq!(on("notes.txt.x"), [0; 0]);
        assert_eq!(of(&["dt.W.x"], &np)[2], ("dt.W.SH".into(), 32));
    }

    #[test]
    fn what_is_not_verified_fails() {
        let case = Case { name: "cg.S".into(), ranks: 2, ..Case::default() };
        let text = |word| {
            format!(
                " Time in seconds =       0.05\n Mop/s total     =  1234.50\n \
                     Verification    =      {word}\n"
            )
        };
        let Outcome::Passed { rows, .. } = judge(&case, &text("SUCCESSFUL")) else {
            panic!("verified");
        };
        let values: Vec<(&str, f64)> =
            rows.iter().map(|(key, value)| (key.unit.as_str(), *value)).collect();
        assert_eq!(values, [("Mop/s", 1234.5), ("s", 0.05)]);
        for word in ["UNSUCCESSFUL", "NOT PERFORMED"] {
            assert!(matches!(judge(&case, &text(word)), Outcome::Failed(_)), "{word}");
        }
        assert!(matches!(judge(&case, ""), Outcome::Failed(_)));
    }
}
