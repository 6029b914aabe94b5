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

#[test]
fn no_type_does_everything() {
    let crates = DIRECTION.iter().map(|(dir, _)| (dir, types(dir)));
    complain(crates.flat_map(|(dir, types)| {
        let large = types.into_iter().filter(|(_, count)| *count > MOST);
        large.map(move |(name, count)| {
            format!("{dir}: {name} has {count} functions, at most {MOST}")
        })
    }));
}
