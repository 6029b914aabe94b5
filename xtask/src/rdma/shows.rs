//! What was measured, as tables and plots, and how it stands to the bars.
//!
//! Enters: the plan and the samples. Leaves: text on standard output, plots in `target/rdma`; with
//! `publish` both in `docs/papers.md`, whose text around the marks is written by hand.

use super::plan::{Bar, Figure, Plan};
use super::values::PLAIN;
use crate::compare::samples::{self, Key};
use crate::compare::{machine, plot, publish, verdict};
use crate::place;
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// Values by round, for each line.
type Lines = BTreeMap<String, BTreeMap<usize, f64>>;
type Rows = BTreeMap<Key, Lines>;

/// Tells of every figure that has values; whether every bar is reached that can be judged.
pub(super) fn tell(plan: &Plan, publish: bool) -> Result<bool> {
    let all = samples::read(&super::kept::file());
    let rows = samples::by_row(&all);
    let page = place::root().join("docs/papers.md");
    let mut holds = true;
    for figure in &plan.figures {
        let rows: Rows = of(figure, &rows);
        if rows.is_empty() {
            continue;
        }
        let mut text = table(figure, &rows);
        let (bars, good) = judged(figure, &plan.bars, &rows);
        holds &= good;
        text += &bars;
        println!("\n{}\n\n{text}", figure.title);
        let svg = picture(figure, &rows);
        let name = format!("{}.svg", figure.name);
        if let Some(svg) = &svg {
            fs::write(place::target().join("rdma").join(&name), svg)?;
        }
        if publish {
            if let Some(svg) = &svg {
                fs::create_dir_all(page.with_extension(""))?;
                fs::write(page.with_extension("").join(&name), svg)?;
                let _ = write!(text, "\n![{}](papers/{name})\n", figure.title);
            }
            let command = format!("cargo xtask rdma --only {} --publish", figure.name);
            let section = format!("`{command}` on {}:\n\n{text}", machine::described());
            publish::put(&page, &figure.name, &section)?;
        }
    }
    Ok(holds)
}

/// The rows of one figure, in its unit.
fn of(figure: &Figure, rows: &Rows) -> Rows {
    let mine = |key: &Key| key.test == figure.name && key.unit == figure.unit;
    rows.iter()
        .filter(|(key, _)| mine(key))
        .map(|(key, lines)| (key.clone(), lines.clone()))
        .collect()
}

