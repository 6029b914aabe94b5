//! What came out: a table for each group, the failing rows first and none dropped.
//!
//! Enters: the samples of the groups. Leaves: tables on standard output and in
//! `target/compare/GROUP.md`, plots beside them, and whether every row holds.

use super::groups::{self, ABOVE_FLOOR, Bar, Group};
use super::samples::{self, Key, Sample};
use super::verdict::{self, Estimate, Verdict};
use super::{folder, plot, rounds};
use crate::place;
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

type Libraries = BTreeMap<String, BTreeMap<usize, f64>>;

/// One row, judged.
pub(super) struct Row {
    pub(super) verdict: Verdict,
    pub(super) key: Key,
    pub(super) medians: BTreeMap<String, f64>,
    /// The best peer and our ratio to it.
    pub(super) best: Option<(String, Estimate)>,
    /// Our ratio to the floor.
    floor: Option<Estimate>,
    pub(super) rounds: usize,
}

/// Prints, writes and plots; whether every row holds.
pub(crate) fn report(groups: &[Group]) -> Result<bool> {
    let mut failed = 0;
    for group in groups {
        let samples = samples::read(&rounds::file(group));
        let (names, mut rows) = judged_rows(&samples);
        plot::plot(group.name, &names, rows.iter().map(|row| (&row.key, &row.medians)))?;
        failed += to_the_front(&mut rows);
        let text = table(&names, &rows);
        println!("\n{}\n\n{text}", group.name);
        fs::write(folder().join(format!("{}.md", group.name)), text)?;
    }
    println!("{failed} rows fail; tables and plots are in {}", place::shown(&folder()));
    Ok(failed == 0)
}

/// The table of these samples, and how many of its rows fail.
pub(crate) fn tabulate(samples: &[Sample]) -> (String, usize) {
    let (names, mut rows) = judged_rows(samples);
    let failed = to_the_front(&mut rows);
    (table(&names, &rows), failed)
}

/// The libraries and the rows.
pub(super) fn judged_rows(samples: &[Sample]) -> (Vec<String>, Vec<Row>) {
    let by_row = samples::by_row(samples);
    let rows: Vec<Row> = by_row.iter().map(|(key, values)| judged(key, values)).collect();
    (names(&rows), rows)
}

/// Puts the rows that fail first, and counts them.
fn to_the_front(rows: &mut [Row]) -> usize {
    rows.sort_by_key(|row| (row.verdict != Verdict::Fails, row.key.clone()));
    rows.iter().filter(|row| row.verdict == Verdict::Fails).count()
}

/// Ours first, the floor last.
fn names(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().flat_map(|row| row.medians.keys().cloned()).collect();
    names.sort_by_key(|name| (name == "floor", name != "ours", name.clone()));
    names.dedup();
    names
}

fn judged(key: &Key, values: &Libraries) -> Row {
    let more = key.more_is_better();
    let medians: BTreeMap<String, f64> = values
        .iter()
        .map(|(name, rounds)| {
            (name.clone(), verdict::median(&mut rounds.values().copied().collect::<Vec<_>>()))
        })
        .collect();
    let peers = medians.iter().filter(|(name, _)| *name != "ours" && *name != "floor");
    let best = peers.min_by(|a, b| if more { b.1.total_cmp(a.1) } else { a.1.total_cmp(b.1) });
    let none = BTreeMap::new();
    let ours = values.get("ours").unwrap_or(&none);
    let against = |name: &str| verdict::ratio(ours, values.get(name)?, more);
    let bar = groups::bar(key);
    let verdict = match (medians.get("ours"), best) {
        (None, Some(_)) if bar != Bar::Free => Verdict::Fails,
        (None, _) => Verdict::Alone,
        (Some(mine), best) => verdict::judge(bar, *mine, best.and_then(|(name, _)| against(name))),
    };
    let best = best.and_then(|(name, _)| Some((name.clone(), against(name)?)));
    let floor = against("floor");
    let rounds = values.values().map(BTreeMap::len).max().unwrap_or(0);
    Row { verdict, key: key.clone(), best, floor, rounds, medians }
}

/// A table in Markdown: medians, our ratio to the best peer with its interval, the verdict, and
/// where the floor was measured our ratio to that.
fn table(names: &[String], rows: &[Row]) -> String {
    if names == ["floor"] {
        return bare(rows);
    }
    let floor = rows.iter().any(|row| row.floor.is_some());
    let mut text = format!("| row | unit | {} |", names.join(" | "));
    text += " ours/best | 95 % | verdict |";
    text += if floor { " ours/floor |\n" } else { "\n" };
    text += "|---|---|";
    text += &"--:|".repeat(names.len() + 1);
    text += if floor { "---|---|--:|\n" } else { "---|---|\n" };
    for row in rows {
        write_row(&mut text, names, row, floor);
    }
    let rounds = rows.iter().map(|row| row.rounds).min().unwrap_or(0);
    let _ = writeln!(text, "\nMedians of {rounds} rounds.");
    text
}

/// The table of the machine itself, which is compared with nothing.
fn bare(rows: &[Row]) -> String {
    let mut text = "| row | unit | median |\n|---|---|--:|\n".to_string();
    for Row { key, medians, .. } in rows {
        for value in medians.values() {
            let _ = writeln!(text, "| {key} | {} | {} |", key.unit, short(*value));
        }
    }
    text
}

fn write_row(text: &mut String, names: &[String], row: &Row, floor: bool) {
    let bar = groups::bar(&row.key);
    let _ = write!(text, "| {} | {} |", row.key, row.key.unit);
    for name in names {
        let _ = match row.medians.get(name) {
            Some(value) => write!(text, " {} |", short(*value)),
            None if name == "ours" && row.verdict == Verdict::Fails => write!(text, " failed |"),
            None => write!(text, " |"),
        };
    }
    let _ = match &row.best {
        Some((name, Estimate { r, low, high })) => {
            write!(text, " {r:.2} of {name} | {low:.2}–{high:.2} |")
        }
        None => write!(text, " | |"),
    };
    let aim = match bar {
        Bar::Part(part) => format!(", at most {part}"),
        Bar::Below(limit) => format!(", below {}", (limit * 100.0).round() / 100.0),
        Bar::NoWorse | Bar::Better | Bar::Free => String::new(),
    };
    let _ = write!(text, " {}{aim} |", row.verdict.word(bar));
    if floor {
        let _ = match row.floor {
            Some(Estimate { r, .. }) if r <= ABOVE_FLOOR => write!(text, " {r:.2} |"),
            Some(Estimate { r, .. }) => write!(text, " **{r:.2}** |"),
            None => write!(text, " |"),
        };
    }
    text.push('\n');
}

/// Three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
