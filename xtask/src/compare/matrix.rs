//! Many rows on a page: the failing ones in full, all of them as a matrix of ratios for each
//! number of ranks, a line for each test and a column for each size.
//!
//! Enters: judged rows. Leaves: text in Markdown, from which no row is missing.

use super::report::{Row, judged_rows, table, to_the_front};
use super::samples::{self, Sample};
use super::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What came out of these samples, and how the times compare, on a page.
pub(crate) fn page(samples: &[Sample]) -> String {
    let (names, mut rows) = judged_rows(samples);
    let failed = to_the_front(&mut rows);
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let (better, holds) = (count(Verdict::Better), count(Verdict::Holds));
    let mut text =
        format!("{} rows: {better} better, {holds} no worse, {failed} worse.\n\n", rows.len());
    if failed > 0 {
        text += &table(&names, &rows[..failed]);
        text.push('\n');
    }
    let ranks: BTreeSet<u32> = rows.iter().map(|row| row.key.ranks).collect();
    for ranks in ranks {
        let mine: Vec<&Row> = rows.iter().filter(|row| row.key.ranks == ranks).collect();
        let _ = writeln!(text, "Our time over the best peer's, {ranks} ranks (bold: worse):\n");
        write_matrix(&mut text, &mine);
    }
    text
}

/// The ratios of one number of ranks.
fn write_matrix(text: &mut String, rows: &[&Row]) {
    let sizes: BTreeSet<Option<u64>> = rows.iter().map(|row| row.key.bytes).collect();
    let mut tests: BTreeMap<&str, BTreeMap<Option<u64>, String>> = BTreeMap::new();
    for row in rows {
        tests.entry(&row.key.test).or_default().insert(row.key.bytes, cell(row));
    }
    let heads = sizes.iter().map(|size| size.map_or("–".into(), samples::size));
    let _ = writeln!(text, "| | {} |", heads.collect::<Vec<_>>().join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(sizes.len()));
    for (test, cells) in tests {
        let line: Vec<&str> =
            sizes.iter().map(|size| cells.get(size).map_or("", String::as_str)).collect();
        let _ = writeln!(text, "| {test} | {} |", line.join(" | "));
    }
    text.push('\n');
}

/// The ratio of a row.
fn cell(row: &Row) -> String {
    match (&row.best, row.verdict) {
        (Some((_, estimate)), Verdict::Fails) => format!("**{:.2}**", estimate.r),
        (Some((_, estimate)), _) => format!("{:.2}", estimate.r),
        (None, Verdict::Fails) => "**failed**".into(),
        (None, _) => "alone".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Key;
    use super::*;

    #[test]
    fn every_row_is_on_the_page_and_the_worse_stand_out() {
        let sample = |library: &str, test: &str, bytes, value| {
            let (variant, unit) = ("4-ranks".into(), "us".into());
            let key = Key { ranks: 4, test: test.into(), variant, bytes, unit };
            Sample { round: 0, library: library.into(), key, value }
        };
        let text = page(&[
            sample("ours", "bcast", Some(4), 1.0),
            sample("other", "bcast", Some(4), 2.0),
            sample("ours", "bcast", Some(1024), 3.0),
            sample("other", "bcast", Some(1024), 2.0),
            sample("ours", "barrier", None, 1.0),
            sample("other", "barrier", None, 1.0),
            sample("other", "scan", None, 1.0),
        ]);
        assert!(text.starts_with("4 rows: 1 better, 1 no worse, 2 worse.\n"), "{text}");
        assert!(text.contains("| | – | 4 B | 1 KiB |\n"), "{text}");
        assert!(text.contains("| barrier | 1.00 |  |  |\n"), "{text}");
        assert!(text.contains("| bcast |  | 0.50 | **1.50** |\n"), "{text}");
        assert!(text.contains("| scan | **failed** |  |  |\n"), "{text}");
        assert!(
            text.contains("| bcast 4-ranks 1 KiB | us | 3.00 | 2.00 | 1.50 of other"),
            "{text}"
        );
    }
}
