//! The installed prefix as its users see it: names of the libraries, what they need, the compiler
//! wrapper after a move, pkg-config and CMake (decisions 4, 5, 10 and 32).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use testsuite::prefix::{self, FACES, Prefix};

fn prefix() -> Prefix {
    Prefix::find().expect("a prefix")
}

/// The words of `readelf -d` in brackets behind lines of this kind.
fn dynamic(file: &Path, kind: &str) -> Vec<String> {
    let text = output(Command::new("readelf").arg("-dW").arg(file));
    text.lines()
        .filter(|line| line.contains(&format!("({kind})")))
        .filter_map(|line| line.split(['[', ']']).nth(1))
        .map(str::to_string)
        .collect()
}

/// Standard output of a command that must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn each_face_bears_its_file_name() {
    for face in FACES {
        assert_eq!(dynamic(&prefix().lib(face), "SONAME"), [face], "{face}");
    }
}

#[test]
fn the_faces_need_nothing_but_the_c_library() {
    let allowed = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];
    for face in FACES {
        for needed in dynamic(&prefix().lib(face), "NEEDED") {
            assert!(allowed.contains(&needed.as_str()), "{face} needs {needed}");
        }
    }
}

/// Libraries of networks are opened when a network is wanted, so that a machine without them loads ours.
#[test]
fn nothing_of_ours_needs_a_library_of_a_network() {
    let mut looked_at = 0;
    for folder in ["lib", "bin"] {
        let folder = prefix().dir().join(folder);
        let entries = fs::read_dir(&folder).expect("a folder of the prefix").flatten();
        let is_elf = |path: &Path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
        for file in entries.map(|entry| entry.path()).filter(|path| is_elf(path)) {
            looked_at += 1;
            for needed in dynamic(&file, "NEEDED") {
                let of_a_network = ["libibverbs", "librdmacm", "libfabric"];
                let is_one = of_a_network.iter().any(|name| needed.starts_with(name));
                assert!(!is_one, "{} needs {needed}", file.display());
            }
        }
    }
    assert!(looked_at > 3, "{looked_at} files in the prefix");
}

#[test]
fn an_alias_is_a_library_without_code_that_needs_its_face() {
    let alias = prefix().lib("libmpich.so.12");
    assert_eq!(dynamic(&alias, "SONAME"), ["libmpich.so.12"]);
    assert_eq!(dynamic(&alias, "NEEDED"), ["libmpi.so.12"]);
    assert_eq!(dynamic(&alias, "RUNPATH"), ["$ORIGIN"]);
    let defined = output(Command::new("nm").args(["-D", "--defined-only"]).arg(&alias));
    assert_eq!(defined, "", "it defines nothing");
}

#[test]
fn a_program_for_the_alias_gets_the_face() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("version.c");
    let text = "#include <stdio.h>\n\
                int MPI_Get_library_version(char *, int *);\n\
                int main(void) { char text[8192]; int length;\n\
                MPI_Get_library_version(text, &length); puts(text); return 0; }\n";
    fs::write(&source, text).expect("written");
    let lib = prefix().lib("");
    let program = dir.path().join("version");
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(&program).arg(&source).arg("-L").arg(&lib);
    output(cc.args(["-l:libmpich.so.12", "-l:libmpi.so.12"]));
    let told = output(prefix::clean(&program).env("LD_LIBRARY_PATH", &lib));
    assert!(told.contains("Ferrite MPI"), "{told}");
}

/// Makefiles say `-lmpi`, and mean the library that goes with the header.
#[test]
fn a_linker_finds_the_standard_abi_by_the_name_of_every_mpi() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = dir.path().join("barrier");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/barrier.c");
    let mut cc = Command::new("cc");
    cc.arg("-I").arg(prefix().dir().join("include")).arg(&source).arg("-o").arg(&program);
    output(cc.arg("-L").arg(prefix().lib("")).arg("-lmpi"));
    assert_eq!(dynamic(&program, "NEEDED")[0], "libmpi_abi.so.1");
    let mut by_path = Command::new("cc");
    by_path.arg("-I").arg(prefix().dir().join("include")).arg(&source).arg("-o").arg(&program);
    output(by_path.arg(fs::canonicalize(prefix().lib("libmpi.so")).expect("the library")));
    assert_eq!(dynamic(&program, "NEEDED")[0], "libmpi_abi.so.1");
}

