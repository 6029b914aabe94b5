//! Programs built by the peers' `mpicc`, run on our faces: handles and statuses from both sides,
//! with and without copied objects, and two faces in one process.

use object::{Object, ObjectSymbol};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use testsuite::families::{self, Family, MPICH, OPEN_MPI};
use testsuite::peers;
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

/// Runs a program on the peer, which shows that it asks for the right thing, and on our library.
fn good_on_both(family: &Family, source: &str) {
    let program = place(&format!("{source}_{}", family.peer));
    family.compile(&families::source(&format!("{source}.c")), &program, &[]).unwrap();
    assert_eq!(family.run_on_peer(&program, &[]).unwrap(), "ok\n");
    assert_eq!(family.run_on_ours(&program, &[]).unwrap(), "ok\n");
}

#[test]
fn mpich_callbacks() {
    good_on_both(&MPICH, "callbacks");
}

#[test]
fn open_mpi_callbacks() {
    good_on_both(&OPEN_MPI, "callbacks");
}

#[test]
fn a_status_keeps_what_the_program_wrote() {
    good_on_both(&MPICH, "setstatus");
    good_on_both(&OPEN_MPI, "setstatus");
}

#[test]
fn error_classes_of_open_mpi() {
    good_on_both(&OPEN_MPI, "classes");
}

/// Runs a program whose source says what it shows on our library of the family.
fn good_on_ours(family: &Family, source: &str) {
    let program = place(&format!("{source}_{}", family.peer));
    family.compile(&families::source(&format!("{source}.c")), &program, &[]).unwrap();
    assert_eq!(family.run_on_ours(&program, &[]).unwrap(), "ok\n");
}

#[test]
fn mpich_handles_as_integers() {
    good_on_ours(&MPICH, "interop");
}

#[test]
fn open_mpi_handles_as_integers() {
    good_on_ours(&OPEN_MPI, "interop");
}

#[test]
fn errors_of_no_object_on_mpich_s_face() {
    good_on_ours(&MPICH, "nobodys");
}

#[test]
fn errors_of_no_object_on_open_mpi_s_face() {
    good_on_ours(&OPEN_MPI, "nobodys");
}

#[test]
fn results_nowhere_on_mpich_s_face() {
    good_on_ours(&MPICH, "nowhere");
}

#[test]
fn results_nowhere_on_open_mpi_s_face() {
    good_on_ours(&OPEN_MPI, "nowhere");
}

#[test]
fn errors_say_what_the_program_wrote() {
    good_on_ours(&MPICH, "wrongs");
    good_on_ours(&OPEN_MPI, "wrongs");
}

