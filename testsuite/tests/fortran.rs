//! The Fortran wrapper and the modules that it compiles on first use: by many at once, outside a
//! prefix that cannot be written to, by two compilers side by side; the names that compilers give
//! to procedures; CMake.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use testsuite::hosts::skipped;
use testsuite::prefix::{self, Prefix};
use testsuite::programs::{self, Program};

fn prefix() -> Prefix {
    Prefix::find().expect("a prefix")
}

fn told(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{errors}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first of these compilers that is there.
fn flang() -> Option<&'static str> {
    ["flang-new-19", "flang-new", "flang-22", "flang"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    })
}

fn fortran_programs() -> Vec<Program> {
    let listed = programs::listed().expect("the manifest");
    listed.into_iter().filter(Program::is_fortran).collect()
}

/// A copy of the prefix in which no module is compiled yet.
fn fresh() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let copy = dir.path().join("prefix");
    let source = prefix().dir().canonicalize().expect("the prefix");
    told(&Command::new("cp").arg("-a").args([&source, &copy]).output().expect("cp"));
    let modules = copy.join("lib/ferrite/modules");
    if modules.exists() {
        fs::remove_dir_all(&modules).expect("removed");
    }
    (dir, copy)
}

fn mpifort(prefix: &Path) -> Command {
    let mut command = prefix::clean(&prefix.join("bin/mpifort"));
    command.env_remove("MPIFORT_CACHE");
    command
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn another_compiler_shares_the_library() {
    let Some(flang) = flang() else {
        skipped("another_compiler_shares_the_library", "there is no flang (package flang-19)")
            .expect("noted");
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    for program in fortran_programs() {
        let executable =
            program.compile_fortran(&prefix(), flang, dir.path()).expect(&program.name);
        for ranks in &program.ranks {
            programs::run(&prefix(), &executable, *ranks).expect(&program.name);
        }
    }
}

#[test]
fn many_wrappers_at_once_make_the_modules_once() {
    let (_dir, copy) = fresh();
    let started: Vec<_> = (0..8)
        .map(|_| mpifort(&copy).arg("-show").stdout(std::process::Stdio::piped()).spawn())
        .collect();
    let lines: Vec<String> = started
        .into_iter()
        .map(|child| told(&child.expect("started").wait_with_output().expect("ended")))
        .collect();
    assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
    let made = entries(&copy.join("lib/ferrite/modules"));
    assert_eq!(made.len(), 1, "one folder, and nothing half done: {made:?}");
    let files = entries(&copy.join("lib/ferrite/modules").join(&made[0]));
    for module in ["mpi.mod", "mpi_f08.mod", "ferrite_mpi_types.mod", "libferrite_fortran.a"] {
        assert!(files.iter().any(|file| file == module), "{module} in {files:?}");
    }
}

#[test]
fn options_of_the_compiler_have_modules_of_their_own() {
    let cache = tempfile::tempdir().expect("a folder");
    for (compiler, folders) in
        [("gfortran", 1), ("gfortran -fdefault-real-8", 2), ("gfortran", 2), ("gfortran -O2", 3)]
    {
        let mut command = mpifort(prefix().dir());
        command.env("MPIFORT_CACHE", cache.path()).env("MPIFORT_FC", compiler).arg("-show");
        told(&command.output().expect("mpifort"));
        assert_eq!(entries(cache.path()).len(), folders, "after {compiler}");
    }
}

/// The clock's type is the library's, whatever the compiler makes of DOUBLE PRECISION.
#[test]
fn wide_reals_leave_the_clock_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("clock.f90");
    let program = dir.path().join("clock");
    for module in ["mpi", "mpi_f08"] {
        let text = format!(
            "program clock\n  use {module}\n  implicit none\n  integer :: ierror\n  \
             real(kind(MPI_Wtime())) :: before\n  call MPI_Init(ierror)\n  before = MPI_Wtime()\n  \
             if (kind(before) == 8 .and. MPI_Wtime() - before < 60 .and. MPI_Wtick() < 1) &\n    \
             print '(a)', 'ok'\n  call MPI_Finalize(ierror)\nend program clock\n"
        );
        fs::write(&source, text).expect("written");
        let mut command = mpifort(prefix().dir());
        command.env("MPIFORT_CACHE", dir.path()).env("MPIFORT_FC", "gfortran -fdefault-real-8");
        told(&command.arg("-o").arg(&program).arg(&source).output().expect("mpifort"));
        programs::run(&prefix(), &program, 1).expect(module);
    }
}

#[test]
fn a_prefix_that_cannot_be_written_to_is_left_alone() {
    let (dir, copy) = fresh();
    // Permissions do not stop a test that runs as root; a file in the folder's place does.
    fs::write(copy.join("lib/ferrite/modules"), "").expect("written");
    let cache = dir.path().join("cache");
    let source = programs::folder().join("fortran_f08.f90");
    let program = dir.path().join("program");
    let mut command = mpifort(&copy);
    command.env("XDG_CACHE_HOME", &cache).current_dir(dir.path());
    told(&command.arg("-o").arg(&program).arg(&source).output().expect("mpifort"));
    assert_eq!(entries(&cache.join("ferrite/modules")).len(), 1);
    programs::run(&prefix(), &program, 2).expect("a good run");

    let mut command = mpifort(&copy);
    command.env("XDG_CACHE_HOME", &program).env("HOME", &program).arg("-show");
    let refused = command.output().expect("mpifort");
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("MPIFORT_CACHE"), "{errors}");
}

