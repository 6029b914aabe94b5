//! `docs/performance.md`, as far as it is made from `benches/results`: a table for each machine, in it a
//! line for each class.
//!
//! Enters: the files of results. Leaves: the text between the page's two marks. A class is a file's
//! rows with a processor for each rank, or its rows with more ranks than processors. Its figure is
//! the geometric mean of our time over the best peer's: ratios multiply, so that 0.5 and 2 make 1.

use super::machine;
use super::results::{self, Line};
use anyhow::Result;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A ratio above this is a row to work on.
const FAR_BEHIND: f64 = 1.15;

/// The tables of all machines.
pub(super) fn tables() -> Result<String> {
    let mut text = String::new();
    for folder in entries(&results::folder())? {
        let name = name_of(&folder);
        let mut rows = String::new();
        let mut described = String::new();
        for file in entries(&folder)? {
            let (machine, lines) = results::read(&file)?;
            let link = format!("[{0}](../benches/results/{name}/{0}.csv)", name_of(&file));
            rows += &classes(&link, machine::processors(&name), &lines);
            described = machine;
        }
        let _ = write!(
            text,
            "\n### {name}\n\n{described}\n\n\
             | class | ranks | rows | mean | above {FAR_BEHIND} | the highest | rounds |\n\
             |---|---|--:|--:|--:|---|--:|\n{rows}"
        );
    }
    Ok(text + "\n")
}

/// The lines of a file: where ranks fit the processors, and where they do not.
fn classes(link: &str, processors: Option<u32>, lines: &[Line]) -> String {
    let fits = |line: &&Line| processors.is_none_or(|count| line.key.ranks <= count);
    let (fitting, more): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(fits);
    let mut text = String::new();
    for (class, lines) in [(link.to_string(), fitting), (format!("{link}, oversubscribed"), more)] {
        if !lines.is_empty() {
            text += &class_row(&class, &lines);
        }
    }
    text
}

fn class_row(class: &str, lines: &[&Line]) -> String {
    let mut ranks: Vec<u32> = lines.iter().map(|line| line.key.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let ranks = match ranks[..] {
        [first, .., last] if ranks.len() > 3 => format!("{first}–{last}"),
        _ => ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    };
    let rounds = lines.iter().map(|line| line.rounds).min().unwrap_or(0);
    // Where ours did not run there is a peer and no time.
    let compared = lines.iter().filter(|line| line.ratio.is_some() || failed(line)).count();
    if compared == 0 {
        let (count, told) = (lines.len(), absolute(lines));
        return format!("| {class} | {ranks} | {count} | | | {told} | {rounds} |\n");
    }
    let ratios: Vec<f64> = lines.iter().filter_map(|line| line.ratio).collect();
    let mean = match ratios.len() {
        0 => String::new(),
        count => {
            let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
            format!("{:.2}", (sum / count as f64).exp())
        }
    };
    let behind = lines
        .iter()
        .filter(|line| failed(line) || line.ratio.is_some_and(|ratio| ratio > FAR_BEHIND))
        .count();
    let percent = 100.0 * behind as f64 / compared as f64;
    format!(
        "| {class} | {ranks} | {compared} | {mean} | {percent:.1} % | {} | {rounds} |\n",
        highest(lines)
    )
}

fn failed(line: &Line) -> bool {
    line.ours.is_none() && line.best.is_some() && line.ratio.is_none()
}

/// The row that is furthest behind.
fn highest(lines: &[&Line]) -> String {
    let by_ratio = |one: &&&Line, other: &&&Line| {
        let value = |line: &Line| line.ratio.unwrap_or(0.0);
        value(one).total_cmp(&value(other))
    };
    match (lines.iter().find(|line| failed(line)), lines.iter().max_by(by_ratio)) {
        (Some(line), _) => format!("{} failed", line.name()),
        (None, Some(line)) => {
            let ranks = line.key.ranks;
            let one = lines.iter().all(|line| line.key.ranks == ranks);
            let on = if one { String::new() } else { format!(", {ranks} ranks") };
            format!("{:.2} {}{on}", line.ratio.unwrap_or(0.0), line.name())
        }
        (None, None) => String::new(),
    }
}

/// What there is to say where no ratio counts: ours and the best peer's value of the first row.
fn absolute(lines: &[&Line]) -> String {
    match lines[0] {
        Line { ours: Some(ours), best: Some(best), key, .. } => {
            format!("{ours} {0}, best peer {best} {0}", key.unit)
        }
        _ => String::new(),
    }
}

/// What lies in a folder, in the order of names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths: std::io::Result<Vec<PathBuf>> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::publish;
    use super::*;
    use crate::place;

    fn told(lines: &[&str]) -> String {
        let lines: Vec<Line> = lines.iter().map(|line| Line::read(line).expect("a line")).collect();
        classes("x", Some(2), &lines)
    }

    #[test]
    fn ranks_that_share_processors_are_a_class_of_their_own() {
        let text = told(&[
            "bcast,,2,8,us,1,2,impi,0.50,0.40,0.60,,15",
            "bcast,,2,1024,us,4,2,impi,2.00,1.90,2.10,,13",
            "bcast,,8,8,us,1,2,impi,0.50,0.40,0.60,,15",
        ]);
        let fitting = "| x | 2 | 2 | 1.00 | 50.0 % | 2.00 bcast 1 KiB | 13 |\n";
        let more = "| x, oversubscribed | 8 | 1 | 0.50 | 0.0 % | 0.50 bcast 8 B | 15 |\n";
        assert_eq!(text, format!("{fitting}{more}"));
    }

    #[test]
    fn what_did_not_run_is_behind_and_what_is_not_compared_is_told() {
        let row = "scan,,2,8,us,,2,impi,,,,,3";
        assert_eq!(told(&[row]), "| x | 2 | 1 |  | 100.0 % | scan 8 B failed | 3 |\n");
        let row = "idle,,2,,%,0,99.8,mpich,,,,,3";
        assert_eq!(told(&[row]), "| x | 2 | 1 | | | 0 %, best peer 99.8 % | 3 |\n");
    }

    #[test]
    fn the_page_is_made_from_the_results() {
        let page = fs::read_to_string(place::root().join("docs/performance.md")).expect("the page");
        let made = publish::replaced(&page, publish::TABLES, &tables().expect("results"));
        assert!(made.expect("both marks") == page, "cargo xtask compare --show --publish");
    }
}
