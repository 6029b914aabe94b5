//! The page of measurements is short: long tables are files of results, and pages in `docs/lab/`.

use super::{complain, root};
use std::fs;

const MAX_PAGE: usize = 150;

#[test]
fn measurements_are_told_briefly() {
    let mut pages = vec![root().join("docs/performance.md")];
    let lab = fs::read_dir(root().join("docs/lab")).expect("docs/lab");
    pages.extend(lab.map(|entry| entry.expect("an entry").path()));
    complain(pages.into_iter().filter_map(|page| {
        let lines = fs::read_to_string(&page).expect("a page is UTF-8").lines().count();
        let shown = page.strip_prefix(root()).expect("below the root").display();
        (lines > MAX_PAGE).then(|| format!("{shown}: {lines} lines, at most {MAX_PAGE}"))
    }));
}
