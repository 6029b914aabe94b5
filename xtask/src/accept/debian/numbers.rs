//! Whether two runs of a program printed the same numbers.

use super::list::Rule;

/// Lines that are told of one rule when numbers differ.
const TOLD: usize = 3;

/// How many numbers were compared, or what differs.
pub(super) fn differences(rules: &[Rule], theirs: &str, ours: &str) -> Result<usize, Vec<String>> {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for rule in rules {
        let (theirs, ours) = (lines(rule, theirs), lines(rule, ours));
        if theirs.iter().all(|line| numbers(line).is_empty()) {
            wrong.push(format!("with Open MPI there is no number on lines with \"{}\"", rule.on));
        } else if theirs.len() != ours.len() {
            let (theirs, ours, on) = (theirs.len(), ours.len(), &rule.on);
            wrong.push(format!("{theirs} lines with \"{on}\" with Open MPI, {ours} with ours"));
        } else {
            let pairs = || theirs.iter().zip(&ours);
            let differ = pairs().filter(|(theirs, ours)| !alike(rule, theirs, ours));
            let told = differ.take(TOLD).map(|(theirs, ours)| {
                format!("Open MPI: {}\n        ours: {}", theirs.trim(), ours.trim())
            });
            wrong.extend(told);
            compared += theirs.iter().map(|line| numbers(line).len()).sum::<usize>();
        }
    }
    if wrong.is_empty() { Ok(compared) } else { Err(wrong) }
}

/// The lines that a rule is about.
fn lines<'a>(rule: &Rule, said: &'a str) -> Vec<&'a str> {
    let mut inside = false;
    let about = |line: &&str| {
        let begins = line.contains(&rule.on);
        let Some(until) = &rule.until else { return begins };
        inside = begins || (inside && !line.contains(until));
        inside
    };
    said.lines().filter(about).collect()
}

/// The numbers of a line; brackets and the like may stand at them.
fn numbers(line: &str) -> Vec<f64> {
    let apart = |c: char| c.is_whitespace() || "()[]=,:;".contains(c);
    line.split(apart).filter_map(|word| word.parse().ok()).collect()
}

/// What is no number, or infinite, is like nothing.
fn alike(rule: &Rule, theirs: &str, ours: &str) -> bool {
    let close = |(a, b): (&f64, &f64)| {
        (a - b).abs() <= rule.absolute + rule.relative * a.abs().max(b.abs())
    };
    let (theirs, ours) = (numbers(theirs), numbers(ours));
    theirs.len() == ours.len() && theirs.iter().zip(&ours).all(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(on: &str, until: Option<&str>, relative: f64, absolute: f64) -> Rule {
        Rule { on: on.into(), until: until.map(str::to_string), relative, absolute }
    }

    #[test]
    fn numbers_agree_within_what_is_allowed() {
        let energy = |relative, absolute| [rule("energy", None, relative, absolute)];
        let theirs = "step 1\nenergy = -100.0 eV (3 steps)\ntime 5 s\n";
        let ours = "step 1\nenergy = -100.5 eV (3 steps)\ntime 7 s\n";
        assert_eq!(differences(&energy(0.0, 0.0), theirs, theirs), Ok(2));
        assert_eq!(differences(&energy(0.01, 0.0), theirs, ours), Ok(2));
        assert_eq!(differences(&energy(0.0, 0.5), theirs, ours), Ok(2));
        let told = differences(&energy(0.004, 0.05), theirs, ours).unwrap_err();
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("-100.0") && told[0].contains("-100.5"), "{told:?}");
    }

    #[test]
    fn a_table_is_compared_to_its_end() {
        let table = [rule("Step", Some("Loop"), 0.0, 0.0)];
        let theirs = "Step T\n 0 1.5\n 50 2.5\nLoop time 3\n 7\nStep T\n 0 1e-3\nLoop time 4\n";
        assert_eq!(differences(&table, theirs, theirs), Ok(6));
        let later = theirs.replace("time 3\n 7", "time 4\n 8");
        assert_eq!(differences(&table, theirs, &later), Ok(6), "after its end it may differ");
        assert!(differences(&table, theirs, &theirs.replace("2.5", "2.6")).is_err());
        assert!(differences(&table, theirs, &theirs.replace("1e-3", "2e-3")).is_err());
    }

    #[test]
    fn what_is_not_there_is_not_alike() {
        let energy = [rule("energy", None, 1.0, 1e9)];
        let missing = |theirs, ours| differences(&energy, theirs, ours).unwrap_err().join("\n");
        assert!(missing("", "").contains("no number"), "nothing compared is no success");
        assert!(missing("energy unknown", "energy unknown").contains("no number"));
        assert!(missing("energy 1\nenergy 2", "energy 1").contains("2 lines"));
        assert!(missing("energy 1 2", "energy 1").contains("energy 1 2"));
        assert!(missing("energy nan", "energy nan").contains("nan"), "no number is like itself");
    }
}
