//! The map of folders in `docs/architecture.md`: a map of what there was, or was to be, leads astray.
//!
//! Enters: paths in code spans that end with `/`, in the section "The folders". Leaves: folders that are named and not
//! there, and folders of sources that are there and not named.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{DIRECTION, MAX_LINE, complain, root};

const MAX_PAGE: usize = 250;
/// How deep below `src/` folders have to be named.
const DEPTH: usize = 2;

/// The folders that a section names.
fn named(page: &str, section: &str) -> BTreeSet<String> {
    let lines = page.lines().skip_while(|line| *line != section).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    let text = lines.join("\n");
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter_map(|span| span.strip_suffix('/')).map(str::to_owned).collect()
}

/// Adds the folders below one that are no tests, so many levels deep.
fn add(folder: &Path, depth: usize, found: &mut BTreeSet<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
    for path in folders.filter(|path| depth > 0 && !path.ends_with("tests")) {
        found.insert(path.strip_prefix(root()).expect("below the root").display().to_string());
        add(&path, depth - 1, found);
    }
}

#[test]
fn the_map_of_folders_is_that_of_the_tree() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let named = named(&page, "## The folders");
    let mut there = BTreeSet::new();
    for (of, _) in DIRECTION {
        add(&root().join(of).join("src"), DEPTH, &mut there);
    }
    assert!(there.len() > 30, "{} folders found", there.len());
    let gone = named.iter().filter(|folder| !root().join(folder).is_dir());
    let gone = gone.map(|folder| format!("{folder}/ is named and is not there"));
    let unnamed = there.difference(&named).map(|folder| format!("{folder}/ is not named"));
    let long = page.lines().filter(|line| line.chars().count() > MAX_LINE);
    let long = long.map(|line| format!("over {MAX_LINE} columns: {line}"));
    let lines = page.lines().count();
    let too_many = (lines > MAX_PAGE).then(|| format!("{lines} lines, at most {MAX_PAGE}"));
    let faults = gone.chain(unnamed).chain(long).chain(too_many);
    complain(faults.map(|fault| format!("docs/architecture.md: {fault}")));
}

#[test]
fn folders_are_named_by_code_spans_of_the_section() {
    let page = "`a/`\n## Map\n* `b/`, `b/c/`: what `d.rs` has,\n  `e/`\n## Behind\n`f/`\n";
    let names: Vec<String> = named(page, "## Map").into_iter().collect();
    assert_eq!(names, ["b", "b/c", "e"]);
}
