//! The tuning values of the engine inside a node: few, and in one file, each with a reason.
//!
//! Enters: constants that are numbers or times, of [`VALUES`] and of the engine's other files. Leaves: complaints. A
//! constant that names another one of [`VALUES`] follows from that and is no value of its own; one without a number on
//! its right side has only a name.

use std::collections::BTreeSet;
use std::fs;

use super::engine::{ENGINE, files, product};
use super::{complain, root};

/// Where they stand.
const VALUES: &str = "mpi-core/src/tuning.rs";
/// How many there may be.
const MOST: usize = 60;
/// What trades time or memory between processes of a node besides the engine.
const BESIDES: &[&str] = &[
    "mpi-core/src/buffer.rs",
    "mpi-core/src/credit.rs",
    "mpi-core/src/expected.rs",
    "mpi-core/src/messages",
    "mpi-core/src/p2p",
    "mpi-core/src/vci",
    "mpi-core/src/waiting.rs",
    "transports/src/node",
];
/// Files whose numbers are no tuning, and what they are: processes must agree on them.
const FORMATS: &[(&str, &str)] = &[
    ("mpi-core/src/collectives/node/open.rs", "fields of words that processes tell each other"),
    ("mpi-core/src/expected.rs", "bits of a header's words"),
    ("mpi-core/src/p2p/partitioned/channel.rs", "the context of a payload"),
    ("mpi-core/src/p2p/rendezvous.rs", "the version and the bytes of a payload"),
    ("transports/src/segment/layout.rs", "where what lies in a part"),
    ("transports/src/segment/stream/cells.rs", "what a cell holds"),
    ("transports/src/shm/arena/layout.rs", "where what lies in an arena"),
    ("transports/src/shm/arena/mod.rs", "the version of an arena"),
    ("transports/src/shm/attach/parting.rs", "the bytes of a setup message"),
    ("transports/src/shm/ring/exchange.rs", "a bit of an offset"),
    ("transports/src/shm/ring/lane/cell.rs", "what a cell holds, and how many a lane has"),
];
/// The types of numbers and times.
const TYPES: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64", "Duration",
];

/// A constant that is a number or a time.
#[derive(PartialEq, Debug)]
struct Constant<'a> {
    name: &'a str,
    right: &'a str,
    /// Whether a comment says what it is.
    is_told: bool,
}

impl Constant<'_> {
    /// Whether it names one of these.
    fn names(&self, others: &BTreeSet<&str>) -> bool {
        words(self.right).any(|word| others.contains(word))
    }

    /// Whether there is a number on its right side.
    fn has_number(&self) -> bool {
        words(self.right).any(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The constants of a file's product code.
fn constants(text: &str) -> Vec<Constant<'_>> {
    let (mut found, mut at, mut is_told) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        let declared = line.trim_start();
        let declared = match declared.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => {
                rest.split_once(") ").map_or(rest, |both| both.1)
            }
            Some(rest) => rest.trim_start(),
            None => declared,
        };
        if let Some((name, kind)) =
            declared.strip_prefix("const ").and_then(|rest| rest.split_once(": "))
            && let Some((kind, _)) = kind.split_once(" =")
            && TYPES.contains(&kind)
        {
            let right = text[at..].split_once('=').map_or("", |both| both.1);
            let right = right.split_once(";\n").map_or(right, |both| both.0).trim();
            found.push(Constant { name, right, is_told });
        }
        is_told = line.trim_start().starts_with("///");
        at += line.len();
    }
    found
}

#[test]
fn tuning_values_are_few_and_each_has_a_reason() {
    let text = fs::read_to_string(root().join(VALUES)).expect("the tuning values");
    let all = constants(&text);
    assert!(all.len() > 40, "{} constants found", all.len());
    let mut names: BTreeSet<&str> = all.iter().map(|constant| constant.name).collect();
    names.insert("PAGE");
    let own = all.iter().filter(|constant| !constant.names(&names)).count();
    let too_many = (own > MOST).then(|| format!("{VALUES}: {own} values, at most {MOST}"));
    let untold = all.iter().filter(|constant| !constant.is_told);
    let untold = untold.map(|constant| format!("{VALUES}: no reason for {}", constant.name));
    complain(untold.chain(too_many));
}

#[test]
fn tuning_values_stand_in_one_file() {
    let mut complaints = Vec::new();
    let mut formats: BTreeSet<&str> = FORMATS.iter().map(|(file, _)| *file).collect();
    for file in ENGINE.iter().chain(BESIDES).flat_map(|path| files(&root().join(path))) {
        let name = file.strip_prefix(root()).expect("below the root").display().to_string();
        let text = fs::read_to_string(&file).unwrap_or_default();
        let numbers = constants(product(&text)).into_iter().filter(Constant::has_number);
        let numbers: Vec<&str> = numbers.map(|constant| constant.name).collect();
        let is_format = FORMATS.iter().any(|(format, _)| *format == name);
        if is_format && !numbers.is_empty() {
            formats.remove(name.as_str());
        } else if name != VALUES {
            let told = numbers.iter().map(|number| format!("{name}: {number} belongs to {VALUES}"));
            complaints.extend(told);
        }
    }
    complaints.extend(formats.iter().map(|file| format!("{file}: has no numbers and is listed")));
    complain(complaints.into_iter());
}

#[test]
fn constants_are_read_as_they_are_written() {
    let text = "/// Bytes.\npub const A: usize = 4 << 10;\nconst B: u64 =\n    2 * A as u64;\n\
                pub(in crate::shm) const C: Duration = Duration::from_secs(1);\n\
                const D: &str = \"1\";\n    const E: u64 = u64::MAX;\n";
    let all = constants(text);
    let told: Vec<_> = all.iter().map(|it| (it.name, it.is_told, it.has_number())).collect();
    assert_eq!(
        told,
        [("A", true, true), ("B", false, true), ("C", false, true), ("E", false, false)]
    );
    assert!(all[1].names(&BTreeSet::from(["A"])) && !all[0].names(&BTreeSet::from(["A"])));
}
