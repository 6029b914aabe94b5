//! Programs built by the peers' `mpicc`, run on our faces: handles and statuses from both sides,
//! with and without copied objects, and two faces in one process.

use object::{Object, ObjectSymbol};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testsuite::families::{self, Family, MPICH, OPEN_MPI};
use testsuite::prefix::{self, Prefix};

const POSITION_INDEPENDENT: &[&str] = &["-fPIE", "-pie"];
const FIXED: &[&str] = &["-fno-pie", "-no-pie"];
/// Forbids the compiler to refer to foreign data directly, so that nothing is copied.
const THROUGH_TABLE: &[&str] = &["-fPIC", "-pie"];

fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faces");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn handles(family: &Family, flags: &[&str], name: &str) -> PathBuf {
    let program = place(name);
    family.compile(&families::source("handles.c"), &program, flags).unwrap();
    assert_eq!(family.run_on_ours(&program, &[]).unwrap(), "ok\n");
    program
}

/// Whether the executable has a copy of a library's object.
fn copies(program: &Path, object: &str) -> bool {
    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.dynamic_symbols().any(|symbol| symbol.name() == Ok(object) && symbol.is_definition())
}

#[test]
fn mpich_handles() {
    handles(&MPICH, POSITION_INDEPENDENT, "handles_mpich_pie");
    handles(&MPICH, FIXED, "handles_mpich_fixed");
}

#[test]
fn open_mpi_handles_copied_into_the_program() {
    for (flags, name) in
        [(FIXED, "handles_openmpi_fixed"), (POSITION_INDEPENDENT, "handles_openmpi_pie")]
    {
        let program = handles(&OPEN_MPI, flags, name);
        assert!(copies(&program, "ompi_mpi_comm_world"), "{name} tests what it is meant to");
    }
}

#[test]
fn open_mpi_handles_left_in_the_library() {
    let program = handles(&OPEN_MPI, THROUGH_TABLE, "handles_openmpi_pic");
    assert!(!copies(&program, "ompi_mpi_comm_world"));
}

/// Runs `two.c` on two of our faces.
fn two(first: (&str, &str), second: (&str, &str), initialised: &str) -> Output {
    let program = place(&format!("two_{initialised}_{}_{}", first.1, second.1));
    let compiled = Command::new("cc")
        .arg(families::source("two.c"))
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(compiled.success());
    let prefix = Prefix::find().unwrap();
    prefix::clean(&program)
        .arg(prefix.lib(first.0))
        .arg(first.1)
        .arg(prefix.lib(second.0))
        .arg(second.1)
        .arg(initialised)
        .output()
        .unwrap()
}

fn assert_refused(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    for word in ["two MPI libraries", "libmpi.so.12", "libmpi.so.40", "MPI_Init"] {
        assert!(said.contains(word), "no {word} in: {said}");
    }
}

#[test]
fn two_faces_that_programs_could_mix_up_are_refused() {
    assert_refused(&two(("libmpi.so.12", "global"), ("libmpi.so.40", "global"), "first"));
}

#[test]
fn a_second_face_that_is_initialised_is_refused() {
    assert_refused(&two(("libmpi.so.12", "local"), ("libmpi.so.40", "local"), "both"));
}

#[test]
fn a_second_face_that_nobody_uses_does_no_harm() {
    for initialised in ["first", "second"] {
        let output = two(("libmpi.so.12", "local"), ("libmpi.so.40", "local"), initialised);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
    }
}
