//! Both ends of PMI-1 against MPICH's: our ranks under its mpiexec, its programs under our mpirun.
//! The environment is made by `cargo xtask peers mpich`.

mod common;

use common::{MPIRUN, Run, good, mpirun, rank_program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of MPICH's environment.
fn mpich(name: &str) -> String {
    let target = Path::new(MPIRUN).ancestors().nth(2).unwrap();
    let file: PathBuf = target.join("peers/mpich/bin").join(name);
    assert!(file.exists(), "there is no {}: cargo xtask peers mpich", file.display());
    file.to_str().unwrap().to_string()
}

/// A program of MPICH's: sums the ranks, then does what its argument says.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int n, char **words) {
    int rank, sum;
    MPI_Init(&n, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d sum %d\n", rank, sum);
    if (n > 1 && rank == 1 && !strcmp(words[1], "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (n > 1 && rank == 1 && !strcmp(words[1], "leave")) _Exit(0);
    if (n > 1) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn our_ranks_under_hydra() {
    let (hydra, rank) = (mpich("mpiexec.hydra"), rank_program());
    for line in [&["-n", "3"][..], &["-pmi-port", "-n", "3"]] {
        let words: Vec<&str> = line.iter().copied().chain([rank.as_str(), "exchange"]).collect();
        let ended = Run::of(&hydra, &words).end_with_helpers();
        assert_eq!(ended.status, 0, "{}", ended.err);
        assert_eq!(ended.out.matches(" of 3 app Some(0)").count(), 3, "{}", ended.out);
    }
    let aborted = Run::of(&hydra, &["-n", "2", &rank, "abort", "9", "why"]);
    assert_eq!(aborted.end_with_helpers().status, 9);
}

#[test]
fn its_programs_under_our_mpirun() {
    let place = tempfile::tempdir().unwrap();
    let (source, program) = (place.path().join("sum.c"), place.path().join("sum"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compile = Command::new(mpich("mpicc"));
    good(&compile.arg("-o").args([&program, &source]).output().unwrap());
    let program = program.to_str().unwrap();
    let ended = mpirun(&["-n", "4", program]).end();
    assert_eq!((ended.status, ended.out.matches("sum 6").count()), (0, 4), "{}", ended.err);
    let ended = mpirun(&["-n", "3", program, "abort"]).end();
    assert_eq!(ended.status, 7, "{}", ended.err);
    let ended = mpirun(&["-n", "3", program, "leave"]).end();
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("rank 1") && ended.err.contains("MPI_Finalize"), "{}", ended.err);
    let ended = mpirun(&["-n", "2", program, ":", "-n", "1", "true"]).end();
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("without calling MPI_Init"), "{}", ended.err);
}
