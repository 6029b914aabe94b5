//! Jobs that go well: ranks, programs, variables, places, spellings.

mod common;

use common::{Run, mpirun, rank_program};
use std::fs;
use std::process::Command;

/// The lines of a run that succeeded without a word, sorted.
fn lines(arguments: &[&str]) -> Vec<String> {
    let ended = mpirun(arguments).end();
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{arguments:?}");
    let mut lines: Vec<String> = ended.out.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn anything_runs() {
    assert_eq!(lines(&["-n", "3", "echo", "hello"]), ["hello"; 3]);
    assert_eq!(lines(&["echo", "-n", "5"]).len(), 1);
    assert_eq!(Run::of(env!("CARGO_BIN_EXE_mpiexec"), &["-n", "2", "true"]).end().status, 0);
}

#[test]
fn ranks_know_their_place_in_three_languages() {
    let script = "echo $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS \
                  $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK \
                  $OMPI_COMM_WORLD_LOCAL_SIZE $OMPI_COMM_WORLD_NODE_RANK \
                  $MV2_COMM_WORLD_RANK $MV2_COMM_WORLD_SIZE $MV2_COMM_WORLD_LOCAL_RANK";
    let expected = ["0 2 0 2 0 2 0 2 0 0 2 0", "1 2 1 2 1 2 1 2 1 1 2 1"];
    assert_eq!(lines(&["-n", "2", "sh", "-c", script]), expected);
}

#[test]
fn ranks_exchange_cards() {
    let rank = rank_program();
    let got = lines(&["-n", "2", &rank, "exchange", ":", "-n", "3", &rank, "exchange"]);
    assert_eq!(got.len(), 5);
    assert!(got[1].starts_with("rank 1 of 5 app Some(0)"), "{got:?}");
    assert!(got[4].starts_with("rank 4 of 5 app Some(1)"), "{got:?}");
    assert!(got[4].ends_with("local Some(4)"), "{got:?}");
}

/// The lines that one more rank than there are processors write about how they leave.
fn leave_lines(how: &str) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("lines");
    let ranks = std::thread::available_parallelism().unwrap().get() + 1;
    lines(&["-n", &ranks.to_string(), &rank_program(), how, file.to_str().unwrap()]);
    let lines: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(String::from).collect();
    assert_eq!(lines.len(), ranks);
    lines
}

#[test]
fn ranks_that_share_processors_leave_together() {
    assert_eq!(leave_lines("linger")[0], "0 leaves");
}

#[test]
fn nobody_waits_for_others_at_exit() {
    assert_eq!(leave_lines("linger-at-exit").last().unwrap(), "0 leaves");
}

#[test]
fn two_programs_one_after_the_other_in_each_rank() {
    let rank = rank_program();
    let script = format!("{rank} exchange && {rank} exchange");
    assert_eq!(lines(&["-n", "2", "sh", "-c", &script]).len(), 4);
}

#[test]
fn a_program_follows_one_that_has_left_at_its_exit() {
    let place = tempfile::tempdir().unwrap();
    let (rank, file) = (rank_program(), place.path().join("lines"));
    let script = format!("{rank} linger-at-exit {} && {rank} exchange", file.display());
    assert_eq!(lines(&["-n", "2", "sh", "-c", &script]).len(), 2);
}

#[test]
fn who_started_mpirun_may_ignore_the_ends_of_children() {
    let words = ["--ignore-signal=CHLD", common::MPIRUN, "-n", "2", "sh", "-c", "exit 3"];
    assert_eq!(Run::of("env", &words).end().status, 3);
}

#[test]
fn settings_that_are_not_for_this_user_are_none() {
    for home in ["/dev/null", "/proc/1/root/nowhere"] {
        let run = mpirun(&["-n", "1", "true"]).with(|command| command.env("HOME", home));
        let ended = run.end();
        assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{home}");
    }
}

#[test]
fn several_programs_with_their_own_options() {
    let got = lines(&[
        "-n",
        "1",
        "-wdir",
        "/",
        "sh",
        "-c",
        "echo a $PMI_RANK $(pwd)",
        ":",
        "-n",
        "2",
        "-env",
        "X",
        "5",
        "-wdir",
        "/proc",
        "sh",
        "-c",
        "echo b $PMI_RANK $X $(pwd)",
    ]);
    assert_eq!(got, ["a 0 /", "b 1 5 /proc", "b 2 5 /proc"]);
}

#[test]
fn a_directory_is_told_in_pwd() {
    for (place, told) in [("/", "/"), ("/usr/.", "/usr")] {
        assert_eq!(lines(&["-n", "1", "-wdir", place, "printenv", "PWD"]), [told]);
    }
    // Where it leads is known on the host alone.
    assert_eq!(mpirun(&["-n", "1", "-wdir", "/usr/..", "printenv", "PWD"]).end().status, 1);
}

