//! MPICH's tests: folders with a file `testlist` each, whose lines name a program, its ranks and
//! how it is to be run and judged.

use super::case::{Case, Ended, Outcome, Rule, key};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The cases of all lists below a folder.
pub(super) fn cases(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    read(folder, Path::new(""), &mut cases, &mut BTreeSet::new())?;
    Ok(cases)
}

/// Reads the list of one folder, and of those that it names.
fn read(
    top: &Path,
    folder: &Path,
    cases: &mut Vec<Case>,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<()> {
    let list = top.join(folder).join("testlist");
    if !seen.insert(list.clone()) || !list.exists() {
        return Ok(());
    }
    let text = fs::read_to_string(&list).with_context(|| format!("in {}", list.display()))?;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [first, rest @ ..] = &words[..] else { continue };
        if first.starts_with('!') {
            continue;
        }
        let path = folder.join(first);
        if top.join(&path).is_dir() {
            read(top, &path, cases, seen)?;
        } else {
            cases.push(case(path, rest));
        }
    }
    Ok(())
}

/// The case of one line.
fn case(program: PathBuf, words: &[&str]) -> Case {
    let ranks = words.first().and_then(|word| word.parse().ok()).unwrap_or(2);
    let mut case = Case { ranks, program, ..Case::default() };
    for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
        match name {
            "arg" => case.words.push(value.into()),
            "mpiexecarg" => case.launcher.push(value.into()),
            "env" if value.starts_with("MPIR_CVAR_") => {
                case.left_out = Some("it differs by a setting of MPICH alone".into());
            }
            "env" => case.environment.extend(value.split_once('=').map(owned)),
            "resultTest" => case.rule = rule(value),
            "xfail" => case.left_out = Some(format!("expected to fail: {value}")),
            "strict" if value.eq_ignore_ascii_case("false") => {
                case.left_out = Some("it goes beyond the standard".into());
            }
            "hasgpu" => case.left_out = Some("it needs a GPU".into()),
            _ => {}
        }
    }
    let spelled = case.program.display().to_string();
    let variables = case.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let all: Vec<String> =
        [spelled].into_iter().chain(case.words.iter().cloned()).chain(variables).collect();
    case.name = all.join(",");
    case
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.into(), value.into())
}

fn rule(name: &str) -> Rule {
    match name {
        "TestAllowWarnings" => Rule::Warnings,
        "TestStatus" | "TestErrFatal" => Rule::Status,
        "TestStatusNoErrors" => Rule::StatusNoErrors,
        "TestBench" => Rule::Bench,
        _ => Rule::NoErrors,
    }
}

/// Judges a run by the rule of its line.
pub(super) fn judge(case: &Case, ended: &Ended) -> Outcome {
    let (mut no_errors, mut skipped, mut warnings) = (false, false, 0);
    let mut stray = Vec::new();
    for line in ended.said.lines().chain(ended.errors.lines()) {
        match line.trim() {
            word if word.eq_ignore_ascii_case("no errors") && !no_errors => no_errors = true,
            "Test Skipped" => skipped = true,
            word if is_warning(word) => warnings += 1,
            // What gfortran's library prints at the end of a program.
            word if word.starts_with("Note: The following floating-point") => {}
            _ => stray.push(line),
        }
    }
    let zero = ended.code == Some(0);
    let clean = no_errors && stray.is_empty();
    let right = match case.rule {
        Rule::NoErrors => (clean && warnings == 0 || skipped) && zero,
        Rule::Warnings => (clean || skipped) && zero,
        Rule::Status => !zero && ended.code.is_some_and(|code| code != 124),
        Rule::StatusNoErrors => clean && !zero,
        Rule::Bench => zero,
    };
    match (right, skipped) {
        (true, true) => Outcome::Skipped("by the test itself".into()),
        (true, false) => {
            Outcome::Passed { rows: vec![(key(case, None, "s"), ended.seconds)], answer: None }
        }
        (false, _) => {
            let code = ended.code.map_or("killed".into(), |code| format!("exit status {code}"));
            let said = stray.first().map_or("nothing but its line", |line| line.trim());
            let said: String = said.chars().take(160).collect();
            Outcome::Failed(format!("{code}, it said: {said}"))
        }
    }
}

/// A warning, or what launchers say of MPI_Abort.
fn is_warning(line: &str) -> bool {
    line.starts_with("MPICH: ")
        || line.starts_with("WARNING: ")
        || line.contains("application called MPI_Abort")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_lead_to_lists_and_lines_to_cases() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("coll")).expect("made");
        fs::write(dir.path().join("testlist"), "# all\ncoll\ncoll\nmissing\n").expect("written");
        let list = "bcast 4 arg=-x env=A=b mpiexecarg=-v\nabort resultTest=TestStatus # two\n\
                    odd 3 xfail=ticket1\n!off 2\nmany 1 strict=FALSE\n\
                    set 1 env=MPIR_CVAR_X=1\n";
        fs::write(dir.path().join("coll/testlist"), list).expect("written");
        let cases = cases(dir.path()).expect("read");
        let names: Vec<(&str, u32)> =
            cases.iter().map(|case| (case.name.as_str(), case.ranks)).collect();
        let wanted = [
            ("coll/bcast,-x,A=b", 4),
            ("coll/abort", 2),
            ("coll/odd", 3),
            ("coll/many", 1),
            ("coll/set", 1),
            ("missing", 2),
        ];
        assert_eq!(names, wanted);
        assert_eq!((cases[0].launcher.len(), cases[1].rule), (1, Rule::Status));
        assert!(cases[2..5].iter().all(|case| case.left_out.is_some()));
        assert!(cases[..2].iter().chain(&cases[5..]).all(|case| case.left_out.is_none()));
    }

    #[test]
    fn a_run_is_judged_by_its_rule() {
        let passes = |rule, code, said: &str, errors: &str| {
            let case = Case { rule, ..Case::default() };
            let (said, errors) = (said.into(), errors.into());
            matches!(
                judge(&case, &Ended { code: Some(code), said, errors, seconds: 1.0 }),
                Outcome::Passed { .. }
            )
        };
        assert!(passes(Rule::NoErrors, 0, " No Errors\n", ""));
        assert!(!passes(Rule::NoErrors, 0, " No Errors\nwrong\n", ""));
        assert!(!passes(Rule::NoErrors, 0, " No Errors\n No Errors\n", ""));
        assert!(!passes(Rule::NoErrors, 1, " No Errors\n", ""));
        assert!(!passes(Rule::NoErrors, 0, "", ""));
        assert!(!passes(Rule::NoErrors, 0, "No Errors\n", "WARNING: late"));
        assert!(passes(Rule::Warnings, 0, "No Errors\n", "WARNING: late"));
        assert!(passes(Rule::Status, 3, "boom\n", ""));
        assert!(!passes(Rule::Status, 124, "", ""));
        assert!(passes(Rule::StatusNoErrors, 3, "No errors\n", ""));
        assert!(passes(Rule::Bench, 0, "12 MB/s\n", ""));
    }
}
