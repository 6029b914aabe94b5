//! Published figures: `benches/results/MACHINE/GROUP.csv`, one line for each row that was measured.
//!
//! Enters: judged rows. Leaves: the file, and its lines again. Its first two lines begin with `#`
//! and give the command and the machine. `best` is the median of the best peer, `ratio` ours
//! over that with its 95 % interval from `low` to `high`; below 1 is better for us, for
//! rates too. `floor` is the median of two bare processes. What was not measured is empty.

use super::groups::{self, Bar};
use super::report::Row;
use super::samples::{Key, size};
use crate::place;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The columns.
const HEAD: &str = "test,variant,ranks,bytes,unit,ours,best,peer,ratio,low,high,floor,rounds";

/// One row as it is published.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Line {
    pub(super) key: Key,
    pub(super) ours: Option<f64>,
    pub(super) best: Option<f64>,
    pub(super) peer: String,
    /// Ours over the best peer, where that is what counts.
    pub(super) ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    floor: Option<f64>,
    pub(super) rounds: usize,
}

impl Line {
    pub(super) fn of(row: &Row) -> Line {
        let median = |name: &str| row.medians.get(name).copied();
        let peer = row.best.as_ref().map_or("", |(name, _)| name);
        let compared = matches!(groups::bar(&row.key), Bar::NoWorse | Bar::Part(_) | Bar::Better);
        let estimate = row.best.as_ref().map(|(_, estimate)| estimate).filter(|_| compared);
        Line {
            key: row.key.clone(),
            ours: median("ours"),
            best: median(peer),
            peer: peer.into(),
            ratio: estimate.map(|estimate| estimate.r),
            interval: estimate.map(|estimate| (estimate.low, estimate.high)),
            floor: median("floor"),
            rounds: row.rounds,
        }
    }

    /// Its name without what the class says already.
    pub(super) fn name(&self) -> String {
        let Key { test, variant, bytes, .. } = &self.key;
        let words = [test.clone(), variant.clone(), bytes.map(size).unwrap_or_default()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn written(&self) -> String {
        let Key { ranks, test, variant, bytes, unit } = &self.key;
        let value = |value: Option<f64>| value.map(significant).unwrap_or_default();
        let two = |value: Option<f64>| value.map(|value| format!("{value:.2}")).unwrap_or_default();
        let (low, high) = self.interval.unzip();
        // The number of ranks has a column of its own.
        let repeated = *variant == format!("{ranks}-ranks");
        [
            test.clone(),
            if repeated { String::new() } else { variant.clone() },
            ranks.to_string(),
            bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
            unit.clone(),
            value(self.ours),
            value(self.best),
            self.peer.clone(),
            two(self.ratio),
            two(low),
            two(high),
            value(self.floor),
            self.rounds.to_string(),
        ]
        .join(",")
    }

    /// A line of a file.
    pub(super) fn read(line: &str) -> Option<Line> {
        let cells: Vec<&str> = line.split(',').collect();
        let [test, variant, ranks, bytes, unit, ours, best, peer, ratio, low, high, floor, rounds] =
            cells[..]
        else {
            return None;
        };
        Some(Line {
            key: Key {
                ranks: ranks.parse().ok()?,
                test: test.into(),
                variant: variant.into(),
                bytes: bytes.parse().ok(),
                unit: unit.into(),
            },
            ours: ours.parse().ok(),
            best: best.parse().ok(),
            peer: peer.into(),
            ratio: ratio.parse().ok(),
            interval: low.parse().ok().zip(high.parse().ok()),
            floor: floor.parse().ok(),
            rounds: rounds.parse().ok()?,
        })
    }
}

/// The folder in which every machine has one.
pub(super) fn folder() -> PathBuf {
    place::root().join("benches/results")
}

/// Writes a file of results, made by `command` on `machine`.
pub(super) fn write(file: &Path, command: &str, machine: &str, lines: &[Line]) -> Result<()> {
    let mut text = format!("# {command}\n# {machine}\n{HEAD}\n");
    for line in lines {
        text += &line.written();
        text.push('\n');
    }
    fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
    fs::write(file, text).with_context(|| format!("cannot write {}", place::shown(file)))
}

/// Reads a file of results: the machine and the lines.
pub(super) fn read(file: &Path) -> Result<(String, Vec<Line>)> {
    let shown = place::shown(file);
    let text = fs::read_to_string(file).with_context(|| format!("no {shown}"))?;
    let mut heads = text.lines().filter_map(|line| line.strip_prefix("# "));
    let machine = heads.nth(1).with_context(|| format!("{shown} names no machine"))?;
    let rows = text.lines().filter(|line| !line.starts_with('#') && *line != HEAD);
    let lines: Option<Vec<Line>> = rows.map(Line::read).collect();
    Ok((machine.into(), lines.with_context(|| format!("{shown} has a line of another form"))?))
}

/// Three significant digits and no needless noughts.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let places = (2.0 - value.abs().log10().floor()).max(0.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_their_file() {
        let key = |variant: &str, bytes| Key {
            ranks: 4,
            test: "bcast".into(),
            variant: variant.into(),
            bytes,
            unit: "us".into(),
        };
        let full = Line {
            key: key("warm", Some(8)),
            ours: Some(0.25),
            best: Some(1234.0),
            peer: "openmpi".into(),
            ratio: Some(0.5),
            interval: Some((0.4, 0.6)),
            floor: None,
            rounds: 15,
        };
        let bare =
            Line { key: key("", None), ours: None, ratio: None, interval: None, ..full.clone() };
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("here/group.csv");
        write(&file, "cargo it", "2 processors", &[full.clone(), bare.clone()]).expect("written");
        let (machine, lines) = read(&file).expect("read");
        assert_eq!((machine.as_str(), lines), ("2 processors", vec![full.clone(), bare]));
        assert_eq!(full.name(), "bcast warm 8 B");
    }

    #[test]
    fn the_number_of_ranks_stands_once() {
        let row = "bcast,,4,8,us,1,2,impi,0.50,0.40,0.60,,3";
        let mut line = Line::read(row).expect("a line");
        line.key.variant = "4-ranks".into();
        assert_eq!(line.written(), row);
    }

    #[test]
    fn figures_have_three_digits() {
        let told = [0.0, 0.0123, 0.5, 1.0, 12.34, 1234.5].map(significant);
        assert_eq!(told, ["0", "0.0123", "0.5", "1", "12.3", "1234"]);
    }
}