/// As mpi4py's wheels look for the library that decides which of their modules is loaded; they have
/// none for the standard ABI.
#[test]
fn who_tries_names_with_and_without_a_version_gets_an_abi_that_has_a_version() {
    let dir = tempfile::tempdir().expect("a folder");
    let (source, program) = (dir.path().join("tries.c"), dir.path().join("tries"));
    let text = "#include <dlfcn.h>\n#include <stdio.h>\nint main(void) {\n  \
                const char *names[] = {\"libmpi.so\", \"libmpi.so.12\", \"libmpi.so.40\"};\n  \
                for (int i = 0; i < 3; i++) {\n    \
                void *library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);\n    \
                if (!library) continue;\n    \
                int (*version)(char *, int *) = (int (*)(char *, int *))\n      \
                dlsym(library, \"MPI_Get_library_version\");\n    \
                char said[8192]; int length;\n    version(said, &length);\n    puts(said);\n    \
                return 0;\n  }\n  return 1;\n}\n";
    fs::write(&source, text).expect("written");
    output(Command::new("cc").arg("-o").arg(&program).arg(&source).arg("-ldl"));
    let told = output(prefix::clean(&program).env("LD_LIBRARY_PATH", prefix().lib("")));
    assert!(told.contains("MPICH ABI"), "{told}");
}

#[test]
fn a_moved_prefix_knows_where_it_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let moved = dir.path().join("a new place");
    output(Command::new("cp").arg("-a").arg(prefix().dir()).arg(&moved));
    let shown = output(prefix::clean(&moved.join("bin/mpicc")).arg("-show"));
    let wanted = format!(
        "cc '-I{0}/include' '-L{0}/lib' '-Wl,-rpath,{0}/lib' -Wl,--enable-new-dtags -lmpi_abi\n",
        moved.display()
    );
    assert_eq!(shown, wanted);
    let mut pkg = Command::new("pkg-config");
    pkg.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig")).args(["--variable=libdir", "mpi"]);
    let lib = output(&mut pkg).trim().replace('\\', "");
    let there = fs::canonicalize(&lib).unwrap_or_else(|error| panic!("{lib}: {error}"));
    assert_eq!(there, fs::canonicalize(moved.join("lib")).expect("the moved lib/"));
}

#[test]
fn a_project_of_pkg_config_is_built_against_a_moved_prefix() {
    let dir = tempfile::tempdir().expect("a folder");
    let moved = dir.path().join("elsewhere");
    output(Command::new("cp").arg("-a").arg(prefix().dir().canonicalize().unwrap()).arg(&moved));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/barrier.c");
    let makefile = "CFLAGS := $(shell pkg-config --cflags mpi-c)\n\
                    LDLIBS := $(shell pkg-config --libs mpi-c)\nbarrier: barrier.o\n";
    fs::write(dir.path().join("Makefile"), makefile).expect("written");
    fs::copy(source, dir.path().join("barrier.c")).expect("copied");
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/check.h"),
        dir.path().join("check.h"),
    )
    .expect("copied");
    let mut make = prefix::clean(Path::new("make"));
    make.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig")).current_dir(dir.path());
    let said = output(&mut make);
    assert!(said.contains(&format!("-I{}", moved.display())), "{said}");
    assert_eq!(output(&mut prefix::clean(&dir.path().join("barrier"))), "ok\n");
    let mut mpirun = prefix::clean(&moved.join("bin/mpirun"));
    assert_eq!(output(mpirun.args(["-n", "2"]).arg(dir.path().join("barrier"))), "ok\n");
}

