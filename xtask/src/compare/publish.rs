//! What was measured, put into the book: a file of results for each group, and `docs/performance.md`.
//!
//! Enters: samples. Leaves: `benches/results/MACHINE/GROUP.csv`, and the page, whose tables between two
//! marks are made from all such files. What stands around the marks is written by hand and stays.

use super::groups::Group;
use super::report;
use super::results::{self, Line};
use super::samples::{self, Sample};
use super::{machine, page, rounds};
use crate::place;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// The name of the marks between which the tables of `docs/performance.md` stand.
pub(super) const TABLES: &str = "results";

/// Writes the results of those groups that were measured, and the page.
pub(super) fn publish(groups: &[Group]) -> Result<()> {
    for group in groups {
        let samples = samples::read(&rounds::file(group));
        if !samples.is_empty() {
            let command = format!("cargo xtask compare --only {} --publish", group.name);
            write(group.name, &command, &samples)?;
        }
    }
    make_page()
}

/// Writes what a command measured on this machine, without the page.
fn write(name: &str, command: &str, samples: &[Sample]) -> Result<()> {
    let (_, rows) = report::judged_rows(samples);
    let lines: Vec<Line> = rows.iter().map(Line::of).collect();
    let file = results::folder().join(machine::name()).join(format!("{name}.csv"));
    results::write(&file, command, &machine::described(), &lines)?;
    println!("written: {}", place::shown(&file));
    Ok(())
}

/// Writes what a command measured on this machine, and the page.
pub(crate) fn publish_as(name: &str, command: &str, samples: &[Sample]) -> Result<()> {
    write(name, command, samples)?;
    make_page()
}

fn make_page() -> Result<()> {
    put(&place::root().join("docs/performance.md"), TABLES, &page::tables()?)
}

/// Puts a text between the marks of this name on a page.
pub(crate) fn put(page: &Path, name: &str, section: &str) -> Result<()> {
    let shown = place::shown(page);
    let before = fs::read_to_string(page).with_context(|| format!("no {shown}"))?;
    fs::write(page, replaced(&before, name, section).with_context(|| shown.clone())?)?;
    println!("written: {shown}, {name}");
    Ok(())
}

/// The page with another text between the marks `<!-- NAME -->` and `<!-- /NAME -->`.
pub(super) fn replaced(page: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let Some((before, rest)) = page.split_once(&begin) else {
        bail!("there is no line {}", begin.trim_end());
    };
    let Some((_, after)) = rest.split_once(&end) else {
        bail!("there is no line {end}");
    };
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page = "A\n<!-- cold -->\nold\n<!-- /cold -->\nB\n<!-- rate -->\n<!-- /rate -->\n";
        let once = replaced(page, "rate", "new\n").expect("both marks");
        assert_eq!(once, page.replace("<!-- /rate", "new\n<!-- /rate"));
        assert_eq!(replaced(&once, "rate", "new\n").expect("both marks"), once);
        let cold = replaced(page, "cold", "").expect("both marks");
        assert_eq!(cold, page.replace("old\n<", "<"));
        assert!(replaced(page, "latency", "").is_err());
    }
}
