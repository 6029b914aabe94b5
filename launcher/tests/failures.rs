//! Jobs that go wrong: the first failure counts, is told once, and the rest is ended.

mod common;

use common::{
    Ended, MPIRUN, Run, finish, mpirun, nothing_left, rank_program, read_until, signal, wait_until,
    with_a_late_failure,
};

fn run(arguments: &[&str]) -> Ended {
    mpirun(arguments).end()
}

fn one_paragraph(ended: &Ended, parts: &[&str]) {
    let own: Vec<&str> = ended.err.lines().filter(|l| l.starts_with("mpirun:")).collect();
    assert_eq!(own.len(), 1, "{}", ended.err);
    for part in parts {
        assert!(own[0].contains(part), "no “{part}” in {}", own[0]);
    }
}

/// Rank 1 does `what`, the others would run for an hour.
fn rank_one(what: &str) -> Ended {
    let script = format!("if [ $PMI_RANK = 1 ]; then {what}; fi; sleep 3600");
    run(&["-n", "3", "sh", "-c", &script])
}

#[test]
fn exit_codes_and_signals() {
    let ended = rank_one("exit 3");
    assert_eq!(ended.status, 3);
    one_paragraph(&ended, &["rank 1 (sh, pid ", "exit status 3", "2 other ranks"]);
    let ended = rank_one("kill -SEGV $$");
    assert_eq!(ended.status, 128 + 11);
    one_paragraph(&ended, &["rank 1 (sh, pid ", "signal 11 (SIGSEGV)"]);
    let ended = rank_one("kill -KILL $$");
    assert_eq!(ended.status, 128 + 9);
    one_paragraph(&ended, &["signal 9 (SIGKILL)"]);
}

#[test]
fn ranks_that_ignore_the_request_to_end_are_killed() {
    let script = "trap '' TERM INT HUP; if [ $PMI_RANK = 1 ]; then exit 4; fi; sleep 3600 & wait";
    assert_eq!(run(&["-n", "3", "sh", "-c", script]).status, 4);
}

#[test]
fn stopped_ranks_are_ended_too() {
    let script = "if [ $PMI_RANK = 1 ]; then sleep 0.2; exit 5; fi; kill -STOP $$";
    assert_eq!(run(&["-n", "2", "sh", "-c", script]).status, 5);
}

#[test]
fn aborts() {
    let rank = rank_program();
    let ended = run(&["-n", "3", &rank, "abort", "7", ""]);
    assert_eq!(ended.status, 7);
    one_paragraph(&ended, &["rank 1 (", "called MPI_Abort with code 7"]);
    let ended = run(&["-n", "3", &rank, "abort", "9", "the mesh is torn"]);
    assert_eq!(ended.status, 9);
    one_paragraph(&ended, &["the mesh is torn"]);
    assert_eq!(run(&["-n", "2", &rank, "abort", "512", ""]).status, 1);
}

#[test]
fn an_error_that_a_rank_tells_is_printed_once() {
    let ended = run(&["-n", "4", &rank_program(), "die", "15", "rank 1: MPI_Send: wrong tag"]);
    assert_eq!(ended.status, 15);
    one_paragraph(&ended, &["rank 1: MPI_Send: wrong tag"]);
}

#[test]
fn when_all_ranks_complain_at_once_the_words_of_one_are_printed() {
    for _ in 0..30 {
        let ended = run(&["-n", "6", &rank_program(), "all-abort", "55", "the mesh is torn"]);
        assert_eq!(ended.status, 55);
        one_paragraph(&ended, &["the mesh is torn"]);
    }
}

#[test]
fn the_rank_that_failed_is_heard_before_those_that_only_know_of_it() {
    let ended =
        run(&["-n", "3", &rank_program(), "secondary", "15", "rank 1: MPI_Bcast: no memory"]);
    assert_eq!(ended.status, 15);
    one_paragraph(&ended, &["rank 1: MPI_Bcast: no memory"]);
}

/// As a script does that ends by `sys.exit(3)` while the others are in a collective call.
#[test]
fn who_leaves_mpi_and_fails_is_heard_before_those_that_miss_it() {
    let ended = run(&["-n", "3", &rank_program(), "left", "3"]);
    assert_eq!(ended.status, 3);
    one_paragraph(&ended, &["rank 1 (", "exit status 3 after MPI_Finalize", "ranks 0, 2 are"]);
    let ended = run(&["-n", "3", &rank_program(), "left", "0"]);
    assert_eq!(ended.status, 16);
    one_paragraph(&ended, &["rank 1 has left"]);
}

