//! Programs that go wrong in ways that only a real library can see: an abort, and memory that the
//! host cannot reach.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testsuite::hosts::skipped;
use testsuite::prefix::Prefix;

/// A compiled program and where it lies.
struct Built {
    prefix: Prefix,
    folder: tempfile::TempDir,
}

impl Built {
    /// Compiles `faults/NAME.c`.
    fn new(name: &str) -> Built {
        let built = Built { prefix: Prefix::find().unwrap(), folder: tempfile::tempdir().unwrap() };
        let mut mpicc = built.prefix.command("mpicc");
        mpicc.arg(source(name)).arg("-o").arg(built.folder.path().join(name)).arg("-ldl");
        assert!(mpicc.status().unwrap().success());
        built
    }

    fn run(&self, ranks: &str, words: &[&str]) -> Output {
        let program = words[0];
        let mut mpirun = self.prefix.command("mpirun");
        mpirun.args(["-n", ranks]).arg(self.folder.path().join(program)).args(&words[1..]);
        mpirun.output().unwrap()
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("faults/{name}.c"))
}

#[test]
fn an_abort_ends_the_job_with_its_code_and_one_paragraph() {
    let built = Built::new("abort");
    let ended = built.run("3", &["abort", "7"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(7), "{said}");
    assert!(said.contains("rank 1") && said.contains("MPI_Abort"), "{said}");
    assert!(said.contains("MPI_COMM_WORLD") && said.contains("code 7"), "{said}");
    assert_eq!(said.matches("mpirun:").count(), 1, "{said}");
}

/// Nobody waits for ever for a rank that has left, and the job says who that is: not the line of one that only heard
/// that another failed.
#[test]
fn a_rank_that_leaves_the_others_in_a_collective_is_named() {
    let built = Built::new("leaves");
    let calls = [
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "reduce",
        "allreduce",
        "blocks",
        "barrier",
        "begun",
    ];
    for call in calls {
        for (bytes, ranks_of_a_node) in [("8", "4"), ("4000", "4"), ("300000", "4"), ("8", "2")] {
            let mut mpirun = built.prefix.command("mpirun");
            mpirun.args(["-n", "4", "--timeout", "60"]).env("FERRITE_NODE_RANKS", ranks_of_a_node);
            mpirun.arg(built.folder.path().join("leaves")).args([call, bytes]);
            let said = mpirun.output().unwrap().stderr;
            let said = String::from_utf8_lossy(&said);
            let named = said.contains("rank 3 of the job has called MPI_Finalize and left");
            assert!(named, "{call} of {bytes} bytes, {ranks_of_a_node} ranks a node: {said}");
        }
    }
}

#[test]
fn who_waits_for_a_rank_that_has_left_hears_of_the_message_that_it_sent_instead() {
    let built = Built::new("leaves");
    let tag = "What is here from rank 1 has tag 8, and what is asked for has tag 7.";
    let comm = "rank 1 of the job, with tag 7, was sent on another communicator.";
    for (ranks_of_a_node, mistake, instead) in [
        ("1", "wrong_tag", tag),
        ("2", "wrong_tag", tag),
        ("1", "wrong_communicator", comm),
        ("2", "wrong_communicator", comm),
    ] {
        let mut mpirun = built.prefix.command("mpirun");
        mpirun.args(["-n", "2", "--timeout", "60"]).env("FERRITE_NODE_RANKS", ranks_of_a_node);
        mpirun.arg(built.folder.path().join("leaves")).args([mistake, "8"]);
        let said = mpirun.output().unwrap().stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("rank 1 of the job has called") && said.contains(instead), "{said}");
    }
}

#[test]
fn a_handle_that_names_nothing_is_shown_as_the_program_has_it() {
    let built = Built::new("handle");
    for (words, what) in [
        (&["handle"][..], "(comm) was freed."),
        (&["handle", "0x4400077000"], "(comm) is 0x4400077000, which names no communicator."),
        (&["handle", "0x44000000"], "(comm) is 0x44000000, which is no handle."),
        (&["handle", "0"], "(comm) is 0x0, which names no communicator."),
    ] {
        let said = built.run("1", words).stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(what), "{what}: {said}");
    }
}

#[test]
fn a_driver_that_is_not_loaded_is_not_looked_for() {
    let built = Built::new("load");
    let mut mpirun = built.prefix.command("mpirun");
    mpirun.env("LD_DEBUG", "libs").args(["-n", "2"]).arg(built.folder.path().join("load"));
    let ended = mpirun.arg("0").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("find library="), "{said}");
    let sought: Vec<_> = said.lines().filter(|line| line.contains("find library=")).collect();
    let drivers = ["libcuda", "libamdhip64"];
    assert!(
        !sought.iter().any(|line| drivers.iter().any(|name| line.contains(name))),
        "{sought:?}"
    );
}

#[test]
fn memory_of_a_device_is_refused_and_never_touched() {
    let built = Built::new("device");
    // The name that programs know the driver by; nothing of the machine's own is asked.
    let driver = built.folder.path().join("libcuda.so.1");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]).arg(source("driver"));
    assert!(cc.arg("-o").arg(&driver).status().unwrap().success());
    let ended = built.run("2", &["device", driver.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{}{said}", String::from_utf8_lossy(&ended.stdout));
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "ok\nok\n");
}

#[test]
fn a_shared_file_pointer_is_not_that_of_a_job_that_was_killed() {
    let built = Built::new("appends");
    let folder = tempfile::tempdir().unwrap();
    // Where processes are counted from 1, a program that nobody launched has the same job each time.
    let run = || {
        let mut unshare = testsuite::prefix::clean(Path::new("unshare"));
        unshare.args(["--map-root-user", "--pid", "--fork", "sh", "-c", "\"$0\" \"$1\"; echo $?"]);
        unshare.env("LD_LIBRARY_PATH", built.prefix.lib(""));
        unshare.arg(built.folder.path().join("appends")).arg(folder.path()).output()
    };
    const KILLED: &str = "0\n137\n";
    for _ in 0..2 {
        let ended = run().expect("unshare of util-linux");
        let said = String::from_utf8_lossy(&ended.stderr);
        if said.contains("unshare:") {
            return skipped(
                "a_shared_file_pointer_is_not_that_of_a_job_that_was_killed",
                said.trim(),
            )
            .expect("it is counted");
        }
        assert_eq!(String::from_utf8_lossy(&ended.stdout), KILLED, "{said}");
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["log"], "the pointer was all its processes' own");
    }
}
