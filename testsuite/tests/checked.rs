//! The checked mode (`FERRITE_COLL_CHECK`): collective calls in which one rank disagrees fail before
//! anything moves, naming that rank; calls that agree go through.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;
use testsuite::prefix::Prefix;

/// The compiled program; it stays where cargo keeps the tests' files.
fn program() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/mistakes.c");
        let mut mpicc = Prefix::find().unwrap().command("mpicc");
        mpicc.args(["-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&program);
        assert!(mpicc.status().unwrap().success());
        program
    })
}

fn run(ranks: &str, mistake: &str) -> Output {
    let mut mpirun = Prefix::find().unwrap().command("mpirun");
    mpirun.env("FERRITE_COLL_CHECK", "1").args(["--timeout", "100", "-n", ranks]);
    mpirun.arg(program()).arg(mistake).output().unwrap()
}

/// Without the mode what does not fit is seen where it arrives, by messages as over shared memory.
#[test]
fn what_does_not_fit_is_told_in_the_words_of_collectives() {
    for ranks_of_a_node in ["1", "3"] {
        let mut mpirun = Prefix::find().unwrap().command("mpirun");
        mpirun.env("FERRITE_NODE_RANKS", ranks_of_a_node).args(["--timeout", "100", "-n", "3"]);
        let output = mpirun.arg(program()).arg("count").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        for part in ["contributes 8 bytes more than this process expects", "FERRITE_COLL_CHECK=1"] {
            assert!(said.contains(part), "no “{part}” in:\n{said}");
        }
    }
}

/// What is said about a mistake of the last of three ranks.
#[track_caller]
fn told(mistake: &str, parts: &[&str]) {
    let output = run("3", mistake);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    for part in parts {
        assert!(said.contains(part), "no “{part}” in:\n{said}");
    }
}

#[test]
fn another_root_is_named() {
    let names = "in MPI_Bcast, rank 2 names root 1, but ranks 0, 1 name root 0";
    told("root", &["the processes of MPI_COMM_WORLD disagree", names, "MPI_ERR_NOT_SAME"]);
}

#[test]
fn another_call_is_named() {
    told("call", &["rank 2 calls MPI_Reduce, but ranks 0, 1 call MPI_Bcast"]);
    told("communicators", &["rank 2 calls MPI_Comm_dup, but ranks 0, 1 call MPI_Comm_split"]);
}

#[test]
fn another_count_or_type_is_named() {
    told("count", &["in MPI_Bcast, rank 2 passes 2 MPI_INT, but ranks 0, 1 pass 4 MPI_INT"]);
    told("type", &["in MPI_Allreduce, rank 2 passes 4 MPI_FLOAT, but ranks 0, 1 pass 4 MPI_INT"]);
}

#[test]
fn another_operation_is_named() {
    told("operation", &["rank 2 passes MPI_MAX, but ranks 0, 1 pass MPI_SUM"]);
}

#[test]
fn counts_that_do_not_fit_are_named() {
    let sends = "rank 2 sends rank 0 3 MPI_INT, but rank 0 receives 2 MPI_INT from it";
    told("counts", &["in MPI_Gatherv", sends]);
}

#[test]
fn what_is_packed_is_no_measure_for_others() {
    told("packed", &["in MPI_Bcast, rank 2 passes 4 MPI_FLOAT, but rank 1 passes 4 MPI_INT"]);
}

#[test]
fn a_result_that_is_cut_otherwise_is_named() {
    let cuts = "rank 2 passes 6 MPI_INT in another arrangement, but ranks 0, 1 pass 6 MPI_INT";
    told("cuts", &["in MPI_Reduce_scatter", cuts]);
}

#[test]
fn nonblocking_and_persistent_calls_are_compared_too() {
    told("nonblocking", &["in MPI_Ibcast, rank 2 names root 1"]);
    told("persistent", &["in MPI_Allreduce_init, rank 2 passes 3 MPI_INT"]);
}

#[test]
fn what_two_disagree_about_fails_everywhere() {
    for ranks in ["2", "3", "4"] {
        let output = run(ranks, "between_two");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    }
}

#[test]
fn who_disagrees_with_itself_fails_everywhere() {
    for ranks in ["2", "3", "4"] {
        let output = run(ranks, "one_with_itself");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    }
}

#[test]
fn who_stands_beside_the_root_names_no_operation() {
    told(
        "between",
        &["of inter disagree: in MPI_Reduce, rank 2 passes MPI_MAX, but rank 0 passes MPI_SUM"],
    );
}

#[test]
fn calls_that_agree_go_through() {
    for ranks in ["1", "2", "3", "4"] {
        let output = run(ranks, "none");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    }
}
