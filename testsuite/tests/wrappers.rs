//! Programs in Fortran and C++ that the compiler wrappers of MPICH and Open MPI build, where they are
//! installed under Debian's names (`mpif90.mpich`, `mpif90.openmpi`, `mpicxx.openmpi`; packages
//! libmpich-dev and libopenmpi-dev), run on our faces. Nothing is said of a machine without them,
//! and the tests count as skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testsuite::families;
use testsuite::hosts::skipped;
use testsuite::prefix::Prefix;
use testsuite::programs;

/// A wrapper, and which library its programs must find here.
struct Wrapper {
    program: &'static str,
    library: &'static str,
}

const MPICH: Wrapper = Wrapper { program: "mpif90.mpich", library: "MPICH ABI" };
const OPEN_MPI: Wrapper = Wrapper { program: "mpif90.openmpi", library: "Open MPI ABI" };
const CXX: Wrapper = Wrapper { program: "mpicxx.openmpi", library: "Open MPI ABI" };

impl Wrapper {
    /// Builds a source; `None` where the wrapper is not installed, or without the headers, which are another package.
    fn build(&self, source: &Path, into: &Path) -> Option<PathBuf> {
        let name = source.file_name()?.to_string_lossy();
        let program = into.join(format!("{name}.{}", self.program));
        let mut command = Command::new(self.program);
        command.args(["-w", "-O1", "-o"]).arg(&program).arg(source).current_dir(into);
        match command.output() {
            Err(_) => None,
            Ok(output) => {
                let errors = String::from_utf8_lossy(&output.stderr);
                let lacks =
                    ["mpi.h: No such file", "Cannot open included file", "module file ‘mpi"];
                if lacks.iter().any(|lack| errors.contains(lack)) {
                    return None;
                }
                assert!(output.status.success(), "{command:?}:\n{errors}");
                Some(program)
            }
        }
    }

    /// Builds sources and runs each on these numbers of ranks; their word must be `ok`.
    fn run(&self, test: &str, sources: &[PathBuf], ranks: &[u32]) {
        let prefix = Prefix::find().expect("a prefix");
        let dir = tempfile::tempdir().expect("a folder");
        for source in sources {
            let Some(program) = self.build(source, dir.path()) else {
                skipped(test, &format!("there is no {}, or no headers for it", self.program))
                    .expect("noted");
                return;
            };
            for &ranks in ranks {
                programs::run(&prefix, &program, ranks)
                    .unwrap_or_else(|why| panic!("{}: {why:#}", program.display()));
            }
        }
        self.find_ours(&prefix, dir.path());
    }

    /// What is built with this wrapper runs on our library and not on the wrapper's own.
    fn find_ours(&self, prefix: &Prefix, dir: &Path) {
        let cxx = self.program.starts_with("mpicxx");
        let (name, text) = if cxx { ("version.cc", VERSION_CXX) } else { ("version.f90", VERSION) };
        let source = dir.join(name);
        fs::write(&source, text).expect("written");
        let program = self.build(&source, dir).expect("it was there before");
        let output = prefix.command("mpirun").args(["-n", "1"]).arg(&program).output();
        let output = output.expect("started");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Ferrite MPI") && said.contains(self.library), "{said}");
    }
}

const VERSION: &str = "program version
  use mpi
  implicit none
  character(MPI_MAX_LIBRARY_VERSION_STRING) :: text
  integer :: length, ierror
  call mpi_init(ierror)
  call mpi_get_library_version(text, length, ierror)
  print '(a)', text(1:length)
  call mpi_finalize(ierror)
end program version
";

const VERSION_CXX: &str = "#include <mpi.h>
#include <cstdio>
int main(int argc, char **argv) {
    MPI::Init(argc, argv);
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    std::puts(text);
    MPI::Finalize();
}
";

/// Sources of `testsuite/programs`.
fn listed(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| programs::folder().join(name)).collect()
}

/// Sources of `testsuite/faces`.
fn own(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| families::source(name)).collect()
}

#[test]
fn fortran_of_mpich_in_all_interfaces() {
    let test = "fortran_of_mpich_in_all_interfaces";
    let mut sources = listed(&["fortran_fixed.f", "fortran_mpi.f90", "fortran_sections.f90"]);
    sources.extend(own(&["profiled_f08.f90", "shared_state.f90", "special_f08.f90"]));
    sources.extend(own(&["statuses_f08.f90"]));
    MPICH.run(test, &sources, &[1, 2]);
    MPICH.run(test, &listed(&["spectral.f90"]), &[1, 2, 4]);
}

#[test]
fn fortran_of_open_mpi_in_all_interfaces() {
    let test = "fortran_of_open_mpi_in_all_interfaces";
    // Open MPI 4 has no mpi_status_f2f08 to link with.
    let mut sources = listed(&["fortran_fixed.f"]);
    sources.extend(own(&["profiled_f08.f90", "shared_state.f90", "special_f08.f90"]));
    OPEN_MPI.run(test, &sources, &[1, 2]);
    OPEN_MPI.run(test, &listed(&["spectral.f90"]), &[1, 2, 4]);
}

#[test]
fn cxx_bindings_of_open_mpi() {
    CXX.run("cxx_bindings_of_open_mpi", &own(&["bindings.cc"]), &[1, 3]);
}
