//! The list of cases: `testsuite/debian/list.toml`, whose first lines say what each word means.

use crate::place;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    case: Vec<Case>,
}

/// A program and its input.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    #[serde(default)]
    pub(super) quick: bool,
    pub(super) packages: Vec<String>,
    /// Beside the list.
    pub(super) folder: Option<PathBuf>,
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) prepare: Vec<String>,
    pub(super) run: Vec<String>,
    pub(super) show: Option<String>,
    pub(super) says: Vec<String>,
    pub(super) numbers: Vec<Rule>,
}

/// Which printed numbers must agree, and how well.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) on: String,
    pub(super) until: Option<String>,
    #[serde(default)]
    pub(super) relative: f64,
    #[serde(default)]
    pub(super) absolute: f64,
}

/// The folder of the list and of the input.
pub(super) fn folder() -> PathBuf {
    place::root().join("testsuite/debian")
}

pub(super) fn file() -> PathBuf {
    folder().join("list.toml")
}

/// All cases.
pub(super) fn read() -> Result<Vec<Case>> {
    let text = fs::read_to_string(file()).context("cannot read the list of Debian's programs")?;
    parse(&text).with_context(|| format!("in {}", place::shown(&file())))
}

fn parse(text: &str) -> Result<Vec<Case>> {
    let List { case: cases } = toml::from_str(text)?;
    let mut names = BTreeSet::new();
    for case in &cases {
        let name = &case.name;
        if !names.insert(name) {
            bail!("two cases are called {name}");
        }
        if name.is_empty() || name.contains(['/', ' ']) {
            bail!("\"{name}\" cannot name a folder");
        }
        if case.run.is_empty() || case.packages.is_empty() || case.numbers.is_empty() {
            bail!("{name} lacks packages, a program to run or numbers to compare");
        }
        let bad = |value: f64| !(value >= 0.0 && value.is_finite());
        if case.numbers.iter().any(|rule| bad(rule.relative) || bad(rule.absolute)) {
            bail!("{name} has a tolerance that is negative or no number");
        }
        if case.numbers.iter().any(|rule| rule.on.is_empty() || rule.until.as_deref() == Some("")) {
            bail!("{name} has numbers on lines with no words: every line has those");
        }
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "[[case]]\nname = 'a'\npackages = ['p']\nrun = ['x', '-y']\nsays = ['end']\n\
                        numbers = [{ on = 'energy', relative = 1e-6 }]\n";

    #[test]
    fn the_list_is_sound() {
        let cases = read().unwrap();
        assert!(cases.iter().any(|case| case.quick), "something runs without --all");
        for Case { name, folder: input, .. } in &cases {
            let input = input.as_ref().is_none_or(|input| folder().join(input).is_dir());
            assert!(input, "{name} has no input");
        }
    }

    #[test]
    fn a_case_needs_little() {
        let cases = parse(CASE).unwrap();
        assert_eq!((cases[0].run.join(" ").as_str(), cases[0].quick), ("x -y", false));
        assert_eq!(cases[0].numbers[0].relative, 1e-6);
        assert_eq!(cases[0].numbers[0].absolute, 0.0);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: String, part: &str| {
            let error = format!("{:#}", parse(&text).unwrap_err());
            assert!(error.contains(part), "{error}");
        };
        wrong(CASE.repeat(2), "two cases are called a");
        wrong(CASE.replace("'a'", "'a/b'"), "\"a/b\" cannot name a folder");
        wrong(CASE.replace("['p']", "[]"), "a lacks packages");
        wrong(CASE.replace("1e-6", "-1e-6"), "negative");
        wrong(CASE.replace("1e-6", "nan"), "no number");
        wrong(CASE.replace("'energy'", "''"), "no words");
        wrong(CASE.replace("relative", "relatively"), "relatively");
    }
}
