//! What users see of their programs and are told about them: lines at the moment when they are printed, also those of a
//! rank that dies, and what the library lacks, whatever the program does with the error.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use testsuite::prefix::Prefix;

/// Compiles `faults/NAME.c` in a folder that goes with the test.
fn built(name: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("faults/{name}.c"));
    let program = folder.join(name);
    let mut mpicc = Prefix::find().unwrap().command("mpicc");
    mpicc.args(["-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&program);
    assert!(mpicc.status().unwrap().success());
    program
}

/// mpirun with so many ranks; it ends what hangs.
fn mpirun(ranks: &str) -> Command {
    let mut mpirun = Prefix::find().unwrap().command("mpirun");
    mpirun.args(["--timeout", "60", "-n", ranks]);
    mpirun
}

#[test]
fn lines_show_at_once_and_outlive_their_rank() {
    let folder = tempfile::tempdir().unwrap();
    let program = built("prints", folder.path());
    let mut run = mpirun("1");
    run.arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut job = run.spawn().unwrap();
    let mut answer = job.stdin.take().unwrap();
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines().map_while(Result::ok);
    for word in ["early", "inside"] {
        // The rank goes on when it is answered, and not before.
        assert_eq!(lines.next().as_deref(), Some(word));
        answer.write_all(b"x").unwrap();
    }
    assert_eq!(lines.next().as_deref(), Some("last"));
    assert_eq!(lines.next(), None, "an unfinished line is lost, as on a terminal");
    assert_eq!(job.wait().unwrap().code(), Some(128 + libc::SIGABRT));
}

#[test]
fn who_wants_full_buffers_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = built("prints", folder.path());
    let program = program.to_str().unwrap();
    let printed = |words: &[&str], setting: &str| {
        let mut run = mpirun("1");
        run.args(words).env("FERRITE_OUTPUT", setting).stdin(Stdio::null());
        String::from_utf8(run.output().unwrap().stdout).unwrap()
    };
    assert_eq!(printed(&[program], "lines"), "early\ninside\nlast\n");
    assert_eq!(printed(&[program], "full"), "");
    assert_eq!(printed(&[program, "own"], "lines"), "");
    // Another pipe than that to mpirun, and a file.
    let elsewhere = format!("{program} | cat; {program} > {0}; cat {0}", "file");
    let mut run = mpirun("1");
    run.args(["sh", "-c", &elsewhere]).current_dir(folder.path()).stdin(Stdio::null());
    assert_eq!(String::from_utf8(run.output().unwrap().stdout).unwrap(), "");
}

/// What a run of `lacks` says, with its status.
fn lacks(words: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut run = mpirun("2");
    run.arg(built("lacks", folder.path())).args(words);
    let Output { status, stderr, .. } = run.output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn what_is_not_implemented_is_said_once_though_errors_return() {
    let (status, said) = lacks(&[]);
    assert_eq!(status, Some(0), "{said}");
    for rank in 0..2 {
        for procedure in ["MPI_Comm_spawn", "MPI_Open_port"] {
            let own = said.lines().filter(|line| {
                line.starts_with(&format!("ferrite: rank {rank} on "))
                    && line.contains(&format!(": {procedure}: "))
            });
            assert_eq!(own.count(), 1, "{procedure} of rank {rank} in:\n{said}");
        }
    }
    assert_eq!(said.lines().count(), 4, "{said}");
    assert!(said.contains("mpirun -n N python -m mpi4py.futures SCRIPT"), "{said}");
}

#[test]
fn what_ends_the_job_is_not_said_twice() {
    let (status, said) = lacks(&["fatal"]);
    assert_eq!(status, Some(55), "{said}");
    assert_eq!(said.matches("MPI_Comm_spawn_multiple").count(), 1, "{said}");
}