#[test]
fn what_is_only_known_by_a_secondary_error_ends_the_job_as_well() {
    let ended = run(&["-n", "3", &rank_program(), "secondary", "0", ""]);
    assert_eq!(ended.status, 16);
    one_paragraph(&ended, &[": failed at rank 1"]);
}

#[test]
fn leaving_without_finalize() {
    let ended = run(&["-n", "3", &rank_program(), "desert"]);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["rank 1 (", "MPI_Finalize"]);
}

#[test]
fn a_rank_that_never_comes_to_init() {
    let rank = rank_program();
    let ended = run(&["-n", "2", &rank, "exchange", ":", "-n", "1", "true"]);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["rank 2 (true, pid ", "without calling MPI_Init"]);
}

#[test]
fn a_status_after_finalize_disturbs_nobody() {
    let ended = with_a_late_failure(mpirun(&["-n", "3", &rank_program(), "exit", "6"]));
    assert_eq!(ended.status, 6);
    assert_eq!(ended.out.matches("heard 3").count(), 2, "{}", ended.out);
    one_paragraph(&ended, &["rank 0", "exit status 6"]);
}

#[test]
fn garbage_instead_of_pmi() {
    let script = "printf 'hello\\n' >&$PMI_FD; sleep 3600";
    let ended = run(&["-n", "2", "bash", "-c", script]);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["sent mpirun something wrong"]);
    let script = "printf 'not a frame' >&$_FERRITE_CONTROL; sleep 3600";
    let ended = run(&["-n", "2", "bash", "-c", script]);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["sent mpirun something wrong"]);
}

#[test]
fn time_runs_out() {
    let ended = run(&["--timeout", "0.3", "-n", "2", "sleep", "3600"]);
    assert_eq!(ended.status, 124);
    one_paragraph(&ended, &["--timeout", "ranks 0, 1 still running"]);
    assert_eq!(run(&["--timeout", "3000", "-n", "2", "true"]).status, 0);
}

#[test]
fn a_hanging_job_tells_where() {
    let ended = run(&["--timeout", "2", "-n", "2", &rank_program(), "hang"]);
    assert_eq!(ended.status, 124);
    let part = "what the ranks are doing:\nmpirun:   ranks 0, 1: in MPI_Recv from rank 1, tag 7";
    assert!(ended.err.contains(part), "no “{part}” in {}", ended.err);
    assert!(ended.err.contains("ranks 0, 1 still between MPI_Init"), "{}", ended.err);
}

/// More ranks than processors, which leave MPI together otherwise.
#[test]
fn who_waits_for_a_rank_that_failed_after_mpi_is_ended() {
    let (rank, ours) = (rank_program(), std::thread::available_parallelism().unwrap().get());
    let ended = run(&["-n", "1", &rank, "exit", "3", ":", "-n", &ours.to_string(), &rank, "hang"]);
    assert_eq!(ended.status, 3);
    one_paragraph(&ended, &["rank 0 (", "exit status 3 after MPI_Finalize", "between MPI_Init"]);
}

#[test]
fn who_interrupts_a_hanging_job_hears_where_it_hangs() {
    for number in [2, 15] {
        let (mut child, mark) = mpirun(&["-n", "2", &rank_program(), "hang"]).start();
        let mut out = child.stdout.take().unwrap();
        let both = read_until(&mut out, "hangs\n") + &read_until(&mut out, "hangs\n");
        assert!(both.contains("rank 0 hangs") && both.contains("rank 1 hangs"));
        signal(child.id().cast_signed(), number);
        let ended = finish(child, &mark);
        assert_eq!(ended.status, 128 + number);
        for part in ["nothing has moved for", "ranks 0, 1: in MPI_Recv from rank 1, tag 7"] {
            assert!(ended.err.contains(part), "no “{part}” in {}", ended.err);
        }
        assert!(ended.err.contains("the job was ended by SIG"), "{}", ended.err);
    }
    // It sends its signal twice.
    let words = ["0.5", MPIRUN, "-n", "2", &rank_program(), "hang"];
    let ended = Run::of("timeout", &words).end();
    assert_eq!(ended.status, 124);
    assert!(ended.err.contains("nothing has moved for"), "{}", ended.err);
}

