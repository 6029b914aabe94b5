//! What each face exports: exactly what the description says, and all that binaries of its family
//! may ask the peers' libraries for. With `-z now` one missing name is no start.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use mpi_api::Description;
use mpi_api::extra::Form;
use mpi_api::{exports, fortran};
use object::{Object, ObjectSection, ObjectSymbol};
use testsuite::peers;
use testsuite::prefix::{FACES, Prefix};

fn description() -> Description {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Description::read(&root).expect("the description")
}

/// The symbols that a library defines for others, with their sizes.
fn exported(library: &Path) -> BTreeMap<String, u64> {
    let data = fs::read(library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let file = object::File::parse(&*data).expect("a shared library");
    file.dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .map(|symbol| (symbol.name().expect("UTF-8").to_owned(), symbol.size()))
        .collect()
}

fn ours(library: &str) -> std::path::PathBuf {
    Prefix::find().expect("a prefix").lib(library)
}

/// Fails if there are any names, with the first of them.
fn none(what: &str, names: &[&str]) {
    let shown = &names[..names.len().min(12)];
    assert!(names.is_empty(), "{what}: {} names, {} …", names.len(), shown.join(" "));
}

/// Whether a name belongs to MPI rather than to what a library uses itself.
fn is_public(name: &str) -> bool {
    ["MPI_", "PMPI_", "MPIX_", "PMPIX_", "QMPI_"].iter().any(|start| name.starts_with(start))
}

fn check(face: &str, library: &str) {
    let description = description();
    let exported = exported(&ours(library));
    let mut expected: BTreeSet<String> =
        exports::names(&description.procedures, &description.extras, face).into_iter().collect();
    assert!(expected.len() > 1300, "{face} is described with {} functions", expected.len());
    expected.extend(fortran::entries::names(&description.procedures));
    if face == "mpich" {
        expected.extend(fortran::intel::symbols());
    }
    for extra in description.extras.iter().filter(|extra| extra.face == face) {
        expected.insert(extra.name.clone());
        if let Form::Data(size) = extra.form {
            let found = exported.get(&extra.name).copied();
            assert_eq!(found, Some(size), "{library}: size of {}", extra.name);
        }
    }
    let missing = expected.iter().filter(|name| !exported.contains_key(*name));
    none(&format!("{library} lacks"), &missing.map(String::as_str).collect::<Vec<_>>());
    let surplus = exported.keys().filter(|name| is_public(name) && !expected.contains(*name));
    let surplus: Vec<&str> = surplus.map(String::as_str).collect();
    none(&format!("{library} has what nobody described"), &surplus);
    let objects = exported.keys().filter(|name| name.starts_with("ompi_")).count();
    assert_eq!(objects > 0, face == "openmpi", "{library} has {objects} names ompi_*");
}

#[test]
fn the_standard_face_exports_what_is_described() {
    check("standard", "libmpi_abi.so.1");
}

#[test]
fn the_mpich_face_exports_what_is_described() {
    check("mpich", "libmpi.so.12");
}

#[test]
fn the_open_mpi_face_exports_what_is_described() {
    check("openmpi", "libmpi.so.40");
}

/// `PMPI_X` stands beside every `MPI_X`, and `MPI_X` can be taken over by a tool.
#[test]
fn every_procedure_has_its_profiling_twin() {
    for library in FACES {
        let exported = exported(&ours(library));
        let functions = exported.keys().filter(|name| name.starts_with("PMPI_"));
        let alone = functions.filter(|name| !exported.contains_key(&name[1..]));
        let alone: Vec<&str> = alone.map(String::as_str).collect();
        none(&format!("{library} has no MPI_ beside PMPI_"), &alone);
    }
}

/// Public names of a peer's library that ours lacks.
fn lacking(peer: &str, library: &str) {
    let theirs = peers::environment(peer).expect("the peer").join("lib").join(library);
    let ours = exported(&ours(library));
    let theirs = exported(&theirs);
    let lacking = theirs.keys().filter(|name| is_public(name) && !ours.contains_key(*name));
    let lacking: Vec<&str> = lacking.map(String::as_str).collect();
    none(&format!("{library} lacks what {peer} has"), &lacking);
}

#[test]
fn nothing_of_mpich_is_missing() {
    lacking("mpich", "libmpi.so.12");
    lacking("mpich", "libmpi_abi.so.1");
}

#[test]
fn nothing_of_intel_mpi_is_missing() {
    lacking("impi", "libmpi.so.12");
}

/// The names of Intel's Fortran modules as well, with the values of the handles; without those by which
/// they call each other.
#[test]
fn nothing_of_intel_mpi_s_fortran_is_missing() {
    let folder = peers::environment("impi").expect("the peer").join("lib");
    let (theirs, ours) = (folder.join("libmpifort.so.12"), ours("libmpi.so.12"));
    let exported = exported(&ours);
    let called = |name: &str| {
        let inside = name.contains('.') || name.contains("_proxy") || name.contains("c_interface");
        let starts = ["mpi", "pmpi", "MPI_", "PMPI_", "MPIX_", "PMPIX_"];
        starts.iter().any(|start| name.starts_with(start)) && !inside
    };
    let (wanted, here) = (constants(&theirs), constants(&ours));
    assert!(wanted.len() > 100, "{} constants", wanted.len());
    // Of a type that its compiler lacks it says so.
    let none_there = wanted["mpi_f08_compile_constants_mp_mpi_datatype_null_"];
    for (name, value) in wanted.iter().filter(|(_, value)| **value != none_there) {
        assert_eq!(here.get(name), Some(value), "{name}");
    }
    let theirs = self::exported(&theirs);
    let lacking = theirs.keys().filter(|name| called(name) && !exported.contains_key(*name));
    none("libmpi.so.12 lacks", &lacking.map(String::as_str).collect::<Vec<_>>());
}

/// The handles that the modules of Intel's compiler hold, by name.
fn constants(library: &Path) -> BTreeMap<String, [u8; 4]> {
    let data = fs::read(library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let file = object::File::parse(&*data).expect("a shared library");
    let constant = |symbol: object::Symbol<'_, '_>| {
        let name = symbol.name().ok()?;
        name.starts_with("mpi_f08_compile_constants_mp_").then_some(())?;
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        // One of zeros alone has no bytes in the file.
        let bytes = section.data_range(symbol.address(), 4).ok().flatten().unwrap_or(&[0; 4]);
        Some((name.to_owned(), bytes.try_into().ok()?))
    };
    file.dynamic_symbols().filter_map(constant).collect()
}

#[test]
fn nothing_of_open_mpi_is_missing() {
    lacking("openmpi", "libmpi.so.40");
}

/// Intel's binding for C++ starts on our library: the names of MPI's that it asks for are there.
#[test]
fn nothing_that_intel_mpi_s_binding_for_cxx_needs_is_missing() {
    let binding = peers::environment("impi").expect("the peer").join("lib/libmpicxx.so.12");
    let data = fs::read(&binding).expect("Intel's binding");
    let file = object::File::parse(&*data).expect("a shared library");
    let needed = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
    let needed: Vec<&str> = needed
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| is_public(name) || name.starts_with("MPII_"))
        .collect();
    assert!(needed.len() > 200, "{} names", needed.len());
    let ours = exported(&ours("libmpi.so.12"));
    let lacking: Vec<&str> = needed.into_iter().filter(|name| !ours.contains_key(*name)).collect();
    none("libmpi.so.12 lacks", &lacking);
}