#[test]
fn a_variable_that_is_not_there_is_no_obstacle() {
    let ended = mpirun(&["-x", "NO_SUCH_VARIABLE", "-n", "2", "echo", "x"]).end();
    assert_eq!((ended.status, ended.out.as_str()), (0, "x\nx\n"), "{}", ended.err);
    assert!(ended.err.contains("-x NO_SUCH_VARIABLE=VALUE"), "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1);
}

#[test]
fn variables_pass_as_asked() {
    let show = ["sh", "-c", "echo ${A-none} ${B-none} ${C-none}"];
    let run = |options: &[&str]| {
        let words: Vec<&str> = options.iter().chain(&show).copied().collect();
        let ended = mpirun(&words).with(|c| c.env("A", "1").env("B", "2")).end();
        assert_eq!(ended.status, 0, "{}", ended.err);
        ended.out.trim().to_string()
    };
    assert_eq!(run(&[]), "1 2 none");
    assert_eq!(run(&["-x", "A", "-x", "C=x y"]), "1 2 x y");
    assert_eq!(run(&["-genv", "C", "3", "-genvlist", "PATH,B"]), "none 2 3");
    assert_eq!(run(&["-genv", "C=3", "-env", "C", "4", "-envnone", "-x", "PATH"]), "none none 4");
}

#[test]
fn a_file_of_programs() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("programs");
    let text = "# two of them\n-n 1 echo 'one  program'\n-n 2 \\\n  echo other\n";
    std::fs::write(&file, text).unwrap();
    let got = lines(&["-configfile", file.to_str().unwrap()]);
    assert_eq!(got, ["one  program", "other", "other"]);
    let got = lines(&["-l", "-configfile", file.to_str().unwrap()]);
    assert_eq!(got, ["[0] one  program", "[1] other", "[2] other"]);
}

#[test]
fn another_launchers_job_does_not_leak_in() {
    let script = "echo ${PMIX_RANK-none} ${PMI_RANK-none} ${OMPI_COMM_WORLD_SIZE-none}";
    fn outer(c: &mut Command) -> &mut Command {
        c.env("PMIX_RANK", "7").env("PMI_RANK", "7").env("OMPI_COMM_WORLD_SIZE", "9")
    }
    let ended = mpirun(&["-n", "1", "sh", "-c", script]).with(outer).end();
    assert_eq!(ended.out.trim(), "none 0 1");
}

#[test]
fn a_job_inside_a_job() {
    let (me, rank) = (common::MPIRUN, rank_program());
    let got = lines(&["-n", "2", me, "-n", "2", &rank, "exchange"]);
    assert_eq!(got.len(), 4);
    assert!(got.iter().all(|line| line.contains(" of 2 ")), "{got:?}");
}

#[test]
fn programs_are_found_on_extra_paths() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("my-program");
    std::fs::write(&file, "#!/bin/sh\necho found\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&file, mode).unwrap();
    assert_eq!(lines(&["-path", place.path().to_str().unwrap(), "my-program"]), ["found"]);
}

#[test]
fn options_of_other_launchers_are_accepted() {
    let hydra = "-l -genvall -bind-to none -map-by core -ppn 2 -rr -hosts localhost,127.0.0.1:2 \
                 -launcher fork -iface lo -np 2 true";
    let ompi = "--allow-run-as-root --oversubscribe --bind-to none --map-by slot -H localhost:4 \
                --use-hwthread-cpus --np 2 true";
    for line in [hydra, ompi] {
        assert!(lines(&line.split_whitespace().collect::<Vec<_>>()).is_empty());
    }
    let mca = mpirun(&["--mca", "btl", "self,sm", "--mca", "pml", "ob1", "true"]).end();
    assert_eq!(mca.status, 0);
    assert_eq!(mca.err.lines().count(), 1, "{}", mca.err);
    assert!(mca.err.contains("btl, pml (here: FERRITE_TRANSPORT)"), "{}", mca.err);
    assert!(lines(&["-q", "--mca", "pml", "ob1", "true"]).is_empty());
}

#[test]
fn many_ranks() {
    assert_eq!(lines(&["-n", "100", "echo", "x"]).len(), 100);
}

#[test]
fn a_bound_rank_has_one_core_and_a_free_one_what_mpirun_has() {
    let shown = ["grep", "Cpus_allowed:", "/proc/self/status"];
    let run = |bind: &str| -> u32 {
        let got = lines(&[&["--bind-to", bind], &shown[..]].concat());
        let mask = got[0].split_whitespace().last().unwrap().replace(',', "");
        mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum()
    };
    let ours = std::thread::available_parallelism().unwrap().get();
    assert_eq!(run("hwthread"), 1);
    assert!(run("none") as usize >= ours);
    assert!(run("core") <= run("socket"));
}