#[test]
fn who_saves_its_work_is_not_kept_waiting_for_where_it_hangs() {
    let script = format!("trap 'echo saved; exit 0' TERM; {} hang & wait", rank_program());
    let (mut child, mark) = mpirun(&["-n", "2", "sh", "-c", &script]).start();
    let mut out = child.stdout.take().unwrap();
    let _both = read_until(&mut out, "hangs\n") + &read_until(&mut out, "hangs\n");
    signal(child.id().cast_signed(), 15);
    let _saved = read_until(&mut out, "saved\n") + &read_until(&mut out, "saved\n");
    child.stdout = Some(out);
    let ended = finish(child, &mark);
    assert!(!ended.err.contains("nothing has moved"), "{}", ended.err);
}

/// As in the background of a script, where a shell has commands ignore what the keyboard sends.
#[test]
fn ranks_hear_the_signals_that_mpirun_was_started_to_ignore() {
    let script = "trap '' INT QUIT; exec \"$0\" -n 1 sh -c 'echo ready; exec sleep 3600'";
    let (mut child, mark) = Run::of("sh", &["-c", script, MPIRUN]).start();
    read_until(child.stdout.as_mut().unwrap(), "ready\n");
    let begin = std::time::Instant::now();
    signal(child.id().cast_signed(), 2);
    let ended = finish(child, &mark);
    assert_eq!(ended.status, 128 + 2, "{}", ended.err);
    assert!(begin.elapsed().as_secs() < 5, "it was killed in the end");
}

#[test]
fn signals_are_passed_on() {
    for (number, name) in [(2, "INT"), (15, "TERM"), (1, "HUP"), (10, "USR1"), (12, "USR2")] {
        let script = format!(
            "trap 'echo got {name}; exit 0' {name}; echo ready; \
                              while :; do sleep 0.01; done"
        );
        let (mut child, mark) = mpirun(&["-n", "2", "sh", "-c", &script]).start();
        let mut out = child.stdout.take().unwrap();
        read_until(&mut out, "ready\nready\n");
        signal(child.id().cast_signed(), number);
        read_until(&mut out, &format!("got {name}\ngot {name}\n"));
        assert_eq!(finish(child, &mark).status, 0, "{name}");
    }
}

#[test]
fn a_signal_that_nobody_handles_ends_the_job() {
    let (mut child, mark) = mpirun(&["-n", "2", "sh", "-c", "echo ready; sleep 3600"]).start();
    read_until(&mut child.stdout.take().unwrap(), "ready\nready\n");
    signal(child.id().cast_signed(), 15);
    let ended = finish(child, &mark);
    assert_eq!(ended.status, 128 + 15);
    one_paragraph(&ended, &["ended by SIGTERM"]);
}

#[test]
fn asking_twice_is_enough() {
    for number in [2, 15] {
        let script =
            format!("trap 'echo got it' {number}; echo ready; while :; do sleep 0.01; done");
        let (mut child, mark) = mpirun(&["-n", "2", "sh", "-c", &script]).start();
        let mut out = child.stdout.take().unwrap();
        read_until(&mut out, "ready\nready\n");
        signal(child.id().cast_signed(), number);
        read_until(&mut out, "got it\ngot it\n");
        signal(child.id().cast_signed(), number);
        let ended = finish(child, &mark);
        assert_eq!(ended.status, 128 + number);
        one_paragraph(&ended, &["the job was ended by SIG"]);
    }
}

#[test]
fn a_signal_of_another_kind_leaves_the_ranks_their_time() {
    let script = "trap 'echo hung up' HUP; trap 'sleep 0.3; echo saved; exit 0' TERM; echo ready; \
                  while :; do sleep 0.01; done";
    let (mut child, mark) = mpirun(&["-n", "2", "sh", "-c", script]).start();
    let mut out = child.stdout.take().unwrap();
    read_until(&mut out, "ready\nready\n");
    signal(child.id().cast_signed(), 1);
    read_until(&mut out, "hung up\nhung up\n");
    signal(child.id().cast_signed(), 15);
    read_until(&mut out, "saved\nsaved\n");
    assert_eq!(finish(child, &mark).status, 0);
}