/// The names of the lines, in their order.
fn names(rows: &Rows) -> Vec<&str> {
    let mut names: Vec<&str> =
        rows.values().flat_map(|lines| lines.keys().map(|name| &**name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn median(rounds: &BTreeMap<usize, f64>) -> f64 {
    verdict::median(&mut rounds.values().copied().collect::<Vec<_>>())
}

/// A row for each size, a column for each line.
fn table(figure: &Figure, rows: &Rows) -> String {
    let names = names(rows);
    let ratios: Vec<(&str, &str)> = figure
        .against
        .iter()
        .flat_map(|against| {
            names.iter().filter(move |name| *name != against).map(move |name| (*name, &**against))
        })
        .collect();
    let heads = names.iter().map(|name| (*name).to_owned());
    let heads: Vec<String> =
        heads.chain(ratios.iter().map(|(a, b)| format!("{a} / {b}"))).collect();
    let mut text = format!("| {} | {} |\n|---|", figure.unit, heads.join(" | "));
    text += &"--:|".repeat(heads.len());
    text.push('\n');
    for (key, lines) in rows {
        let values = names.iter().map(|name| lines.get(*name).map(median));
        let ratios = ratios.iter().map(|(line, against)| {
            Some(verdict::ratio(lines.get(*line)?, lines.get(*against)?, false)?.r)
        });
        let _ = write!(text, "| {} |", row_name(figure, key));
        for value in values.chain(ratios) {
            let _ = match value {
                Some(value) => write!(text, " {} |", short(value)),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
    let rounds = rows.values().flat_map(BTreeMap::values).map(BTreeMap::len);
    let _ = writeln!(text, "\nMedians of {} rounds in one host.", rounds.max().unwrap_or(0));
    text
}

/// What a row is called.
fn row_name(figure: &Figure, key: &Key) -> String {
    match key.bytes {
        Some(number) => figure.number(number),
        None if key.variant != PLAIN => key.variant.clone(),
        None => "-".to_owned(),
    }
}

/// The bars of a figure that can be judged, as a table, and whether all are reached.
fn judged(figure: &Figure, bars: &[Bar], rows: &Rows) -> (String, bool) {
    let mut text = String::new();
    let mut good = true;
    for bar in bars.iter().filter(|bar| bar.figure == figure.name) {
        let Some(value) = value(bar, rows) else { continue };
        let reached = bar.least.is_none_or(|least| value >= least)
            && bar.most.is_none_or(|most| value <= most);
        good &= reached;
        let least = bar.least.map(|least| format!("at least {least}"));
        let most = bar.most.map(|most| format!("at most {most}"));
        let bounds: Vec<String> = least.into_iter().chain(most).collect();
        let word = if reached { "reached" } else { "**missed**" };
        let _ = writeln!(
            text,
            "| {}, {} | {} | {} | {word} |",
            bar.says,
            figure.number(bar.bytes),
            bounds.join(", "),
            short(value)
        );
    }
    if !text.is_empty() {
        text = format!("\n| what | aim | is | |\n|---|---|--:|---|\n{text}");
    }
    (text, good)
}

/// What a bar bounds: the median of a line, or of its ratios to another one inside the rounds.
fn value(bar: &Bar, rows: &Rows) -> Option<f64> {
    let lines = rows.iter().find(|(key, _)| key.bytes == Some(bar.bytes))?.1;
    let line = lines.get(&bar.line)?;
    match &bar.over {
        None => Some(median(line)),
        Some(over) => Some(verdict::ratio(line, lines.get(over)?, false)?.r),
    }
}

/// The plot, where there are sizes.
fn picture(figure: &Figure, rows: &Rows) -> Option<String> {
    if rows.keys().filter(|key| key.bytes.is_some()).count() < 2 {
        return None;
    }
    let points = |name: &str| {
        let point = |(key, lines): (&Key, &Lines)| {
            // Nothing has no logarithm; it is drawn at one byte.
            Some((key.bytes?.max(1) as f64, median(lines.get(name)?)))
        };
        rows.iter().filter_map(point).collect()
    };
    let lines: Vec<plot::Line> = names(rows).into_iter().map(|name| (name, points(name))).collect();
    Some(plot::picture(&format!("{} ({})", figure.title, figure.unit), &lines))
}

/// Three significant digits, or all before the point.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::samples::Sample;

    fn figure() -> Figure {
        let [name, title, unit] = ["wan", "Far", "MB/s"].map(String::from);
        Figure { name, title, unit, rounds: None, by: None, against: None }
    }

    /// Three rounds in which the machine was once half as fast for all.
    fn rows() -> Rows {
        let values = [("ours", 64, 30.0), ("bare", 64, 10.0), ("ours", 1024, 40.0)];
        let sample = |round: usize, (line, kib, value): (&str, u64, f64)| {
            let (test, variant, unit) = ("wan".into(), "-".into(), "MB/s".into());
            let key = Key { ranks: 2, test, variant, bytes: Some(kib << 10), unit };
            let value = if round == 1 { value / 2.0 } else { value };
            Sample { round, library: line.into(), key, value }
        };
        let all: Vec<Sample> =
            (0..3).flat_map(|round| values.map(|value| sample(round, value))).collect();
        of(&figure(), &samples::by_row(&all))
    }

    fn bar(over: Option<&str>, least: Option<f64>, most: Option<f64>) -> Bar {
        let (says, line) = ("ours far away".into(), "ours".into());
        let over = over.map(Into::into);
        Bar { says, figure: "wan".into(), line, over, bytes: 64 << 10, least, most }
    }

    #[test]
    fn a_row_has_the_medians_of_its_lines() {
        let text = table(&figure(), &rows());
        assert!(text.starts_with("| MB/s | bare | ours |\n|---|--:|--:|\n"), "{text}");
        assert!(text.contains("| 64 KiB | 10.0 | 30.0 |\n| 1 MiB | | 40.0 |\n"), "{text}");
        assert!(text.ends_with("Medians of 3 rounds in one host.\n"), "{text}");
    }

    #[test]
    fn lines_are_told_as_ratios_to_one_inside_the_rounds() {
        let figure = Figure { against: Some("bare".into()), by: Some("peers".into()), ..figure() };
        let text = table(&figure, &rows());
        assert!(
            text.starts_with("| MB/s | bare | ours | ours / bare |\n|---|--:|--:|--:|\n"),
            "{text}"
        );
        assert!(text.contains("| 65536 peers | 10.0 | 30.0 | 3.00 |\n"), "{text}");
        assert!(text.contains("| 1048576 peers | | 40.0 | |\n"), "{text}");
    }

    #[test]
    fn bars_are_held_to_the_ratio_inside_the_rounds_or_to_the_value() {
        let of = |bar: Bar| judged(&figure(), &[bar], &rows());
        assert!(of(bar(Some("bare"), Some(2.5), None)).1);
        let (text, good) = of(bar(Some("bare"), Some(3.5), None));
        assert!(!good && text.contains("| at least 3.5 | 3.00 | **missed** |"), "{text}");
        assert!(of(bar(None, None, Some(31.0))).1);
        assert!(!of(bar(None, None, Some(29.0))).1);
        let unmeasured = of(bar(Some("theirs"), Some(1.0), None));
        assert_eq!(unmeasured, (String::new(), true));
    }

    #[test]
    fn every_figure_has_its_place_in_the_page() {
        let page = fs::read_to_string(place::root().join("docs/papers.md")).expect("the page");
        for Figure { name, .. } in Plan::read("shows").expect("a plan").figures {
            for mark in [format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n")] {
                assert_eq!(page.matches(&mark).count(), 1, "{mark}");
            }
        }
    }

    #[test]
    fn the_picture_has_a_line_for_each_name() {
        let svg = picture(&figure(), &rows()).expect("two sizes");
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("Far (MB/s)"));
        let first = rows().into_iter().take(1).collect();
        assert_eq!(picture(&figure(), &first), None);
    }
}