/// On more ranks they run with the other programs, on the standard ABI.
#[test]
fn buffers_that_are_one_are_refused_or_taken_as_the_peer_does() {
    for family in [&MPICH, &OPEN_MPI] {
        let program = place(&format!("aliased_{}", family.peer));
        let source = testsuite::programs::folder().join("aliased.c");
        family.compile(&source, &program, &[]).unwrap();
        let ours = Prefix::find().unwrap();
        for ranks in ["1", "4"] {
            let mut run = ours.command("mpirun");
            run.args(["-n", ranks]).arg(&program);
            let Output { stdout, stderr, .. } =
                run.env("LD_LIBRARY_PATH", ours.lib("")).output().unwrap();
            let (said, errors) =
                (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
            assert_eq!((&*said, &*errors), ("ok\n", ""), "{} on {ranks}", family.peer);
        }
    }
}

#[test]
fn what_mpi_3_removed_works_on_mpich_s_face() {
    good_on_ours(&MPICH, "removed");
}

#[test]
fn what_mpi_3_removed_works_on_open_mpi_s_face() {
    good_on_ours(&OPEN_MPI, "removed");
}

/// Runs a program built by each peer's compiler under our launcher.
fn good_on_ranks(source: &Path, ranks: &str) {
    good_on_ranks_of(&[&MPICH, &OPEN_MPI], source, ranks);
}

fn good_on_ranks_of(families: &[&Family], source: &Path, ranks: &str) {
    let name = source.file_stem().unwrap().to_str().unwrap();
    for family in families {
        let program = place(&format!("{name}_{}", family.peer));
        family.compile(source, &program, &[]).unwrap();
        let mut mpirun = Prefix::find().unwrap().command("mpirun");
        let output = mpirun.args(["-n", ranks]).arg(&program).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n", "{}: {said}", family.peer);
    }
}

#[test]
fn ranges_go_backwards_in_every_step() {
    good_on_ranks(&families::source("strides.c"), "7");
}

#[test]
fn files_are_opened_together() {
    for program in ["files", "fileexternal", "filerequests", "fileshared"] {
        good_on_ranks(&families::source(&format!("../programs/{program}.c")), "4");
    }
}

#[test]
fn partitions_arrive() {
    for ranks in ["1", "2", "4"] {
        good_on_ranks(&families::source("../programs/partitioned.c"), ranks);
    }
}

#[test]
fn sessions_begin_and_end() {
    good_on_ranks(&families::source("../programs/sessions.c"), "3");
}

/// Open MPI 5 has none of the procedures of MPI-4.1.
#[test]
fn buffers_of_communicators_come_back() {
    good_on_ranks_of(&[&MPICH], &families::source("../programs/buffered_comm.c"), "2");
}

#[test]
fn arguments_that_mean_nothing_may_be_anything() {
    good_on_ranks(&families::source("../programs/insignificant.c"), "3");
}

#[test]
fn errors_find_their_handlers() {
    // Open MPI's library, against which its compiler links, lacks what MPI-4.1 added there.
    good_on_ranks_of(&[&MPICH], &families::source("../programs/errhandlers.c"), "2");
}

#[test]
fn windows_share_memory() {
    good_on_ranks(&families::source("../programs/windows.c"), "3");
    good_on_ranks(&families::source("../programs/onesided.c"), "3");
}

/// Open MPI 5 has dropped what this needs, so the linker is shown our library before the peer's.
#[test]
fn open_mpi_4_s_binding_for_cxx() {
    let program = place("cxx_openmpi");
    let ours = open_mpi();
    let flags = ["-rdynamic", "-Wl,--no-as-needed", ours.to_str().unwrap()];
    OPEN_MPI.compile(&families::source("cxx.c"), &program, &flags).unwrap();
    assert_eq!(OPEN_MPI.run_on_ours(&program, &[]).unwrap(), "ok\n");
    let ended = OPEN_MPI.run_on_ours(&program, &["without"]).unwrap_err().to_string();
    assert!(ended.contains("MPI_ERR_RANK"), "{ended}");
}

/// Open MPI 5 has not all that 4.1 had.
#[test]
fn open_mpi_s_own_names_mean_what_they_do_there() {
    let program = place("openmpi_own");
    let ours = open_mpi();
    let flags = ["-Wl,--no-as-needed", ours.to_str().unwrap()];
    OPEN_MPI.compile(&families::source("openmpi.c"), &program, &flags).unwrap();
    assert_eq!(OPEN_MPI.run_on_ours(&program, &[]).unwrap(), "ok\n");
}

/// MPICH's library, against which its compiler links, lacks what Intel's has for C++.
#[test]
fn mpich_s_own_names_mean_what_they_do_there() {
    let program = place("mpich_own");
    let ours = mpich();
    let flags = ["-Wl,--no-as-needed", ours.to_str().unwrap()];
    MPICH.compile(&families::source("mpich.c"), &program, &flags).unwrap();
    assert_eq!(MPICH.run_on_ours(&program, &[]).unwrap(), "ok\n");
}

/// Programs in C++ as Intel's compiler wrapper builds them, with Intel's binding on our library.
#[test]
fn intel_mpi_s_binding_for_cxx() {
    let intel = peers::environment("impi").unwrap();
    let (ours, binding) = (mpich(), intel.join("lib/libmpicxx.so.12"));
    // The binding alone: in Intel's folder lies a library of our face's name.
    let folder = place("cxx_impi_lib");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(&binding, folder.join("libmpicxx.so.12")).unwrap();
    let path = format!("{}:{}", ours.parent().unwrap().display(), folder.display());
    let include = format!("-I{}", intel.join("include").display());
    for (name, ranks) in [("bindings", "1"), ("bindings", "3"), ("throws", "2")] {
        let program = place(&format!("{name}_impi"));
        let mut compiler = Command::new("c++");
        compiler.args(["-w", "-Wl,-z,now", &include, "-o"]).arg(&program);
        compiler.arg(families::source(&format!("{name}.cc"))).arg(&binding).arg(&ours);
        let compiled = compiler.output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let mut mpirun = Prefix::find().unwrap().command("mpirun");
        mpirun.env("LD_LIBRARY_PATH", &path).args(["-n", ranks]).arg(&program);
        let output = mpirun.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n", "{said}");
    }
}

#[test]
fn tools_see_nothing_and_end_nothing() {
    good_on_ranks(&families::source("../programs/tools.c"), "1");
}

/// Runs `two.c` on two of our faces.
fn two(first: (&Path, &str), second: (&Path, &str), initialised: &str) -> Output {
    static ONE: AtomicU32 = AtomicU32::new(0);
    // Tests run side by side and each compiles its own.
    let program = place(&format!("two_{}", ONE.fetch_add(1, Ordering::Relaxed)));
    let compiled = Command::new("cc")
        .arg(families::source("two.c"))
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(compiled.success());
    prefix::clean(&program)
        .arg(first.0)
        .arg(first.1)
        .arg(second.0)
        .arg(second.1)
        .arg(initialised)
        .output()
        .unwrap()
}

fn mpich() -> PathBuf {
    Prefix::find().unwrap().lib(MPICH.library)
}

fn open_mpi() -> PathBuf {
    Prefix::find().unwrap().lib(OPEN_MPI.library)
}

fn assert_refused(output: &Output, files: [&Path; 2]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("MPI_Init: two MPI libraries"), "{said}");
    for file in files {
        let name = file.to_str().unwrap();
        assert!(said.contains(name), "no {name} in: {said}");
    }
}

#[test]
fn two_faces_that_programs_could_mix_up_are_refused() {
    let (first, second) = (mpich(), open_mpi());
    assert_refused(&two((&first, "global"), (&second, "global"), "first"), [&first, &second]);
}

#[test]
fn a_second_face_that_is_initialised_is_refused() {
    let (first, second) = (mpich(), open_mpi());
    assert_refused(&two((&first, "local"), (&second, "local"), "both"), [&first, &second]);
}

#[test]
fn a_second_copy_of_one_face_is_refused() {
    let (first, second) = (mpich(), place("copy_of_libmpi.so.12"));
    fs::copy(&first, &second).unwrap();
    assert_refused(&two((&first, "local"), (&second, "local"), "both"), [&first, &second]);
}

#[test]
fn a_second_face_that_nobody_uses_does_no_harm() {
    for initialised in ["first", "second"] {
        let output = two((&mpich(), "local"), (&open_mpi(), "local"), initialised);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
    }
}
