//! The functions that `mpi-abi/hot.ld` names lie in the section that it makes of them, in the installed libraries: a
//! name that no function has any more would be passed over without a word.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};
use testsuite::prefix::{FACES, Prefix};

const SCRIPT: &str = include_str!("../../mpi-abi/hot.ld");

/// What the script takes, line by line: patterns of which one is to be found.
fn lines() -> Vec<Vec<&'static str>> {
    let patterns = |line: &'static str| {
        let inner = line.trim().strip_prefix("*(")?.strip_suffix(')')?;
        Some(inner.split(' ').map(|pattern| pattern.trim_start_matches(".text.")).collect())
    };
    SCRIPT.lines().filter_map(patterns).collect()
}

/// Whether a name has all parts of a pattern, between which there may be anything, one behind the other.
fn matches(pattern: &str, name: &str) -> bool {
    let mut rest = Some(name);
    for part in pattern.split('*') {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
    }
    rest.is_some() && (pattern.contains('*') || pattern == name)
}

/// The functions in the section for hot ones.
fn hot(library: &Path) -> BTreeSet<String> {
    let data = fs::read(library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let file = object::File::parse(&*data).expect("a shared library");
    let section = file.section_by_name(".text.hot").expect("a section for hot functions");
    let inside = section.address()..section.address() + section.size();
    file.symbols()
        .filter(|symbol| symbol.is_definition() && inside.contains(&symbol.address()))
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect()
}

#[test]
fn all_names_of_hot_functions_are_some_function_s() {
    let lines = lines();
    assert!(lines.len() > 50, "{} lines", lines.len());
    let prefix = Prefix::find().expect("a prefix");
    let names: BTreeSet<String> =
        FACES.iter().flat_map(|library| hot(&prefix.lib(library))).collect();
    let is_there = |line: &Vec<&str>| {
        line.iter().any(|pattern| names.iter().any(|name| matches(pattern, name)))
    };
    let idle: Vec<_> = lines.iter().filter(|line| !is_there(line)).collect();
    assert!(idle.is_empty(), "mpi-abi/hot.ld names what no library has: {idle:?}");
}

#[test]
fn each_library_has_its_collectives_among_the_hot_functions() {
    let prefix = Prefix::find().expect("a prefix");
    for library in FACES {
        let names = hot(&prefix.lib(library));
        for name in ["MPI_Barrier", "MPI_Bcast", "MPI_Allreduce", "MPI_Send", "MPI_Recv"] {
            assert!(names.contains(name), "{library}: {name}");
        }
    }
}

#[test]
fn a_pattern_s_parts_stand_in_order() {
    assert!(matches("*5entry*4poll*", "_ZN8mpi_core5entry5Entry4poll17h0E"));
    assert!(!matches("*4poll*5entry*", "_ZN8mpi_core5entry5Entry4poll17h0E"));
    assert!(matches("MPI_Send", "MPI_Send") && !matches("MPI_Send", "MPI_Send_c"));
}
