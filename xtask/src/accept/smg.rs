//! A semicoarsening multigrid solver: SMG2000, and the driver of hypre's structured solvers, which
//! takes the same words and prints the same lines.

use super::case::{Case, Outcome, key, name};
use std::path::PathBuf;

/// Points of the grid on each rank, in each direction.
const POINTS: u32 = 40;

/// Above this residual it has not converged: the solver's own tolerance.
const TOLERANCE: f64 = 1e-6;

/// The cases of these programs: a box of processes, each with its box of the grid.
pub(super) fn cases(files: &[PathBuf], np: &[u32]) -> Vec<Case> {
    let known = |file: &&PathBuf| matches!(name(file).as_str(), "smg2000" | "struct");
    let mut cases = Vec::new();
    for file in files.iter().filter(known) {
        for &ranks in np {
            let points = POINTS.to_string();
            let mut words = vec!["-n".to_string(), points.clone(), points.clone(), points];
            words.push("-P".into());
            words.extend(boxed(ranks).map(|side| side.to_string()));
            let name = name(file);
            cases.push(Case { name, program: file.clone(), words, ranks, ..Case::default() });
        }
    }
    cases
}

/// Three factors of a number, as near to each other as they come.
fn boxed(n: u32) -> [u32; 3] {
    let divides = |by: &u32, n: u32| n.is_multiple_of(*by);
    let thickness = (1..=n).take_while(|k| k.pow(3) <= n).filter(|k| divides(k, n)).last();
    let thickness = thickness.unwrap_or(1);
    let rest = n / thickness;
    let width = (1..=rest).take_while(|k| k.pow(2) <= rest).filter(|k| divides(k, rest)).last();
    let width = width.unwrap_or(1);
    let mut sides = [rest / width, width, thickness];
    sides.sort_unstable_by(|a, b| b.cmp(a));
    sides
}

/// It converges, and every library takes the same iterations to the same residual.
pub(super) fn judge(case: &Case, said: &str) -> Outcome {
    let after = |label: &str| {
        let value = |line: &str| Some(line.trim().strip_prefix(label)?.trim().to_string());
        said.lines().find_map(value)
    };
    let (Some(iterations), Some(residual)) =
        (after("Iterations ="), after("Final Relative Residual Norm ="))
    else {
        return Outcome::Failed("it tells no iterations and residual".into());
    };
    if !residual.parse::<f64>().is_ok_and(|norm| norm <= TOLERANCE) {
        return Outcome::Failed(format!("it did not converge: residual {residual}"));
    }
    // Each phase is a heading and its times.
    let mut rows = Vec::new();
    let mut phase = "";
    for line in said.lines().map(str::trim) {
        if let Some(heading) = line.strip_suffix(':') {
            phase = heading;
        } else if let Some(rest) = line.strip_prefix("wall clock time =") {
            let seconds = rest.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
            if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
                let mut row = key(case, None, "ms");
                row.test = format!("{} {phase}", row.test).replace(' ', "-");
                rows.push((row, seconds * 1e3));
            }
        }
    }
    let answer = Some(format!("{iterations} iterations, residual {residual}"));
    Outcome::Passed { rows, answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_of_processes_has_all_of_them() {
        for n in 1..100 {
            let [x, y, z] = boxed(n);
            assert!(x * y * z == n && x >= y && y >= z, "{n}: {x} {y} {z}");
        }
        assert_eq!((boxed(4), boxed(8), boxed(7)), ([2, 2, 1], [2, 2, 2], [7, 1, 1]));
    }

    #[test]
    fn the_answer_and_the_times_are_read() {
        let case = Case { name: "struct".into(), ranks: 2, ..Case::default() };
        let text = "SMG Solve:\n  wall clock time = 0.250000 seconds\n  cpu = 1\n\n\
                    Iterations = 6\nFinal Relative Residual Norm = 4.5e-07\n";
        let Outcome::Passed { rows, answer } = judge(&case, text) else { panic!("converged") };
        assert_eq!(answer.as_deref(), Some("6 iterations, residual 4.5e-07"));
        assert_eq!(
            (rows.len(), rows[0].0.test.as_str(), rows[0].1),
            (1, "struct-SMG-Solve", 250.0)
        );
        let diverged = text.replace("4.5e-07", "4.5e-01");
        assert!(matches!(judge(&case, &diverged), Outcome::Failed(_)));
        assert!(matches!(judge(&case, "Iterations = 6"), Outcome::Failed(_)));
    }
}
