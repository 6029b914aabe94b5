//! Parallel HDF5, as Debian builds it for MPICH and for Open MPI, on our faces: four ranks write a
//! file, and serial HDF5 reads it. Where these packages are not installed, nor unpacked below one
//! of the folders in `HDF5_ROOTS` (with colons between them), the tests count as skipped.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testsuite::families::{self, Family, MPICH, OPEN_MPI};
use testsuite::hosts::skipped;
use testsuite::prefix::Prefix;

const RANKS: usize = 4;
/// What the program gives each rank.
const ROWS: usize = 3;
const COLUMNS: usize = 7;

/// The folders below which packages are unpacked.
fn roots() -> Vec<PathBuf> {
    let named = env::var_os("HDF5_ROOTS").unwrap_or_else(|| "/".into());
    env::split_paths(&named).collect()
}

/// The first root that has `file`, and the file there.
fn find(file: &str) -> Option<PathBuf> {
    roots().into_iter().map(|root| root.join(file)).find(|path| path.exists())
}

fn library_folder() -> String {
    format!("usr/lib/{}-linux-gnu", env::consts::ARCH)
}

/// The folders with libraries of all roots, for what is loaded from them.
fn loader_path() -> String {
    let folders = roots().into_iter().map(|root| root.join(library_folder()));
    folders.map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":")
}

fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// What serial HDF5 finds in an array of the file.
fn read(h5dump: &Path, file: &Path, array: &str) -> Vec<i64> {
    let mut command = Command::new(h5dump);
    command.args(["-d", array, "-y", "-w", "1"]).arg(file).env("LD_LIBRARY_PATH", loader_path());
    let text = said(&mut command);
    let (_, data) = text.split_once("DATA {").expect("an array has data");
    let (data, _) = data.split_once('}').expect("and an end of them");
    data.split(',').map(|number| number.trim().parse().expect("a number")).collect()
}

/// Debian calls the flavour of HDF5 for a family by `flavour`.
fn written_in_parallel_read_serially(family: &Family, flavour: &str, test: &str) {
    let header = find(&format!("usr/include/hdf5/{flavour}/hdf5.h"));
    let library = find(&format!("{}/libhdf5_{flavour}.so", library_folder()));
    let h5dump = find("usr/bin/h5dump");
    let (Some(header), Some(library), Some(h5dump)) = (header, library, h5dump) else {
        let why = format!("there is no libhdf5-{flavour}-dev, or no hdf5-tools");
        return skipped(test, &why).expect("it is counted");
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hdf5");
    fs::create_dir_all(&folder).unwrap();
    let (program, file) = (folder.join(flavour), folder.join(format!("{flavour}.h5")));
    let include = format!("-I{}", header.parent().unwrap().display());
    let library = library.display().to_string();
    let flags = [include.as_str(), "-Wl,--allow-shlib-undefined"];
    let source = families::source("hdf5.c");
    family.compile_with(&source, &program, &flags, &[&library]).unwrap();
    let mut command = Prefix::find().unwrap().command("mpirun");
    command.args(["-n", &RANKS.to_string()]).arg(&program).arg(&file);
    assert_eq!(said(command.env("LD_LIBRARY_PATH", loader_path())), "ok\n");
    let rows = 0..(RANKS * ROWS) as i64;
    let expected: Vec<i64> =
        rows.flat_map(|row| (0..COLUMNS as i64).map(move |column| 100 * row + column)).collect();
    for array in ["alone", "together"] {
        assert_eq!(read(&h5dump, &file, array), expected, "{array}");
    }
}

#[test]
fn on_the_mpich_face() {
    written_in_parallel_read_serially(&MPICH, "mpich", "on_the_mpich_face");
}

#[test]
fn on_the_open_mpi_face() {
    written_in_parallel_read_serially(&OPEN_MPI, "openmpi", "on_the_open_mpi_face");
}