#[test]
fn a_compiler_that_is_not_there_is_named() {
    let output = mpifort(prefix().dir()).args(["-fc=no-such-fortran", "a.f90"]).output();
    let output = output.expect("mpifort");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("no-such-fortran") && errors.contains("MPIFORT_FC"), "{errors}");
}

#[test]
fn integers_of_eight_bytes_are_refused_in_words() {
    let output = mpifort(prefix().dir()).args(["-fdefault-integer-8", "a.f90"]).output();
    let errors = String::from_utf8_lossy(&output.expect("mpifort").stderr).into_owned();
    assert!(errors.contains("INTEGER 8 bytes long"), "{errors}");

    // Past the wrapper, mpif.h itself says it.
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("wide.f90");
    fs::write(&source, "program p\n  include 'mpif.h'\n  call mpi_init(i)\nend\n")
        .expect("written");
    let mut gfortran = Command::new("gfortran");
    gfortran.arg("-I").arg(prefix().dir().canonicalize().expect("there").join("include"));
    gfortran.args(["-fdefault-integer-8", "-c", "wide.f90"]).current_dir(dir.path());
    let errors = String::from_utf8_lossy(&gfortran.output().expect("gfortran").stderr).into_owned();
    assert!(errors.contains("mpif.h") && errors.contains("Division by zero"), "{errors}");
}

#[test]
fn every_spelling_of_a_procedure_leads_to_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = programs::folder().join("fortran_fixed.f");
    for option in ["-funderscoring", "-fsecond-underscore", "-fno-underscoring"] {
        let program = dir.path().join(&option[1..]);
        let mut command = mpifort(&prefix().dir().canonicalize().expect("there"));
        command.arg(option).arg("-o").arg(&program).arg(&source);
        told(&command.output().expect("mpifort"));
        programs::run(&prefix(), &program, 2).expect(option);
    }
}

#[test]
fn a_parallel_make_starts_from_no_modules() {
    let (dir, copy) = fresh();
    let interfaces = ["include 'mpif.h'", "use mpi", "use mpi_f08", "use mpi"];
    let mut rules = String::from("all: program\n%.o: %.f90\n\t$(FC) -c $<\n");
    let mut objects = String::new();
    for part in 0..8 {
        let (used, included) = match interfaces[part % 4] {
            header if header.starts_with("include") => ("", header),
            module => (module, ""),
        };
        let text = format!(
            "subroutine part{part}(rank)\n{used}\nimplicit none\n{included}\ninteger :: rank, ierror\n\
             call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)\nend\n"
        );
        fs::write(dir.path().join(format!("part{part}.f90")), text).expect("written");
        objects += &format!(" part{part}.o");
    }
    let calls: String = (0..8).map(|part| format!("call part{part}(rank)\n")).collect();
    let main = format!(
        "program main\nuse mpi\nimplicit none\ninteger :: rank, ierror\ncall MPI_Init(ierror)\n\
         {calls}if (rank == 0) print '(a)', 'ok'\ncall MPI_Finalize(ierror)\nend\n"
    );
    fs::write(dir.path().join("main.f90"), main).expect("written");
    rules += &format!("program: main.o{objects}\n\t$(FC) -o $@ $^\n");
    fs::write(dir.path().join("Makefile"), rules).expect("written");
    let mut make = prefix::clean(Path::new("make"));
    make.env_remove("MPIFORT_CACHE").env_remove("MAKEFLAGS").current_dir(dir.path());
    make.arg("-j8").arg(format!("FC={}", copy.join("bin/mpifort").display()));
    told(&make.output().expect("make"));
    assert_eq!(entries(&copy.join("lib/ferrite/modules")).len(), 1);
    programs::run(&prefix(), &dir.path().join("program"), 2).expect("a good run");
}

#[test]
fn cmake_builds_a_project_against_a_moved_prefix() {
    let (dir, home) = fresh();
    let project = "cmake_minimum_required(VERSION 3.16)\n\
                   project(found C Fortran)\n\
                   find_package(MPI REQUIRED COMPONENTS Fortran)\n\
                   message(STATUS \"has ${MPI_Fortran_HAVE_F77_HEADER} \
                   ${MPI_Fortran_HAVE_F90_MODULE} ${MPI_Fortran_HAVE_F08_MODULE}\")\n\
                   add_executable(program fortran_f08.f90)\n\
                   target_link_libraries(program MPI::MPI_Fortran)\n";
    fs::write(dir.path().join("CMakeLists.txt"), project).expect("written");
    let source = programs::folder().join("fortran_f08.f90");
    fs::copy(source, dir.path().join("fortran_f08.f90")).expect("copied");
    let build = dir.path().join("build");
    let mut cmake = prefix::clean(Path::new("cmake"));
    cmake.env_remove("MPIFORT_CACHE").arg(format!("-DMPI_HOME={}", home.display()));
    let found =
        told(&cmake.arg("-S").arg(dir.path()).arg("-B").arg(&build).output().expect("cmake"));
    assert!(found.contains("has TRUE TRUE TRUE"), "{found}");
    let mut cmake = prefix::clean(Path::new("cmake"));
    told(&cmake.arg("--build").arg(&build).output().expect("cmake"));
    programs::run(&prefix(), &build.join("program"), 2).expect("a good run");
}
