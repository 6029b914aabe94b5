//! Our `mpi.h` against the `mpi_abi.h` of MPICH (decision 7): a C program that prints
//! every value, size and offset is compiled with each, and every prototype of ours is declared
//! again behind each of theirs. The header is also compiled as strictly as compilers can.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_api::abi_values::Constants;
use tempfile::TempDir;
use testsuite::peers;

fn header() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../include")
}

fn theirs() -> PathBuf {
    peers::environment("mpich").expect("the peer").join("include")
}

/// Runs the compiler and returns what it complained about; nothing means success.
fn compile(compiler: &str, arguments: &[&str], source: &Path, to: &Path) -> String {
    let output = Command::new(compiler)
        .args(arguments)
        .arg(source)
        .arg("-o")
        .arg(to)
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || !said.is_empty(), "{compiler} failed without a word");
    said
}

/// Names of values that `mpi.h` defines by `#define` or in an enumeration, from constants to
/// functions; a macro with arguments is none.
fn constants() -> BTreeSet<String> {
    let text = fs::read_to_string(header().join("mpi.h")).expect("include/mpi.h");
    let mut names = BTreeSet::new();
    for line in text.lines() {
        let name = match line.strip_prefix("#define ") {
            Some(rest) => rest.split(' ').next().filter(|name| !name.contains('(')),
            None if line.contains(" = ") => line.trim_start().split(' ').next(),
            None => None,
        };
        names.extend(name.filter(|name| name.starts_with("MPI_")).map(str::to_owned));
    }
    names
}

/// A program that prints what a compiler makes of a header.
fn probe(header: &str, names: &BTreeSet<String>) -> String {
    let mut text = format!(
        "#include <{header}>\n#include <stddef.h>\n#include <stdio.h>\n\
         #define VALUE(x) printf(#x \" %lld size %zu\\n\", (long long)(intptr_t)(x), sizeof(x))\n\
         #define SIZE(x) printf(\"sizeof \" #x \" %zu\\n\", sizeof(x))\n\
         #define FIELD(x) printf(\"offset \" #x \" %zu\\n\", offsetof(MPI_Status, x))\n\
         int main(void) {{\n"
    );
    for name in names {
        let _ = writeln!(text, "VALUE({name});");
    }
    for handle in mpi_api::kind::HANDLES {
        let _ = writeln!(text, "SIZE({});", handle.c);
    }
    for size in [
        "MPI_Status",
        "MPI_Aint",
        "MPI_Count",
        "MPI_Offset",
        "MPI_T_enum",
        "MPI_T_cvar_handle",
        "MPI_T_pvar_handle",
        "MPI_T_pvar_session",
        "MPI_T_event_registration",
        "MPI_T_event_instance",
        "MPI_T_cb_safety",
        "MPI_T_source_order",
        // Names of MPI-2 for the types of error handlers' functions.
        "MPI_Comm_errhandler_fn *",
        "MPI_File_errhandler_fn *",
        "MPI_Win_errhandler_fn *",
        "MPI_Session_errhandler_fn *",
    ] {
        let _ = writeln!(text, "SIZE({size});");
    }
    for field in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR"] {
        let _ = writeln!(text, "FIELD({field});");
    }
    text.push_str("return 0;\n}\n");
    text
}

fn answers(folder: &Path, name: &str, include: &Path, names: &BTreeSet<String>) -> String {
    let source = folder.join(format!("{name}.c"));
    let program = folder.join(name);
    let header = if name == "ours" { "mpi.h" } else { "mpi_abi.h" };
    fs::write(&source, probe(header, names)).expect("a file");
    let include = format!("-I{}", include.display());
    assert_eq!(compile("cc", &["-w", &include], &source, &program), "");
    let output = Command::new(&program).output().expect("the probe runs");
    String::from_utf8(output.stdout).expect("text")
}

/// What MPICH's header has of a kind that the standard does not tell C: nothing but what
/// `MPI_F_*` and `MPI_F08_*` say about Fortran, which it leaves to its own mpi.h.
fn known_there(names: &BTreeSet<String>) -> BTreeSet<String> {
    let text = fs::read_to_string(theirs().join("mpi_abi.h")).expect("mpi_abi.h");
    let words: BTreeSet<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let known: BTreeSet<String> =
        names.iter().filter(|name| words.contains(name.as_str())).cloned().collect();
    let only_ours: Vec<&String> =
        names.difference(&known).filter(|name| !name.starts_with("MPI_F")).collect();
    assert!(only_ours.is_empty(), "the other header lacks {only_ours:?}");
    known
}

#[test]
fn every_value_size_and_offset_agrees() {
    let folder = TempDir::new().expect("a folder");
    let names = known_there(&constants());
    assert!(names.len() > 300, "only {} constants were found", names.len());
    let ours = answers(folder.path(), "ours", &header(), &names);
    let theirs = answers(folder.path(), "theirs", &theirs(), &names);
    for (a, b) in ours.lines().zip(theirs.lines()) {
        assert_eq!(a, b);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

#[test]
fn the_header_has_every_constant_of_the_table() {
    let names = constants();
    let table = Constants::load().expect("constants.toml");
    for (_, group) in table.groups() {
        for (name, values) in group.iter().filter(|(_, values)| values.standard().is_some()) {
            assert!(names.contains(name), "{name} = {values:?} is not in mpi.h");
        }
    }
}

#[test]
fn every_prototype_agrees() {
    let text = fs::read_to_string(header().join("mpi.h")).expect("include/mpi.h");
    let mut declarations = String::from("#include <mpi_abi.h>\n");
    let mut count = 0;
    for piece in text.split("\nextern ").skip(1).filter(|piece| !piece.starts_with('"')) {
        let (declaration, _) = piece.split_once(';').expect("a declaration ends");
        let _ = writeln!(declarations, "extern {declaration};");
        count += 1;
    }
    assert_eq!(count, 2 * 664, "all procedures of the standard ABI, and their twins");
    let folder = TempDir::new().expect("a folder");
    let source = folder.path().join("prototypes.c");
    fs::write(&source, declarations).expect("a file");
    let include = format!("-I{}", theirs().display());
    let object = folder.path().join("prototypes.o");
    assert_eq!(compile("cc", &["-w", "-c", &include], &source, &object), "");
}

#[test]
fn the_header_pleases_strict_compilers() {
    let folder = TempDir::new().expect("a folder");
    let source = folder.path().join("strict.c");
    let program = "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Status status;\n    \
                   int rank = 0;\n    status.MPI_TAG = MPI_Init(&argc, &argv);\n    \
                   MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    \
                   return rank + status.MPI_TAG + MPI_Finalize();\n}\n";
    fs::write(&source, program).expect("a file");
    let include = format!("-I{}", header().display());
    let object = folder.path().join("strict.o");
    for (compiler, language, standard) in [
        ("cc", "c", "-std=c89"),
        ("cc", "c", "-std=c99"),
        ("cc", "c", "-std=c17"),
        ("c++", "c++", "-std=c++98"),
        ("c++", "c++", "-std=c++20"),
    ] {
        let arguments =
            ["-x", language, standard, "-Wall", "-Wextra", "-pedantic", "-c", include.as_str()];
        assert_eq!(compile(compiler, &arguments, &source, &object), "", "{compiler} {standard}");
    }
}
