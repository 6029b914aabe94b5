//! The wrapper run as a program, in a small prefix of its own: a header, and a library with one
//! function.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A prefix with the wrapper in it, and a folder to work in.
struct Setup {
    dir: TempDir,
}

impl Setup {
    fn new() -> Setup {
        let setup = Setup { dir: tempfile::tempdir().expect("a folder") };
        for dir in ["bin", "lib", "include"] {
            fs::create_dir(setup.at(dir)).expect("a folder");
        }
        fs::copy(env!("CARGO_BIN_EXE_mpicc"), setup.at("bin/mpicc")).expect("a copy");
        symlink("mpicc", setup.at("bin/mpicxx")).expect("a link");
        setup.write("include/mpi.h", "#define ANSWER 42\n");
        setup.write("answer.c", "int answer(void) { return 42; }\n");
        setup.library("lib");
        setup
    }

    /// Makes the library in a folder.
    fn library(&self, folder: &str) {
        let library = self.at(folder).join("libmpi_abi.so");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(library).arg(self.at("answer.c"));
        assert!(cc.status().expect("cc").success());
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).expect("a file");
    }

    /// Runs a wrapper in the folder, with none of the variables that name compilers.
    fn run(&self, name: &str, words: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(self.at("bin").join(name));
        for unset in ["MPICC_CC", "MPICH_CC", "OMPI_CC", "I_MPI_CC", "MPICC_RPATH"] {
            command.env_remove(unset);
        }
        command.current_dir(self.dir.path()).args(words).envs(variables.iter().copied());
        command.output().expect("the wrapper starts")
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const PROGRAM: &str = "#include <mpi.h>\nint answer(void);\n\
                       int main(void) { return answer() == ANSWER ? 0 : 1; }\n";

/// Whether a compiled program does what it should, with one of the folders on the search path.
fn starts(setup: &Setup, program: &Path, folder: Option<&str>) -> bool {
    let mut command = Command::new(program);
    command.env_remove("LD_LIBRARY_PATH");
    if let Some(folder) = folder {
        command.env("LD_LIBRARY_PATH", setup.at(folder));
    }
    command.output().expect("it starts").status.success()
}

#[test]
fn compiles_and_links_at_once_and_in_two_steps() {
    let setup = Setup::new();
    setup.write("main.c", PROGRAM);
    let output = setup.run("mpicc", &["main.c", "-o", "at_once"], &[]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(starts(&setup, &setup.at("at_once"), None));
    assert!(setup.run("mpicc", &["-c", "main.c"], &[]).status.success());
    assert!(setup.run("mpicc", &["main.o", "-o", "two_steps"], &[]).status.success());
    assert!(starts(&setup, &setup.at("two_steps"), None));
}

#[test]
fn a_program_finds_its_library_by_itself_or_where_the_user_says() {
    let setup = Setup::new();
    setup.write("main.c", PROGRAM);
    assert!(setup.run("mpicc", &["main.c", "-o", "with"], &[]).status.success());
    assert!(setup.run("mpicc", &["-no-rpath", "main.c", "-o", "without"], &[]).status.success());
    assert!(!starts(&setup, &setup.at("without"), None));
    assert!(starts(&setup, &setup.at("without"), Some("lib")));
    fs::create_dir(setup.at("other")).expect("a folder");
    setup.write("answer.c", "int answer(void) { return 43; }\n");
    setup.library("other");
    assert!(!starts(&setup, &setup.at("with"), Some("other")), "the other library has 43");
}

#[test]
fn the_other_name_compiles_the_other_language() {
    let setup = Setup::new();
    setup.write(
        "main.cc",
        "#include <mpi.h>\n#include <vector>\nint main() { return ANSWER - 42; }",
    );
    let output = setup.run("mpicxx", &["main.cc", "-o", "cxx"], &[]);
    assert!(output.status.success(), "{}", errors(&output));
    let shown = setup.run("mpicxx", &["-show"], &[]);
    assert!(shown.stdout.starts_with(b"c++ -I"), "{:?}", String::from_utf8_lossy(&shown.stdout));
}

#[test]
fn the_compiler_s_own_answer_and_status_come_through() {
    let setup = Setup::new();
    setup.write("main.c", "int main(void) { return 0 }\n");
    let output = setup.run("mpicc", &["-c", "main.c"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("main.c:1"), "{}", errors(&output));
    let version = setup.run("mpicc", &["--version"], &[]);
    assert!(version.status.success() && !version.stdout.is_empty());
}

#[test]
fn a_missing_compiler_is_named_with_where_the_name_came_from() {
    let setup = Setup::new();
    let output = setup.run("mpicc", &["main.c"], &[("OMPI_CC", "no-such-compiler")]);
    assert_eq!(output.status.code(), Some(2));
    let said = errors(&output);
    for word in ["mpicc:", "no-such-compiler", "OMPI_CC", "MPICC_CC"] {
        assert!(said.contains(word), "{word} is missing in: {said}");
    }
}

#[test]
fn outside_a_prefix_it_says_how_to_make_one() {
    let setup = Setup::new();
    fs::remove_file(setup.at("include/mpi.h")).expect("removed");
    let output = setup.run("mpicc", &["main.c"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("cargo xtask install"), "{}", errors(&output));
}