#[test]
fn more_ranks_than_processors_are_bound_only_if_asked() {
    let ours = std::thread::available_parallelism().unwrap().get();
    let shown = ["grep", "Cpus_allowed:", "/proc/self/status"];
    let all = &lines(&[&["--bind-to", "none"], &shown[..]].concat())[0];
    let (twice, odd) = (format!("-n{}", 2 * ours), format!("-n{}", 2 * ours + 1));
    for ranks in [&twice, &odd] {
        let free = lines(&[&[ranks.as_str()], &shown[..]].concat());
        assert!(free.iter().all(|line| line == all), "{free:?}");
    }
    let bound = lines(&[&[&twice, "--bind-to", "hwthread"], &shown[..]].concat());
    assert!(ours == 1 || bound.iter().all(|line| line != all), "{bound:?}");
}

#[test]
fn the_report_shows_places_and_what_ranks_told() {
    let ended = mpirun(&["--report", "-n", "3", &rank_program(), "report"]).end();
    assert_eq!(ended.status, 0, "{}", ended.err);
    let expected = [
        "3 rank(s)",
        "CPUs:",
        "rank 0: the MPICH ABI",
        "ranks 1, 2: the MPI-5.0",
        "ranks 0-2:\n    shared memory: eager up to 8192 bytes",
        "different ABIs",
    ];
    for part in expected {
        assert!(ended.err.contains(part), "no “{part}” in:\n{}", ended.err);
    }
}

#[test]
fn an_allocation_of_several_hosts_is_told_of_once() {
    let run = |hosts: &str, words: &[&str]| {
        let ended = mpirun(words).with(|c| c.env("LSB_MCPU_HOSTS", hosts)).end();
        assert_eq!(ended.status, 0, "{}", ended.err);
        (ended.out.lines().count(), ended.err)
    };
    assert_eq!(run("localhost 3", &["echo", "x"]), (3, String::new()));
    assert_eq!(run("localhost 3", &["-n", "2", "echo", "x"]), (2, String::new()));
    assert_eq!(run("n1 3 n2 4", &["-H", "localhost", "echo", "x"]), (1, String::new()));
    let (ranks, said) = run("localhost 2 n17 4", &["-n", "4", "echo", "x"]);
    assert_eq!((ranks, said.lines().count()), (4, 1), "{said}");
    assert!(said.contains("LSF has 2 hosts") && said.contains("-H localhost:2,n17:4"), "{said}");
    let (_, said) = run("n1 three", &["echo", "x"]);
    assert!(said.contains("LSB_MCPU_HOSTS"), "{said}");
}

#[test]
fn interfaces_are_told_in_the_words_of_others() {
    for words in [&["--mca", "btl_tcp_if_include", "lo"][..], &["-iface", "lo"]] {
        let got =
            lines(&[words, &["-n", "1", "sh", "-c", "echo $FERRITE_TCP_INTERFACES"]].concat());
        assert_eq!(got, ["lo"], "{words:?}");
    }
}

#[test]
fn places_are_told_before_anything_runs() {
    let words = ["--report-bindings", "--bind-to", "hwthread", "-n", "2", "sh", "-c", "echo x >&2"];
    let ended = mpirun(&words).end();
    let said: Vec<&str> = ended.err.lines().collect();
    assert_eq!(said.len(), 4, "{}", ended.err);
    for (rank, line) in said[..2].iter().enumerate() {
        assert!(
            line.starts_with(&format!("mpirun: rank {rank} on ")) && line.contains(": CPU "),
            "{line}"
        );
    }
    let free = mpirun(&["--report-bindings", "-n", "1", "true"]).end();
    assert!(free.err.contains("CPUs (not bound: a single rank)"), "{}", free.err);
}

#[test]
fn help_and_version() {
    let help = mpirun(&["--help"]).end();
    assert_eq!((help.status, help.err.as_str()), (0, ""));
    for part in ["Run a parallel program", "Examples:", "What to run:", "Exit status:"] {
        assert!(help.out.contains(part), "no “{part}” in the help");
    }
    assert!(mpirun(&["--version"]).end().out.contains("(Ferrite MPI, "));
}

#[test]
fn settings_are_shown_with_their_origin() {
    let ended = mpirun(&["--settings"]).with(|c| c.env("FERRITE_SHM_LANES", "77")).end();
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    let line = ended.out.lines().find(|line| line.starts_with("FERRITE_SHM_LANES ")).unwrap();
    assert!(line.contains("77") && line.contains("the environment"), "{line}");
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ferrite.toml");
    std::fs::write(&file, "[shm]\nlanes = 99\n").unwrap();
    let file = file.to_str().unwrap();
    let ended = mpirun(&["--config", file, "--settings"]).end();
    let line = ended.out.lines().find(|line| line.starts_with("FERRITE_SHM_LANES ")).unwrap();
    assert!(line.contains("99") && line.contains(file), "{line}");
    let shown = lines(&["--config", file, "-n", "1", "sh", "-c", "echo $FERRITE_CONFIG"]);
    assert_eq!(shown, [file]);
}
