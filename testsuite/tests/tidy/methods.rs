//! No type does everything: one with too many methods is a folder of functions that all may touch all of its fields,
//! and is split by what owns what.
//!
//! Enters: the product's crates. Leaves: for each type the functions of its own `impl` blocks, in whichever files they
//! stand; a type with too many fails. Those of traits are apart, as are tests. Not seen is what macros and the build
//! generate. Types of one name in one crate count as one.

use std::collections::BTreeMap;

use super::names::{Modules, Place, read};
use super::{DIRECTION, complain, root};

/// How many functions a type may have of its own.
const MOST: usize = 60;
/// The types that still have more, by their crates, and how many they have: it may only shrink.
const LEFT: &[(&str, &str, usize)] = &[
    ("mpi-core", "Entry", 168),
    ("mpi-core", "Process", 81),
    ("transports", "Rdma", 97),
    ("transports", "Shm", 118),
    ("transports", "Tcp", 88),
];

/// The types of a crate, each with its number of functions.
fn types(dir: &str) -> BTreeMap<String, usize> {
    let src = root().join(dir).join("src");
    let mut types = BTreeMap::new();
    for begin in ["lib.rs", "main.rs"].map(|name| src.join(name)) {
        let mut modules = Modules::new();
        if begin.exists() {
            read(&begin, &src, Place::new(), &mut modules);
        }
        for (name, count) in modules.into_values().flat_map(|module| module.methods) {
            *types.entry(name).or_insert(0) += count;
        }
    }
    types
}

/// What is wrong with these types of a crate.
fn complaints(dir: &str, types: &BTreeMap<String, usize>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, &count) in types {
        let left = LEFT.iter().find(|(of, left, _)| *of == dir && left == name);
        match left.map(|(.., left)| *left) {
            None if count > MOST => {
                complaints.push(format!("{dir}: {name} has {count} functions, at most {MOST}"));
            }
            Some(_) if count <= MOST => {
                complaints.push(format!("{dir}: {name} has {count} functions and is listed"));
            }
            Some(left) if count != left => {
                complaints.push(format!("{dir}: {name} has {count} functions, listed are {left}"));
            }
            _ => {}
        }
    }
    complaints
}

#[test]
fn no_type_does_everything() {
    let mut all = Vec::new();
    for (dir, _) in DIRECTION {
        let types = types(dir);
        all.extend(complaints(dir, &types));
        let gone = LEFT.iter().filter(|(of, name, _)| of == dir && !types.contains_key(*name));
        all.extend(gone.map(|(_, name, _)| format!("{dir}: {name} is listed and has none")));
    }
    complain(all.into_iter());
}
