//! The decisions: a page each in `docs/decisions`.
//!
//! Enters: the pages, their list, and everything that names a decision by its number. Leaves: complaints.
//! Pages are short and of one form, the list is that of the pages, and who names a decision names one that
//! there is.

use std::collections::BTreeSet;
use std::fs;

use super::{MAX_LINE, complain, root, sources};

/// Lines of a page.
const MAX_PAGE: usize = 40;
/// What each page says, each at the beginning of a line.
const PARTS: [&str; 3] = ["**Context.** ", "**Choice.**", "**Status.** "];
/// What people write who may name a decision.
const WRITTEN: [&str; 10] = ["rs", "toml", "md", "ld", "c", "h", "cpp", "f90", "F90", "sh"];

/// A page, by the name of its file.
struct Page {
    file: String,
    text: String,
}

impl Page {
    /// The number of its decision, as it is said: `43b` where the file has `043b`.
    fn number(&self) -> Option<&str> {
        let (padded, name) = self.file.strip_suffix(".md")?.split_once('-')?;
        let number = padded.trim_start_matches('0');
        let width = padded.trim_end_matches(|c: char| c.is_ascii_lowercase()).len();
        let is_plain =
            name.chars().all(|c| c == '-' || c.is_ascii_lowercase() || c.is_ascii_digit());
        (width == 3 && is_plain && is_number(number)).then_some(number)
    }

    /// What the list says of it: `* [43b. One engine makes datagrams reliable](043b-reliable-datagrams.md)`.
    fn listed(&self) -> String {
        let title = self.text.lines().next().unwrap_or_default().trim_start_matches("# ");
        format!("* [{title}]({})", self.file)
    }

    /// What is wrong with its form.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        match self.number() {
            None => faults.push("is not named as 043b-reliable-datagrams.md is".to_owned()),
            Some(number) if !self.text.starts_with(&format!("# {number}. ")) => {
                faults.push(format!("does not begin with `# {number}. ` and a title"));
            }
            Some(_) => {}
        }
        let lines = self.text.lines().count();
        if lines > MAX_PAGE {
            faults.push(format!("{lines} lines, at most {MAX_PAGE}"));
        }
        let lacks = |part: &&&str| !self.text.lines().any(|line| line.starts_with(**part));
        faults.extend(
            PARTS.iter().filter(lacks).map(|part| format!("has no line that begins with {part}")),
        );
        let too_long = self.text.lines().filter(|line| line.chars().count() > MAX_LINE);
        faults.extend(too_long.map(|line| format!("over {MAX_LINE} columns: {line}")));
        faults
    }
}

fn pages() -> Vec<Page> {
    let folder = root().join("docs/decisions");
    let files =
        fs::read_dir(&folder).expect("docs/decisions").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<Page> = files
        .map(|path| Page {
            file: path.file_name().expect("a name").to_string_lossy().into_owned(),
            text: fs::read_to_string(&path).expect("a page is UTF-8"),
        })
        .filter(|page| page.file != "README.md")
        .collect();
    pages.sort_by(|one, other| one.file.cmp(&other.file));
    assert!(pages.len() > 50, "{} pages", pages.len());
    pages
}

/// The numbers of all decisions.
fn numbers() -> Vec<String> {
    pages().iter().filter_map(|page| page.number().map(str::to_owned)).collect()
}

/// Digits, and perhaps one small letter: `7`, `43b`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(word);
    (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The numbers in all of `decision 43b`, `decisions 4, 5, 10 and 32` and `decisions 41 to 43a`, also where
/// a comment goes on in its next line.
fn named(text: &str) -> Vec<String> {
    let marks = |c: char| c.is_whitespace() || "/!*#".contains(c);
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches(marks)).collect();
    let text = lines.join(" ").to_ascii_lowercase();
    let mut numbers = Vec::new();
    for (at, word) in text.match_indices("decision") {
        let rest = &text[at + word.len()..];
        let mut rest = rest.strip_prefix('s').unwrap_or(rest);
        let mut joint = Some(" ");
        while let Some(behind) = joint.and_then(|joint| rest.strip_prefix(joint)) {
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
            if !is_number(&behind[..end]) {
                break;
            }
            numbers.push(behind[..end].to_owned());
            rest = &behind[end..];
            joint = [", and ", ", ", " and ", " to ", " or "]
                .into_iter()
                .find(|joint| rest.starts_with(joint));
        }
    }
    numbers
}

#[test]
fn pages_are_short_and_of_one_form() {
    let faults = |page: &Page| {
        let file = page.file.clone();
        page.faults().into_iter().map(move |fault| format!("docs/decisions/{file}: {fault}"))
    };
    complain(pages().iter().flat_map(faults));
}

#[test]
fn the_list_is_that_of_the_pages() {
    let list = fs::read_to_string(root().join("docs/decisions/README.md")).expect("the list");
    let listed: Vec<String> =
        list.lines().filter(|line| line.starts_with("* ")).map(str::to_owned).collect();
    let wanted: Vec<String> = pages().iter().map(Page::listed).collect();
    let lacking =
        wanted.iter().filter(|line| !listed.contains(line)).map(|line| format!("lacks {line}"));
    let foreign = listed.iter().filter(|line| !wanted.contains(line));
    let foreign = foreign.map(|line| format!("is of no page: {line}"));
    let mut seen = BTreeSet::new();
    let twice =
        listed.iter().filter(|line| !seen.insert(*line)).map(|line| format!("twice: {line}"));
    complain(
        lacking
            .chain(foreign)
            .chain(twice)
            .map(|fault| format!("docs/decisions/README.md: {fault}")),
    );
}

#[test]
fn decisions_have_a_number_each() {
    let mut seen = BTreeSet::new();
    complain(numbers().into_iter().filter_map(|number| {
        let fault = format!("two decisions have the number {number}");
        (!seen.insert(number)).then_some(fault)
    }));
}

#[test]
fn decisions_that_are_named_exist() {
    let known: BTreeSet<String> = numbers().into_iter().collect();
    let mut count = 0;
    let mut complaints = Vec::new();
    // Here stand examples.
    let files =
        sources(&WRITTEN).into_iter().filter(|file| !file.name.ends_with("tidy/decisions.rs"));
    for file in files {
        for number in named(&file.text) {
            count += 1;
            if !known.contains(&number) {
                complaints.push(format!("{}: there is no decision {number}", file.name));
            }
        }
    }
    complain(complaints.into_iter());
    assert!(count > 100, "{count} found");
}

#[test]
fn the_reader_of_numbers_reads_them() {
    let text = "Decision 43b says (decisions 4, 5,\n    //! 10 and 32), and the\n/// decision\n/// 7. Of decisions 41 \
                to 43a, 66 are decisions: 99, decision 1234, decision 5th.";
    let found = named(text);
    assert_eq!(found, ["43b", "4", "5", "10", "32", "7", "41", "43a", "66"]);
}
