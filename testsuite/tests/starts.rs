//! What stands between mpirun and a rank, or around mpirun: closed files, other users, namespaces,
//! a missing environment. Each run succeeds or says why not; none hangs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;
use testsuite::hosts::skipped;
use testsuite::prefix::{Prefix, clean};
use testsuite::programs;

/// No run takes this long unless it hangs.
const HANG: &str = "30";

/// Where a test runs its scripts.
struct Stage {
    /// All users can reach it.
    folder: TempDir,
}

impl Stage {
    /// With the program `alltoall`, which says `ok`.
    fn new() -> Stage {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("its mode");
        let stage = Stage { folder };
        fs::copy(compiled(), stage.program()).expect("a copy");
        stage
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// Runs a script of bash that knows `$mpirun` and `$program`; its status and what it printed,
    /// and complained of.
    fn run(&self, script: &str) -> (i32, String) {
        let mut command = clean("timeout".as_ref());
        command.args([HANG, "bash", "-c", script]).env("program", self.program());
        command.env("mpirun", Prefix::find().expect("a prefix").bin("mpirun"));
        let output = command.output().expect("bash runs");
        let text = [&output.stdout[..], &output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    /// Runs scripts that succeed without a word but the program's.
    fn succeed(&self, scripts: &[&str]) {
        let failed = scripts.iter().filter_map(|script| {
            let (status, text) = self.run(script);
            (status != 0 || text != "ok\n").then(|| format!("{script}\n{status}: {text}"))
        });
        let failed: Vec<String> = failed.collect();
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}

/// The program, compiled once.
fn compiled() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("starts");
        fs::create_dir_all(&into).expect("a folder");
        let prefix = Prefix::find().expect("a prefix");
        let programs = programs::chosen(&["alltoall"]).expect("a program of the manifest");
        programs[0].compile(&prefix, &into).expect("it compiles")
    })
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n")
}

/// Whether a command succeeds that needs what a machine may forbid.
fn can(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn wrappers_that_close_descriptors_stand_between() {
    let stage = Stage::new();
    stage.succeed(&[
        "$mpirun -n 2 python3 -c \"import subprocess; subprocess.run(['$program'], check=True)\"",
        "$mpirun -n 3 bash -c 'exec {PMI_FD}>&- {_FERRITE_CONTROL}>&-; exec $program'",
        "FERRITE_TRANSPORT=tcp $mpirun -n 2 bash -c 'exec {PMI_FD}>&-; exec $program'",
    ]);
}

#[test]
fn an_mpi_program_started_by_an_mpi_program_is_refused_and_told_why() {
    let inner = "import subprocess, ctypes, sys
mpi = ctypes.CDLL('libmpi_abi.so.1', ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
code = subprocess.run([sys.argv[1]]).returncode
mpi.MPI_Finalize()
sys.exit(0 if code else 1)";
    let (status, text) = Stage::new().run(&format!("$mpirun -n 2 python3 -c \"{inner}\" $program"));
    assert_eq!(status, 0, "{text}");
    for rank in 0..2 {
        assert!(text.contains(&format!("this process cannot be rank {rank}: ")), "{text}");
    }
    assert!(text.contains("FERRITE_SINGLETON=1"), "{text}");
}

#[test]
fn standard_streams_are_missing() {
    let stage = Stage::new();
    // What a rank prints to a stream that it lacks must not come to its memory or to other ranks.
    stage.succeed(&[
        "$mpirun -n 2 $program <&-",
        "$mpirun -n 2 $program 2>&-",
        "$mpirun -n 2 $program <&- >&- 2>&- && echo ok",
        "$mpirun -n 2 bash -c 'exec $program <&- 2>&-'",
        "$mpirun -n 2 bash -c 'exec $program <&- >&- 2>&-' && echo ok",
        "FERRITE_TRANSPORT=tcp $mpirun -n 2 bash -c 'exec $program <&- >&- 2>&-' && echo ok",
        "$mpirun -n 2 bash -c 'exec {PMI_FD}>&- <&- >&- 2>&-; exec $program' && echo ok",
    ]);
    let outer = "import os, ctypes
os.close(1)
mpi = ctypes.CDLL('libmpi_abi.so.1', ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
where = os.readlink('/proc/self/fd/1')
mpi.MPI_Finalize()
assert where == '/dev/null', where";
    stage.succeed(&[&format!("$mpirun -n 1 python3 -c \"{outer}\" && echo ok")]);
}

#[test]
fn little_is_set_and_little_is_there() {
    let stage = Stage::new();
    stage.succeed(&[
        "env -i $mpirun -n 2 $program",
        "unset HOME TMPDIR PATH; $mpirun -n 2 $program",
        "TMPDIR=/nowhere HOME=/nowhere $mpirun -n 2 $program",
        "setsid -w $mpirun -n 2 $program",
        "nohup $mpirun -n 2 $program 2>/dev/null",
    ]);
    let gone = "cd $(mktemp -d) && rmdir $PWD && $mpirun -n 2 $program";
    let (status, text) = stage.run(gone);
    assert!(status == 2 && text.contains("working directory has been removed"), "{status}: {text}");
}

#[test]
fn small_limits_run_or_are_named() {
    let stage = Stage::new();
    for limit in [7, 9, 12, 16, 20, 24] {
        let (status, text) = stage.run(&format!("ulimit -n {limit}; $mpirun -n 2 $program"));
        let is_told = status == 2 && text.contains("raise the limit of open files (ulimit -n)");
        assert!(status == 0 || is_told, "{limit}: {status}: {text}");
    }
    for limit in [6, 7, 8] {
        let (status, text) =
            stage.run(&format!("$mpirun -n 2 bash -c 'ulimit -n {limit}; exec $program'"));
        assert!(status == 0 || text.contains("open files"), "{limit}: {status}: {text}");
    }
}

#[test]
fn a_network_that_runs_out_of_descriptors_takes_more_or_says_so() {
    let stage = Stage::new();
    let run = |limit: &str| {
        stage.run(&format!(
            "export FERRITE_TRANSPORT=tcp FERRITE_TCP_PATIENCE=1s; \
             $mpirun -n 2 bash -c 'ulimit {limit}; exec $program'"
        ))
    };
    // How many are enough depends on what this test was started with.
    let enough = (7..20).find(|limit| {
        let (status, text) = run(&format!("-n {limit}"));
        assert!(status == 0 || text.contains("open files"), "{limit}: {status}: {text}");
        status == 0
    });
    // The soft limit alone gives way.
    let less = enough.expect("20 descriptors are enough") - 1;
    assert_eq!(run(&format!("-Sn {less}")), (0, "ok\n".to_string()));
}

#[test]
fn ranks_of_different_users_meet() {
    if !is_root() {
        return skipped("ranks of different users", "needs root").expect("a note");
    }
    let stage = Stage::new();
    let as_user = |user: u32| format!("-n 2 setpriv --reuid {user} --clear-groups $program");
    let (one, two) = (as_user(1001), as_user(1002));
    let unreadable = stage.program().with_extension("x");
    fs::copy(stage.program(), &unreadable).expect("a copy");
    fs::set_permissions(unreadable, Permissions::from_mode(0o711)).expect("its mode");
    stage.succeed(&[
        &format!("$mpirun {one} : {two}"),
        &format!("$mpirun -n 1 $program : {two}"),
        &format!("FERRITE_SHM_BULK=cross_memory $mpirun {one} : {two}"),
        &format!("FERRITE_TRANSPORT=tcp $mpirun {one} : {two}"),
        // Nobody may look into a process that its user may not read.
        &format!("$mpirun {one}.x : {two}.x"),
        "$mpirun -n 2 setpriv --reuid 1001 --clear-groups \
         bash -c 'exec {PMI_FD}>&-; exec $program'",
    ]);
}

#[test]
fn ranks_in_namespaces_meet_or_say_why_not() {
    if !can(&["unshare", "-U", "-p", "-f", "true"]) || !can(&["unshare", "-Urn", "true"]) {
        return skipped("ranks in namespaces", "the kernel gives none").expect("a note");
    }
    let stage = Stage::new();
    stage.succeed(&[
        "$mpirun -n 2 unshare -U $program",
        "$mpirun -n 1 unshare -Ur $program : -n 1 $program",
        "$mpirun -n 2 unshare -Ur -p -f $program",
    ]);
    let (status, text) = stage.run("$mpirun -n 1 unshare -Urn $program : -n 1 $program");
    assert!(status != 0 && text.contains("network namespace"), "{status}: {text}");
    let closed = "exec {PMI_FD}>&-; exec unshare -Urn $program";
    let (status, text) = stage.run(&format!("$mpirun -n 1 bash -c '{closed}'"));
    assert!(status != 0 && text.contains("network namespace"), "{status}: {text}");
}

#[test]
fn who_closes_the_library_s_descriptors_ends_the_job_and_no_job_hangs() {
    let stage = Stage::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/closes.c");
    let closes = stage.folder.path().join("closes");
    let mut compiler = Prefix::find().expect("a prefix").command("mpicc");
    let compiled = compiler.arg("-o").arg(&closes).arg(source).output().expect("a compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    // Which of the two meets the other first differs from run to run.
    for _ in 0..8 {
        let (status, text) = stage.run(&format!("$mpirun -n 2 {}", closes.display()));
        assert!(!matches!(status, 0 | 124) && text.contains("mpirun: rank"), "{status}: {text}");
        assert!(!text.contains("wrong"), "{text}");
    }
}
