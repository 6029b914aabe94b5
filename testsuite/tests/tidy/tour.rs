//! The tour, `docs/tour.md`: it is of use only as long as what it points at is there.
//!
//! Enters: words in code spans. A path, and a function, `name()` or `name!`, of the Rust file that was named last
//! before it in the same paragraph. Leaves: what is not there.

use std::fs;

use super::{MAX_LINE, complain, root};

const MAX_PAGE: usize = 120;

/// Whether Rust code declares a function or macro.
fn declares(text: &str, name: &str) -> bool {
    let forms = ["(", "<"].map(|behind| format!("fn {name}{behind}"));
    forms.iter().any(|form| text.contains(form)) || text.contains(&format!("macro_rules! {name} "))
}

/// What a paragraph names that is not there, and how many functions it names.
fn missing(paragraph: &str) -> (Vec<String>, usize) {
    let (mut text, mut faults, mut functions) = (String::new(), Vec::new(), 0);
    for word in paragraph.split('`').skip(1).step_by(2) {
        if word.contains('/') {
            match root().join(word) {
                path if !path.exists() => faults.push(format!("there is no {word}")),
                path if word.ends_with(".rs") => {
                    text = fs::read_to_string(path).expect("a source file is UTF-8");
                }
                _ => {}
            }
        } else if let Some(name) = word.strip_suffix("()").or_else(|| word.strip_suffix('!')) {
            functions += 1;
            if !declares(&text, name) {
                faults.push(format!("{word} is not in the file that is named before it"));
            }
        }
    }
    (faults, functions)
}

/// The paragraphs of a page, and the items of its lists.
fn paragraphs(page: &str) -> Vec<String> {
    let begins = |line: &str| {
        let mark = line.split(' ').next().unwrap_or_default();
        line.is_empty()
            || mark == "*"
            || mark.strip_suffix('.').is_some_and(|n| n.parse::<u8>().is_ok())
    };
    let mut paragraphs = vec![String::new()];
    for line in page.lines() {
        if begins(line) {
            paragraphs.push(String::new());
        }
        if let Some(last) = paragraphs.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    paragraphs
}

#[test]
fn the_tour_leads_past_what_is_there() {
    let page = fs::read_to_string(root().join("docs/tour.md")).expect("the tour");
    let mut functions = 0;
    let mut faults = Vec::new();
    for paragraph in paragraphs(&page) {
        let (missing, count) = missing(&paragraph);
        functions += count;
        faults.extend(missing);
    }
    let lines = page.lines().count();
    if lines > MAX_PAGE {
        faults.push(format!("{lines} lines, at most {MAX_PAGE}"));
    }
    let long = page.lines().filter(|line| line.chars().count() > MAX_LINE);
    faults.extend(long.map(|line| format!("over {MAX_LINE} columns: {line}")));
    complain(faults.into_iter().map(|fault| format!("docs/tour.md: {fault}")));
    assert!(functions > 50, "{functions} found");
}

#[test]
fn what_the_tour_names_in_vain_is_seen() {
    let (faults, functions) = missing(
        "In `testsuite/tests/tidy/tour.rs`: `missing()` and `gone()`, `twins!`, in `testsuite/gone.rs`.",
    );
    assert_eq!((faults.len(), functions), (3, 3), "{faults:?}");
}
