//! Intel's MPI benchmarks: tables of times, and of defects where they were built to check.

use super::case::{Case, Outcome, name};
use crate::compare::samples;
use std::path::PathBuf;

/// What one of them prints before it ends.
const LAST: &str = "All processes entering MPI_Finalize";

/// The cases of these programs: all their benchmarks, on all ranks.
pub(super) fn cases(files: &[PathBuf], np: &[u32]) -> Vec<Case> {
    let known = |file: &&PathBuf| name(file).starts_with("IMB-");
    let mut cases = Vec::new();
    for file in files.iter().filter(known) {
        for &ranks in np {
            let words = vec!["-npmin".into(), ranks.to_string()];
            let (name, program) = (name(file), file.clone());
            cases.push(Case { name, program, words, ranks, ..Case::default() });
        }
    }
    cases
}

/// It came to its end, and where results were checked none is wrong.
pub(super) fn judge(case: &Case, said: &str) -> Outcome {
    if !said.contains(LAST) {
        return Outcome::Failed("it did not come to its end".into());
    }
    let mut column = None;
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.contains(&"#repetitions") {
            column = words.iter().position(|word| *word == "defects");
        } else if let Some(defects) = column.and_then(|at| words.get(at))
            && defects.parse::<f64>().is_ok_and(|defects| defects != 0.0)
        {
            return Outcome::Failed(format!("defects: {line}"));
        }
    }
    let mut rows = samples::imb(case.ranks, said);
    for (key, _) in &mut rows {
        key.variant = format!("{}-ranks", case.ranks);
    }
    if rows.is_empty() && case.ranks > 1 {
        return Outcome::Failed("it printed no times".into());
    }
    Outcome::Passed { rows, answer: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defects_and_an_early_end_fail() {
        let case = Case { name: "IMB-MPI1".into(), ranks: 2, ..Case::default() };
        let text = |defects| {
            format!(
                "# Benchmarking Bcast\n #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] \
                 defects\n 8 1000 0.1 0.3 0.2 {defects}\n\n# {LAST}\n"
            )
        };
        let Outcome::Passed { rows, .. } = judge(&case, &text("0.00")) else { panic!("right") };
        assert_eq!((rows[0].0.test.as_str(), rows[0].1), ("bcast", 0.2));
        assert!(matches!(judge(&case, &text("1.00")), Outcome::Failed(_)));
        assert!(matches!(judge(&case, &text("0.00").replace(LAST, "")), Outcome::Failed(_)));
    }
}