#[test]
fn pkg_config_finds_it_by_every_name() {
    for name in ["ferrite", "mpi", "mpi-c", "mpi-cxx"] {
        let mut pkg = Command::new("pkg-config");
        pkg.env("PKG_CONFIG_PATH", prefix().lib("pkgconfig"));
        let words = output(pkg.args(["--cflags", "--libs", name]));
        let words: BTreeSet<&str> = words.split_whitespace().collect();
        assert!(words.contains("-lmpi_abi"), "{name}: {words:?}");
        assert!(words.iter().any(|word| word.starts_with("-I")), "{name}: {words:?}");
    }
}

#[test]
fn a_program_starts_by_itself() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = dir.path().join("barrier");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/barrier.c");
    let mut mpicc = prefix().command("mpicc");
    output(mpicc.arg("-o").arg(&program).arg(&source));
    let mut timeout = prefix::clean(Path::new("timeout"));
    assert_eq!(output(timeout.arg("30").arg(&program)), "ok\n");
    assert_eq!(dynamic(&program, "NEEDED")[0], "libmpi_abi.so.1");
}

#[test]
fn a_strict_cxx_program_compiles_and_its_dependencies_name_the_header() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("strict.cc");
    let text = "#include <mpi.h>\n\
                int main(int argc, char **argv) {\n\
                MPI_Init(&argc, &argv);\n\
                int keyval = MPI_KEYVAL_INVALID;\n\
                MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval,\n\
                MPI_BOTTOM);\n\
                MPI_Bcast(MPI_BOTTOM, 0, MPI_INT, 0, MPI_COMM_WORLD);\n\
                MPI_Recv(MPI_BOTTOM, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF,\n\
                MPI_STATUS_IGNORE);\n\
                return MPI_Finalize();\n}\n";
    fs::write(&source, text).expect("written");
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wold-style-cast", "-Wuseless-cast"];
    let mut mpicxx = prefix().command("mpicxx");
    mpicxx.args(strict).args(["-Wzero-as-null-pointer-constant", "-Werror", "-fsyntax-only"]);
    output(mpicxx.arg(&source));
    let listed = output(prefix().command("mpicxx").arg("-MM").arg(&source));
    assert!(listed.contains("/mpi.h"), "{listed}");
}

#[test]
fn valgrind_says_nothing_of_two_ranks() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = dir.path().join("hello");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello.c");
    output(prefix().command("mpicc").args(["-g", "-o"]).arg(&program).arg(&source));
    let mut mpirun = prefix().command("mpirun");
    mpirun.args(["--timeout", "60", "-n", "2", "valgrind", "-q", "--leak-check=full"]);
    let ended = mpirun.arg("--error-exitcode=9").arg(&program).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("rank 1 of 2"), "{said}");
}

#[test]
fn cmake_finds_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let project = "cmake_minimum_required(VERSION 3.16)\n\
                   project(found C CXX)\n\
                   find_package(MPI REQUIRED COMPONENTS C CXX)\n\
                   message(STATUS \"library ${MPI_C_LIBRARIES} starter ${MPIEXEC_EXECUTABLE}\")\n\
                   add_executable(hello hello.c)\n\
                   target_link_libraries(hello MPI::MPI_C)\n\
                   install(TARGETS hello DESTINATION .)\n";
    fs::write(dir.path().join("CMakeLists.txt"), project).expect("written");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello.c");
    fs::copy(example, dir.path().join("hello.c")).expect("copied");
    let mut cmake = prefix::clean(Path::new("cmake"));
    let home = fs::canonicalize(prefix().dir()).expect("the prefix");
    cmake.arg(format!("-DMPI_HOME={}", home.display()));
    let told = output(cmake.arg("-S").arg(dir.path()).arg("-B").arg(dir.path().join("build")));
    assert!(told.contains(&format!("{}/lib/libmpi_abi.so", home.display())), "{told}");
    assert!(told.contains(&format!("{}/bin/mpiexec", home.display())), "{told}");
    output(prefix::clean(Path::new("cmake")).arg("--build").arg(dir.path().join("build")));
    let mut install = prefix::clean(Path::new("cmake"));
    install.arg("--install").arg(dir.path().join("build"));
    output(install.arg("--prefix").arg(dir.path().join("installed")));
    for program in ["build/hello", "installed/hello"] {
        output(&mut prefix::clean(&dir.path().join(program)));
    }
}
