//! Samples: what one run of one library said about one row.
//!
//! Enters: the output of the programs, and of Intel's. Leaves: keys and values, and a file of
//! lines from which every table can be made again.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

/// Which row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    /// The number of ranks.
    pub(crate) ranks: u32,
    /// The test, such as `latency`.
    pub(crate) test: String,
    /// Which form of it, such as `warm`.
    pub(crate) variant: String,
    /// The size of a message, where it means something.
    pub(crate) bytes: Option<u64>,
    /// The unit, which also says whether more is better.
    pub(crate) unit: String,
}

impl Key {
    /// Whether larger values are better.
    pub(crate) fn more_is_better(&self) -> bool {
        self.unit.ends_with("/s")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.test, self.variant)?;
        match self.bytes {
            Some(bytes) => write!(f, " {}", size(bytes)),
            None => Ok(()),
        }
    }
}

/// A size as a person writes it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sample {
    pub(crate) round: usize,
    pub(crate) library: String,
    pub(crate) key: Key,
    pub(crate) value: f64,
}

/// The rows in a program's output.
pub(crate) fn printed(ranks: u32, text: &str) -> Vec<(Key, f64)> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["row", test, variant, bytes, value, unit] = words[..] else { return None };
        let bytes = match bytes {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        let (test, variant, unit) = (test.into(), variant.into(), unit.into());
        Some((Key { ranks, test, variant, bytes, unit }, value.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

/// The rows in the output of IMB-MPI1: under each "Benchmarking NAME" a line with the names of the
/// columns and lines of numbers. The average over the ranks is taken
/// where there are several times, and of a nonblocking one the time without a computation
/// meanwhile.
pub(crate) fn imb(ranks: u32, text: &str) -> Vec<(Key, f64)> {
    let (mut test, mut columns, mut rows) = (String::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(at) = words.iter().position(|word| *word == "Benchmarking") {
            test = words.get(at + 1).copied().unwrap_or_default().to_lowercase();
        } else if words.contains(&"#repetitions") {
            columns.clone_from(&words);
        } else if line.trim_start().starts_with('#') {
            // A heading, of as many words perhaps as a row.
        } else if !words.is_empty() && words.len() == columns.len() {
            let cell = |name| columns.iter().position(|column| *column == name).map(|i| words[i]);
            let times = ["t_avg[usec]", "t[usec]", "t_pure[usec]"];
            let time = times.into_iter().find_map(cell);
            let value = time.and_then(|word| word.parse().ok());
            let bytes = cell("#bytes").and_then(|word| word.parse().ok());
            if let Some(value) = value {
                let (test, variant, unit) = (test.clone(), "IMB".into(), "us".into());
                rows.push((Key { ranks, test, variant, bytes, unit }, value));
            }
        }
    }
    rows
}

/// Writes samples, one a line.
pub(crate) fn write(file: &Path, samples: &[Sample]) -> Result<()> {
    let mut text = String::new();
    for Sample { round, library, key, value } in samples {
        let bytes = key.bytes.map_or("-".into(), |bytes| bytes.to_string());
        let Key { ranks, test, variant, unit, .. } = key;
        text += &format!("{round} {library} {ranks} {test} {variant} {bytes} {value} {unit}\n");
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Reads what `write` wrote; a file that is not there holds nothing.
pub(crate) fn read(file: &Path) -> Vec<Sample> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let sample = |line: &str| {
        let [round, library, ranks, rest] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let (key, value) = printed(ranks.parse().ok()?, &format!("row {rest}")).pop()?;
        Some(Sample { round: round.parse().ok()?, library: library.into(), key, value })
    };
    text.lines().filter_map(sample).collect()
}

/// For each row and library, the values by round.
pub(crate) fn by_row(samples: &[Sample]) -> BTreeMap<Key, BTreeMap<String, BTreeMap<usize, f64>>> {
    let mut rows: BTreeMap<_, BTreeMap<_, BTreeMap<_, _>>> = BTreeMap::new();
    for Sample { round, library, key, value } in samples {
        let libraries = rows.entry(key.clone()).or_default();
        libraries.entry(library.clone()).or_default().insert(*round, *value);
    }
    rows
}

/// The most rounds in which a row was measured: rounds that were added to others may be of other rows.
pub(crate) fn rounds(samples: &[Sample]) -> usize {
    let rows = by_row(samples);
    rows.values().flat_map(BTreeMap::values).map(BTreeMap::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_rows_are_read() {
        let text =
            "# hello\nrow latency warm 8 0.25 us\nrow barrier 2-ranks - 3 us\nrow broken 8\n";
        let rows = printed(2, text);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].0.bytes, rows[0].1), (Some(8), 0.25));
        assert_eq!((rows[1].0.bytes, rows[1].1), (None, 3.0));
    }

    #[test]
    fn tables_of_intels_benchmarks_are_read() {
        let text = "# Benchmarking Bcast \n# #processes = 2 \n#----\n \
            #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n \
            8  1000  0.10  0.30  0.20\n\n# Benchmarking Ibcast \n \
            #bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec] overlap[%]\n \
            8  1000  0.9  0.4  0.8  10\n\n# Benchmarking Barrier\n \
            #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 1000 1 3 2\n\n#---\n \
            # #processes = 2\n";
        let rows = imb(2, text);
        let told: Vec<_> =
            rows.iter().map(|(key, time)| (key.test.as_str(), key.bytes, *time)).collect();
        assert_eq!(
            told,
            [("bcast", Some(8), 0.2), ("ibcast", Some(8), 0.4), ("barrier", None, 2.0)]
        );
    }

    #[test]
    fn rounds_are_those_of_the_row_that_has_most() {
        let sample = |round, ranks| Sample {
            round,
            library: "ours".into(),
            key: Key {
                ranks,
                test: "bcast".into(),
                variant: String::new(),
                bytes: None,
                unit: "us".into(),
            },
            value: 1.0,
        };
        let samples = [(0, 2), (1, 2), (2, 4), (3, 4), (4, 4), (5, 8)];
        assert_eq!(rounds(&samples.map(|(round, ranks)| sample(round, ranks))), 3);
        assert_eq!(rounds(&[]), 0);
    }

    #[test]
    fn samples_survive_their_file() {
        let key = |bytes| Key {
            ranks: 4,
            test: "bcast".into(),
            variant: "4-ranks".into(),
            bytes,
            unit: "us".into(),
        };
        let sample =
            |round, bytes| Sample { round, library: "ours".into(), key: key(bytes), value: 1.5 };
        let samples = [sample(0, Some(8)), sample(7, None)];
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("samples");
        write(&file, &samples).expect("written");
        assert_eq!(read(&file), samples);
    }
}
