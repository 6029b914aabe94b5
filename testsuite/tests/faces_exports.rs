//! Every name that a program of a family may import is exported, and data has the peer's size: an
//! executable copies it (decisions 1 to 4). With `-z now` one missing name is no start.

use anyhow::{Context, Result};
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use testsuite::families::{Family, MPICH, OPEN_MPI};
use testsuite::peers;
use testsuite::prefix::Prefix;

/// What a library defines for others: kind and size by name.
type Exports = BTreeMap<String, (SymbolKind, u64)>;

fn exports(library: &Path) -> Result<Exports> {
    let bytes = fs::read(library).with_context(|| format!("cannot read {}", library.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| library.display().to_string())?;
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    Ok(defined
        .filter_map(|symbol| {
            Some((symbol.name().ok()?.to_string(), (symbol.kind(), symbol.size())))
        })
        .collect())
}

/// Names of the interface, as against the insides of a library.
fn is_interface(name: &str) -> bool {
    let plain = name.strip_prefix('P').unwrap_or(name);
    ["MPI_", "MPIX_", "QMPI_", "OMPI_C_", "mpi_fortran_", "MPIR_Dup_fn"]
        .iter()
        .any(|prefix| plain.starts_with(prefix) || name.starts_with(prefix))
}

fn compare(library: &str, peer: &Path) {
    let ours = exports(&Prefix::find().unwrap().lib(library)).unwrap();
    let theirs = exports(peer).unwrap();
    let mut complaints = Vec::new();
    let mut compared = 0;
    for (name, (kind, size)) in &theirs {
        match ours.get(name) {
            None if is_interface(name) => complaints.push(format!("{name} is missing")),
            Some((SymbolKind::Data, our_size)) if *kind == SymbolKind::Data => {
                compared += 1;
                if our_size != size {
                    complaints.push(format!("{name} has {our_size} bytes, not {size}"));
                }
            }
            _ => {}
        }
    }
    assert!(complaints.is_empty(), "{}:\n{}", peer.display(), complaints.join("\n"));
    assert!(compared > 0, "there is data to compare");
}

#[test]
fn mpich_names() {
    compare(MPICH.library, &MPICH.peer_library().unwrap());
}

#[test]
fn intel_mpi_names() {
    let intel = peers::environment("impi").unwrap().join("lib").join(MPICH.library);
    compare(MPICH.library, &intel);
}

#[test]
fn open_mpi_names() {
    compare(OPEN_MPI.library, &OPEN_MPI.peer_library().unwrap());
}

/// mpi4py and others tell the families apart by Open MPI's objects.
#[test]
fn only_the_open_mpi_face_has_its_objects() {
    let prefix = Prefix::find().unwrap();
    let count = |library: &str| {
        let names = exports(&prefix.lib(library)).unwrap();
        names.keys().filter(|name| name.starts_with("ompi_")).count()
    };
    assert_eq!(count(MPICH.library), 0);
    assert_eq!(count("libmpi_abi.so.1"), 0);
    assert!(count(OPEN_MPI.library) > 150);
}

/// Each procedure can be intercepted: `MPI_X` beside `PMPI_X`, at different addresses.
#[test]
fn every_procedure_has_its_profiling_twin() {
    for Family { library, .. } in [MPICH, OPEN_MPI] {
        let names = exports(&Prefix::find().unwrap().lib(library)).unwrap();
        let procedures = names.iter().filter(|(name, (kind, _))| {
            *kind == SymbolKind::Text && name.starts_with("MPI_") && !name.ends_with("_FN")
        });
        let lonely: Vec<&String> = procedures
            .map(|(name, _)| name)
            .filter(|name| {
                let is_upper = name.chars().all(|c| !c.is_lowercase());
                !is_upper && !names.contains_key(&format!("P{name}"))
            })
            .collect();
        assert!(lonely.is_empty(), "{library}: {lonely:?}");
    }
}