#[test]
fn who_ends_by_a_handler_of_its_own_leaves_others_their_time() {
    let script = "trap '[ $PMI_RANK = 0 ] && sleep 1 && echo saved; exit 1' TERM; echo ready; \
                  while :; do sleep 0.01; done";
    let (mut child, mark) = mpirun(&["-n", "2", "sh", "-c", script]).start();
    let mut out = child.stdout.take().unwrap();
    read_until(&mut out, "ready\nready\n");
    signal(child.id().cast_signed(), 15);
    read_until(&mut out, "saved\n");
    let ended = finish(child, &mark);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["the job was ended by SIGTERM"]);
}

#[test]
fn what_the_script_of_a_rank_runs_has_its_time_too() {
    let saves = "trap 'sleep 1; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    let (mut child, mark) = mpirun(&["-n", "1", "sh", "-c", "sh -c \"$0\"; true", saves]).start();
    let mut out = child.stdout.take().unwrap();
    read_until(&mut out, "ready\n");
    signal(child.id().cast_signed(), 15);
    read_until(&mut out, "saved\n");
    finish(child, &mark);
}

#[test]
fn nohup_is_honoured() {
    let rank = "trap 'echo hung up' HUP; trap 'echo heard; exit 0' USR1; echo ready; \
                while :; do sleep 0.01; done";
    let script = "trap '' HUP; exec \"$0\" -n 2 env --default-signal=HUP sh -c \"$1\"";
    let (mut child, mark) = Run::of("sh", &["-c", script, MPIRUN, rank]).start();
    let mut out = child.stdout.take().unwrap();
    read_until(&mut out, "ready\nready\n");
    signal(child.id().cast_signed(), 1);
    signal(child.id().cast_signed(), 10);
    let heard = read_until(&mut out, "heard\nheard\n");
    assert!(!heard.contains("hung up"), "{heard}");
    assert_eq!(finish(child, &mark).status, 0);
}

#[test]
fn stop_and_continue() {
    let state = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    let script = "echo pid $$; read x; echo done";
    let run = mpirun(&["-n", "1", "sh", "-c", script]);
    let (mut child, mark) = run.with(|c| c.stdin(std::process::Stdio::piped())).start();
    let mut out = child.stdout.take().unwrap();
    let text = read_until(&mut out, "\n");
    let rank: i32 = text.trim().strip_prefix("pid ").unwrap().parse().unwrap();
    let mpirun = child.id().cast_signed();
    signal(mpirun, 20);
    wait_until("both stop", || state(rank) == Some('T') && state(mpirun) == Some('T'));
    signal(mpirun, 18);
    wait_until("both go on", || state(rank) != Some('T') && state(mpirun) != Some('T'));
    drop(child.stdin.take());
    assert_eq!(finish(child, &mark).status, 0);
}

#[test]
fn nothing_is_left_behind() {
    let daemon = "setsid sh -c 'trap \"\" TERM HUP; sleep 3600' >/dev/null 2>&1 &";
    for end in ["exit 0", "exit 3", "kill -9 $$"] {
        let script = format!("{daemon} {end}");
        run(&["-n", "2", "sh", "-c", &script]);
    }
}

#[test]
fn nothing_is_left_behind_when_mpirun_is_killed() {
    let script = "setsid sleep 3600 >/dev/null 2>&1 & sleep 3600 & echo ready; wait";
    for _ in 0..3 {
        let (mut child, mark) = mpirun(&["-n", "3", "sh", "-c", script]).start();
        read_until(&mut child.stdout.take().unwrap(), "ready\nready\nready\n");
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("everything ends", || common::marked(&mark).is_empty());
    }
}

#[test]
fn a_rank_killed_at_any_moment_ends_the_job() {
    let rank = rank_program();
    let script = format!(
        "(sleep 0.0$(($$ % 10)); kill -9 $$) & while :; do {rank} exchange \
                          >/dev/null 2>&1; done"
    );
    for _ in 0..10 {
        let ended = run(&["-n", "1", "sh", "-c", &script, ":", "-n", "2", "sleep", "3600"]);
        assert_eq!(ended.status, 128 + 9, "{}", ended.err);
        one_paragraph(&ended, &["rank 0", "signal 9"]);
    }
}

#[test]
fn whoever_stops_reading_ends_the_job() {
    let (mut child, mark) = mpirun(&["-n", "2", "yes"]).start();
    read_until(&mut child.stdout.take().unwrap(), "y\ny\n");
    let ended = finish(child, &mark);
    assert_eq!((ended.status, ended.err.as_str()), (128 + 13, ""));
    nothing_left(&mark);
}
