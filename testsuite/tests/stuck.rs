//! Jobs that wait for ever say why: `mpirun --stuck-after` names who waits in which call, for whom,
//! and who is missing. Each job is ended as soon as it has said so.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use testsuite::prefix::Prefix;

/// The compiled program; it stays where cargo keeps the tests' files.
fn program() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stuck");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/stuck.c");
        let mut mpicc = Prefix::find().unwrap().command("mpicc");
        mpicc.args(["-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&program);
        assert!(mpicc.status().unwrap().success());
        program
    })
}

/// A job that is told when nothing has moved for a second.
fn job(ranks: &str, reason: &str) -> Command {
    let mut mpirun = Prefix::find().unwrap().command("mpirun");
    mpirun.args(["--stuck-after", "1", "--timeout", "100", "-n", ranks]).arg(program()).arg(reason);
    mpirun
}

/// What mpirun says about a job that is stuck, up to the line that draws the conclusion.
fn told(ranks: &str, reason: &str) -> String {
    told_by(job(ranks, reason))
}

fn told_by(mut mpirun: Command) -> String {
    let mut job = mpirun.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(job.stderr.take().unwrap()).lines() {
        said += &line.unwrap();
        said.push('\n');
        if said.contains("deadlock") || said.contains("missing") {
            break;
        }
    }
    job.kill().unwrap();
    job.wait().unwrap();
    said
}

#[track_caller]
fn contains(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "no “{part}” in:\n{said}");
    }
}

#[test]
fn two_send_to_each_other() {
    let said = told("2", "head_to_head");
    let zero = "rank 0: in MPI_Ssend(dest 1, tag 3) on MPI_COMM_WORLD, waiting for rank 1\n";
    contains(
        &said,
        &["nothing has moved for", zero, "rank 1: in MPI_Ssend(dest 0, tag 3)", "deadlock"],
    );
}

#[test]
fn a_wrong_tag_is_named() {
    let said = told("2", "wrong_tag");
    let here = "rank 0: in MPI_Recv(source 1, tag 7) on MPI_COMM_WORLD; \
                what is here from rank 1 has tag 8";
    contains(&said, &[here, "rank 1: in MPI_Recv(source 0, tag 7)", "deadlock"]);
}

#[test]
fn a_wrong_communicator_is_named() {
    let said = told("2", "wrong_communicator");
    let here = "rank 0: in MPI_Recv(source 1, tag 7) on MPI_COMM_WORLD; \
                what is here from rank 1 has tag 7, but was sent on grid";
    contains(&said, &[here, "rank 1: in MPI_Recv(source 0, tag 7)", "deadlock"]);
}

#[test]
fn who_is_missing_in_a_collective_is_named() {
    let said = told("4", "missing");
    let others = "ranks 0, 2, 3: in MPI_Allreduce(collective ";
    let lack = ") on MPI_COMM_WORLD, waiting for rank 1\n";
    contains(&said, &[others, lack, "rank 1: in MPI_Recv(source 0, tag 7)", "deadlock"]);
}

#[test]
fn who_is_missing_in_a_collective_that_has_only_begun_is_named() {
    let said = told("4", "missing_in_begun");
    let lack = ") on MPI_COMM_WORLD, waiting for rank 1\n";
    contains(&said, &["ranks 0, 2, 3: in MPI_Wait(collective ", lack, "deadlock"]);
}

#[test]
fn who_does_not_read_what_a_root_has_for_all_is_named() {
    for (reason, who) in [
        ("unread", "ranks 0, 1, 3: in MPI_Bcast(collective "),
        ("unread_blocks", "rank 3: in MPI_Scatter(collective "),
        ("unread_begun", "ranks 0, 1, 3: in MPI_Wait(collective "),
    ] {
        let said = told("4", reason);
        let lack = ") on MPI_COMM_WORLD, waiting for rank 2";
        assert!(said.lines().any(|line| line.contains(who) && line.ends_with(lack)), "{said}");
        contains(&said, &["rank 2: in MPI_Recv(source 0, tag 7)", "deadlock"]);
    }
}

#[test]
fn a_collective_across_nodes_is_one() {
    let mut mpirun = job("4", "missing");
    mpirun.env("FERRITE_NODE_RANKS", "2");
    let said = told_by(mpirun);
    let reasons = ["on MPI_COMM_WORLD, waiting for rank 1\n", "rank 1: in MPI_Recv", "deadlock"];
    contains(&said, &reasons);
    let numbers: Vec<&str> = said.split("(collective ").skip(1).collect();
    let of = |text: &str| text.split(')').next().map(str::to_owned);
    assert!(!said.contains("(node"), "{said}");
    assert!(numbers.iter().all(|text| of(text) == of(numbers[0])), "{said}");
}

#[test]
fn ranks_are_those_of_the_job() {
    let said = told("3", "reversed");
    let here =
        "rank 0: in MPI_Recv(source 0, tag 7) on reversed; what is here from rank 2 has tag 8";
    contains(&said, &[here, "deadlock"]);
}

#[test]
fn who_is_outside_of_mpi_is_named() {
    let said = told("3", "computing");
    contains(&said, &["ranks 0, 2: in MPI_Barrier(collective ", "rank 1 is missing"]);
    assert!(!said.contains("deadlock"), "{said}");
}

#[test]
fn collectives_in_another_order_are_named() {
    let said = told("3", "crossed");
    contains(&said, &["ranks 0, 2: in MPI_Barrier", "on first, waiting for rank 1\n"]);
    contains(&said, &["rank 1: in MPI_Barrier", "on second, waiting for", "deadlock"]);
}

#[test]
fn who_is_missing_between_two_groups_is_named() {
    let circle =
        "a circle: rank 0 waits for rank 2 waits for rank 3 waits for rank 1 waits for rank 0\n";
    let said = told("4", "between");
    let others = "ranks 0-2: in MPI_Barrier(collective 0) on inter, waiting for rank 3\n";
    contains(&said, &[others, "rank 3: in MPI_Recv(source 1, tag 9)", circle, "deadlock"]);
    let said = told("4", "between_kept");
    let others = "ranks 0-2: in MPI_Wait(collective 0) on inter, waiting for rank 3\n";
    contains(&said, &[others, circle, "deadlock"]);
}

#[test]
fn a_ring_of_receives_is_a_deadlock() {
    let said = told("3", "ring_of_receives");
    let line = "rank 0: in MPI_Recv(source 2, tag 5) on MPI_COMM_WORLD, waiting for rank 2\n";
    let circle = "a circle: rank 0 waits for rank 2 waits for rank 1 waits for rank 0\n";
    contains(&said, &[line, circle, "deadlock: every rank waits"]);
}

#[test]
fn the_receive_that_lacks_its_message_is_named() {
    let said = told("2", "never_sent");
    contains(&said, &["rank 0: in MPI_Waitall(source 1, tag 2) on MPI_COMM_WORLD", "deadlock"]);
}

#[test]
fn a_slow_job_in_which_locks_change_hands_is_not_stuck() {
    let output = job("2", "taking_turns").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("nothing has moved"), "{said}");
}

#[test]
fn who_waits_for_a_lock_waits_for_nothing_else() {
    let said = told("2", "locked");
    contains(&said, &["rank 0: in MPI_Win_lock(target 0) on counters\n", "rank 1: in MPI_Barrier"]);
    contains(&said, &["deadlock: every rank waits"]);
    assert!(!said.contains("a circle"), "{said}");
}

#[test]
fn one_of_several_messages_makes_no_circle() {
    let said = told("3", "any_of_two");
    let any = "rank 0: in MPI_Waitany(source 1, tag 7, or another) on MPI_COMM_WORLD\n";
    contains(&said, &[any, "rank 2 is missing"]);
    assert!(!said.contains("a circle"), "{said}");
}

#[test]
fn who_has_left_is_not_missing() {
    let said = told("3", "left");
    contains(&said, &["a circle: rank 1 waits for rank 2", "perhaps a deadlock", "have left MPI"]);
    assert!(!said.contains("missing"), "{said}");
}
