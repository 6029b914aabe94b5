//! Jobs over several hosts. Most need none: `--launcher fork` lets this machine stand for all of
//! them, with everything else as it is. The rest runs in network namespaces (root), some by ssh.

mod common;

use common::{
    Ended, finish, good, marked, mpirun, rank_program, read_until, signal, wait_until,
    with_a_late_failure,
};
use std::fs;
use std::process::{Child, Command, Stdio};
use testsuite::hosts::{Hosts, LAUNCHER, skipped};

/// mpirun over hosts that are all this machine.
fn forked(hosts: &str, arguments: &[&str]) -> common::Run {
    mpirun(&[&["--launcher", "fork", "-H", hosts], arguments].concat())
}

fn run(hosts: &str, arguments: &[&str]) -> Ended {
    forked(hosts, arguments).end()
}

fn sorted(ended: &Ended) -> Vec<String> {
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{}", ended.out);
    let mut lines: Vec<String> = ended.out.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

fn one_paragraph(ended: &Ended, parts: &[&str]) {
    let own: Vec<&str> = ended.err.lines().filter(|l| l.starts_with("mpirun:")).collect();
    assert_eq!(own.len(), 1, "{}", ended.err);
    for part in parts {
        assert!(own[0].contains(part), "no “{part}” in {}", own[0]);
    }
}

/// Shapes of trees: one host below mpirun's, several, several levels, and none with ranks here.
const TREES: [(&str, &str); 4] =
    [("localhost:2,b:2", "16"), ("a,b,c,d", "16"), ("a,b,c,d", "1"), ("a,localhost,c,d,e,f", "2")];

#[test]
fn ranks_know_their_place() {
    let script = "echo $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS \
                  $OMPI_COMM_WORLD_LOCAL_RANK $OMPI_COMM_WORLD_NODE_RANK";
    let place = |options: &[&str]| {
        sorted(&run("localhost:1,b:2,c:1", &[options, &["-n", "4", "sh", "-c", script]].concat()))
    };
    assert_eq!(place(&[]), ["0 4 0 1 0 0", "1 4 0 2 0 0", "2 4 1 2 1 1", "3 4 0 1 0 0"]);
    let dealt = ["0 4 0 2 0 0", "1 4 0 1 0 0", "2 4 0 1 0 0", "3 4 1 2 1 1"];
    assert_eq!(place(&["--map-by", "node"]), dealt);
    assert_eq!(place(&["-ppn", "2"]), ["0 4 0 2 0 0", "1 4 1 2 1 1", "2 4 0 2 0 0", "3 4 1 2 1 1"]);
}

#[test]
fn hosts_and_counts_tell_how_many_ranks_there_are() {
    let ranks = |hosts: &str, options: &[&str]| {
        sorted(&run(hosts, &[options, &["echo", "x"]].concat())).len()
    };
    assert_eq!(ranks("a,b", &["-ppn", "2"]), 4);
    assert_eq!(ranks("a:5,b", &["--map-by", "ppr:2:node"]), 4);
    assert_eq!(ranks("a,b,c", &["-pernode"]), 3);
    assert_eq!(ranks("a:1,b:2", &[]), 3);
    assert_eq!(ranks("a:2,b", &["--map-by", "node"]), 3);
    assert_eq!(ranks("a,b", &[]), 1);
    assert_eq!(ranks("a:3,b:3", &["-n", "2"]), 2);
    assert_eq!(sorted(&mpirun(&["-ppn", "3", "echo", "x"]).end()).len(), 3);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("hosts");
    fs::write(&file, "b slots=2\nc slots=1\n").unwrap();
    let words = ["--launcher", "fork", "-f", file.to_str().unwrap(), "echo", "x"];
    assert_eq!(sorted(&mpirun(&words).end()).len(), 3);
}

#[test]
fn a_program_goes_on_where_the_one_before_ended() {
    let script = "echo $PMI_RANK $MPI_LOCALNRANKS";
    let words = ["-n", "1", "sh", "-c", script, ":", "-n", "1", "sh", "-c", script];
    assert_eq!(sorted(&run("a,b", &words)), ["0 1", "1 1"]);
}

#[test]
fn host_files_are_read() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("hosts");
    let words = ["--launcher", "fork", "-f", file.to_str().unwrap(), "-n", "3"];
    let words = [&words[..], &["sh", "-c", "echo $PMI_RANK $MPI_LOCALRANKID"]].concat();
    for text in ["# ours\nb:2\nc:1\n", "b slots=2 # two\nc slots = 1 max_slots=1\n"] {
        fs::write(&file, text).unwrap();
        assert_eq!(sorted(&mpirun(&words).end()), ["0 0", "1 1", "2 0"]);
    }
    fs::write(&file, "b\n\nc slots=none\n").unwrap();
    let refused = mpirun(&words).end();
    assert_eq!(refused.status, 2);
    one_paragraph(&refused, &["line 3", "“none”", file.to_str().unwrap()]);
}

#[test]
fn cards_are_exchanged_between_hosts() {
    let rank = rank_program();
    for (hosts, fanout) in TREES {
        let got = sorted(&run(hosts, &["--fanout", fanout, "-n", "7", &rank, "exchange"]));
        assert_eq!(got.len(), 7, "{got:?}");
        assert!(got[6].starts_with("rank 6 of 7 app Some(0)"), "{got:?}");
    }
    let two = format!("{rank} exchange && {rank} exchange");
    assert_eq!(sorted(&run("a,b", &["-n", "4", "sh", "-c", &two])).len(), 8);
}

#[test]
fn programs_have_hosts_directories_and_variables_of_their_own() {
    let script = "echo $PMI_RANK $MPI_LOCALRANKID $X $(pwd)";
    let words = ["-n", "2", "-env", "X", "1 µ", "-wdir", "/", "sh", "-c", script];
    let more = [":", "-H", "c", "-n", "1", "-env", "X", "2", "-wdir", "/proc", "sh", "-c", script];
    let got = sorted(&run("a,b", &[&words[..], &more].concat()));
    assert_eq!(got, ["0 0 1 µ /", "1 0 1 µ /", "2 0 2 /proc"]);
}

#[test]
fn output_is_whole_and_complete() {
    let script = "seq -f \"rank $PMI_RANK line %g\" 1 20000; echo last >&2";
    for (hosts, fanout) in TREES {
        let words = ["--fanout", fanout, "-l", "-n", "6", "sh", "-c", script];
        let ended = run(hosts, &words);
        let mut next = [0; 6];
        for line in ended.out.lines() {
            let rank: usize = line[1..2].parse().unwrap();
            next[rank] += 1;
            assert_eq!(line, format!("[{rank}] rank {rank} line {}", next[rank]));
        }
        assert_eq!(next, [20_000; 6], "{hosts}: {}", ended.err);
        assert_eq!(ended.err.lines().count(), 6);
    }
}

#[test]
fn a_slow_reader_gets_everything_and_one_that_stops_ends_the_job() {
    use std::io::Read;
    let (mut child, mark) = forked("a,b", &["-n", "2", "seq", "1", "400000"]).start();
    let (mut out, mut total, mut chunk) = (child.stdout.take().unwrap(), 0, vec![0; 50_000]);
    loop {
        match out.read(&mut chunk).unwrap() {
            0 => break,
            n => total += chunk[..n].iter().filter(|&&b| b == b'\n').count(),
        }
        std::thread::yield_now();
    }
    assert_eq!((finish(child, &mark).status, total), (0, 800_000));
    let (mut child, mark) = forked("a,b", &["-n", "2", "yes"]).start();
    read_until(&mut child.stdout.take().unwrap(), "y\ny\n");
    let ended = finish(child, &mark);
    assert_eq!((ended.status, ended.err.as_str()), (128 + 13, ""));
}

#[test]
fn input_goes_to_ranks_of_other_hosts() {
    let text: String = (0..300_000).map(|i| format!("{i}\n")).collect();
    for (to, expected) in [("0", [1, 0, 0]), ("2", [0, 0, 1]), ("all", [1, 1, 1])] {
        let words = ["-s", to, "-n", "3", "sh", "-c", "echo $PMI_RANK $(wc -c)"];
        let run = forked("a,localhost,c", &words).with(|c| c.stdin(Stdio::piped()));
        let (mut child, mark) = run.start();
        let (mut stdin, copy) = (child.stdin.take().unwrap(), text.clone());
        let writer = std::thread::spawn(move || {
            std::io::Write::write_all(&mut stdin, copy.as_bytes()).unwrap();
        });
        let got = sorted(&finish(child, &mark));
        writer.join().unwrap();
        let line = |(rank, &n): (usize, &usize)| format!("{rank} {}", n * text.len());
        assert_eq!(got, expected.iter().enumerate().map(line).collect::<Vec<_>>());
    }
}

#[test]
fn the_first_failure_is_told_with_its_host() {
    for (hosts, fanout) in TREES {
        let script = "if [ $PMI_RANK = 3 ]; then exit 7; fi; sleep 3600";
        let ended = run(hosts, &["--fanout", fanout, "-n", "4", "sh", "-c", script]);
        assert_eq!(ended.status, 7, "{hosts}");
        one_paragraph(&ended, &["rank 3 on ", "(sh, pid ", "exit status 7", "The 3 other ranks"]);
        let script = "if [ $PMI_RANK = 2 ]; then kill -SEGV $$; fi; sleep 3600";
        let ended = run(hosts, &["--fanout", fanout, "-n", "4", "sh", "-c", script]);
        assert_eq!(ended.status, 128 + 11, "{hosts}");
        one_paragraph(&ended, &["rank 2 on ", "signal 11 (SIGSEGV)"]);
    }
}

#[test]
fn aborts_errors_and_deserters_across_hosts() {
    let rank = rank_program();
    let ended = run("a,b,c", &["-n", "3", &rank, "abort", "9", "the mesh is torn"]);
    assert_eq!(ended.status, 9);
    one_paragraph(&ended, &["the mesh is torn"]);
    let ended = run("a,b,c", &["-n", "3", &rank, "die", "15", "rank 1: wrong tag"]);
    assert_eq!(ended.status, 15);
    one_paragraph(&ended, &["rank 1: wrong tag"]);
    let ended = run("a,b,c", &["-n", "3", &rank, "secondary", "15", "rank 1: no memory"]);
    assert_eq!(ended.status, 15);
    one_paragraph(&ended, &["rank 1: no memory"]);
    let ended = run("a,b,c", &["-n", "3", &rank, "desert"]);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["rank 1 on b (", "MPI_Finalize"]);
    let ended = run("a,b", &["-n", "2", &rank, "exchange", ":", "-H", "c", "-n", "1", "true"]);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["rank 2 on c (true, pid ", "without calling MPI_Init"]);
    let ended = with_a_late_failure(forked("a,b,c", &["-n", "3", &rank, "exit", "6"]));
    assert_eq!(ended.status, 6);
    assert_eq!(ended.out.matches("heard 3").count(), 2, "{}", ended.out);
}

#[test]
fn a_death_counts_before_the_complaint_of_a_rank_elsewhere() {
    // Rank 1 complains at once of the death of rank 0, as a library does whose peer is gone.
    let rank = rank_program();
    let place = tempfile::tempdir().unwrap();
    for turn in 0..5 {
        let fifo = place.path().join(format!("fifo{turn}"));
        good(&Command::new("mkfifo").arg(&fifo).output().unwrap());
        let fifo = fifo.to_str().unwrap();
        let script = format!(
            "if [ $PMI_RANK = 0 ]; then exec 9>{fifo}; kill -KILL $$; fi; \
             read x <{fifo}; exec {rank} die 15 'rank 0 is gone'"
        );
        let ended = run("a,b", &["-n", "2", "sh", "-c", &script]);
        assert_eq!(ended.status, 128 + 9, "{}", ended.err);
        one_paragraph(&ended, &["rank 0 on a", "SIGKILL"]);
    }
}

#[test]
fn time_runs_out_and_hanging_ranks_tell_where() {
    let rank = rank_program();
    let ended = run("a,b", &["--timeout", "2", "-n", "2", &rank, "hang"]);
    assert_eq!(ended.status, 124);
    let part = "ranks 0, 1: in MPI_Recv from rank 1, tag 7";
    assert!(ended.err.contains(part), "no “{part}” in {}", ended.err);
    assert!(ended.err.contains("ranks 0, 1 still between MPI_Init"), "{}", ended.err);
}

#[test]
fn signals_reach_all_hosts() {
    let script = "trap 'echo got it; exit 0' USR1; echo ready; while :; do sleep 0.01; done";
    for (hosts, fanout) in TREES {
        let words = ["--fanout", fanout, "-n", "4", "sh", "-c", script];
        let (mut child, mark) = forked(hosts, &words).start();
        let mut out = child.stdout.take().unwrap();
        read_until(&mut out, &"ready\n".repeat(4));
        signal(child.id().cast_signed(), 10);
        read_until(&mut out, &"got it\n".repeat(4));
        assert_eq!(finish(child, &mark).status, 0);
    }
    let words = ["-n", "2", "sh", "-c", "echo ready; sleep 3600"];
    let (mut child, mark) = forked("a,b", &words).start();
    read_until(&mut child.stdout.take().unwrap(), "ready\nready\n");
    signal(child.id().cast_signed(), 15);
    let ended = finish(child, &mark);
    assert_eq!(ended.status, 128 + 15);
    one_paragraph(&ended, &["ended by SIGTERM"]);
}

#[test]
fn the_report_shows_every_host() {
    let rank = rank_program();
    let ended = run("a:1,b:2", &["--report", "-n", "3", &rank, "report"]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    for part in ["3 rank(s) on 2 hosts", "  a: rank 0\n", "  b: ranks 1, 2\n", "shared memory:"] {
        assert!(ended.err.contains(part), "no “{part}” in {}", ended.err);
    }
}

#[test]
fn what_a_host_cannot_do_is_refused_before_anything_runs() {
    let words = ["-n", "1", "echo", "started", ":", "-H", "b", "-n", "1", "no-such-program"];
    let ended = run("localhost", &words);
    assert_eq!((ended.status, ended.out.as_str()), (127, ""));
    one_paragraph(&ended, &["host b: ", "no-such-program"]);
    let ended = run("a,b", &["--prefix", "/no/such/prefix", "-n", "2", "echo", "started"]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""));
    one_paragraph(&ended, &["/no/such/prefix/bin/mpirun"]);
    let broken = "sh -c 'echo \"$0: no route\" >&2; exit 255'";
    let words = ["--launcher", broken, "-H", "localhost,n17", "-n", "2", "echo", "started"];
    let ended = mpirun(&words).end();
    assert_eq!((ended.status, ended.out.as_str()), (2, ""));
    one_paragraph(&ended, &["host n17 cannot be used", "exit status 255", "n17: no route"]);
}

#[test]
fn a_shell_that_talks_is_no_obstacle() {
    let talks = "sh -c 'echo welcome; echo beware >&2; shift; exec \"$@\"' sh";
    let words = ["--launcher", talks, "-H", "a,b", "-n", "2", "echo", "started"];
    let ended = mpirun(&words).end();
    assert_eq!((ended.status, ended.out.as_str()), (0, "started\nstarted\n"), "{}", ended.err);
    assert_eq!(ended.err, "beware\nbeware\n");
}

#[test]
fn nothing_secret_is_on_a_command_line_or_in_an_agents_environment() {
    let words = ["-n", "2", "-env", "PASSWORD", "s3cret", "sh", "-c", "echo ready; read x"];
    let run = forked("a,b", &words).with(|c| c.stdin(Stdio::piped()));
    let (mut child, mark) = run.start();
    read_until(child.stdout.as_mut().unwrap(), "ready\nready\n");
    for pid in marked(&mark) {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // What was typed is on mpirun's own command line, and on that of its guard.
        let typed = line.starts_with(common::MPIRUN) && line.contains(" -H ");
        assert!(typed || !line.contains("s3cret"), "{line}");
        if line.contains("--ferrite-agent") {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment);
            assert!(!environment.contains("s3cret") && !environment.contains("_FERRITE_JOB"));
        }
    }
    drop(child.stdin.take());
    finish(child, &mark);
}

/// The agents of a run, and their ranks.
fn agents(mark: &str) -> Vec<i32> {
    let is_agent = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--ferrite-agent")
    };
    // The guards are forks of the agents: they lead sessions of their own.
    let leads = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.to_string()).unwrap_or_default();
        fields.split_whitespace().nth(3).and_then(|s| s.parse().ok()) == Some(pid)
    };
    marked(mark).into_iter().filter(is_agent).filter(|&pid| !leads(pid)).collect()
}

/// Ranks that have daemons of their own and never end.
const FOR_EVER: &str = "setsid sleep 3600 >/dev/null 2>&1 & echo ready; sleep 3600";

#[test]
fn a_killed_agent_ends_the_job_and_leaves_nothing() {
    for fanout in ["16", "1"] {
        let words = ["--fanout", fanout, "-n", "3", "sh", "-c", FOR_EVER];
        let (mut child, mark) = forked("a,b,c", &words).start();
        read_until(child.stdout.as_mut().unwrap(), "ready\nready\nready\n");
        let agents = agents(&mark);
        assert_eq!(agents.len(), 3);
        signal(agents[1], 9);
        let ended = finish(child, &mark);
        assert_eq!(ended.status, 1, "{}", ended.err);
        one_paragraph(&ended, &["host ", " was lost, and rank", "killed by SIGKILL"]);
    }
}

#[test]
fn nothing_is_left_on_any_host_when_mpirun_is_killed() {
    for fanout in ["16", "1"] {
        let words = ["--fanout", fanout, "-n", "3", "sh", "-c", FOR_EVER];
        let (mut child, mark) = forked("a,b,c", &words).start();
        read_until(child.stdout.as_mut().unwrap(), "ready\nready\nready\n");
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("everything ends", || marked(&mark).is_empty());
    }
}

/// A script around the command that reaches a host, which never gets there.
#[test]
fn no_command_for_a_host_is_left_when_mpirun_is_killed() {
    let stuck = "sh -c 'sleep 3600 & wait' sh";
    let (mut child, mark) = mpirun(&["--launcher", stuck, "-H", "a,b", "-n", "2", "true"]).start();
    let asleep = || {
        let line = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        marked(&mark).iter().filter(|pid| line(pid).starts_with(b"sleep")).count()
    };
    wait_until("both commands are at work", || asleep() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("everything ends", || marked(&mark).is_empty());
}

#[test]
fn orphans_are_ended_on_all_hosts() {
    let script = "setsid sh -c 'trap \"\" TERM HUP; sleep 3600' >/dev/null 2>&1 & exit 0";
    assert_eq!(run("a,b,c", &["--fanout", "1", "-n", "3", "sh", "-c", script]).status, 0);
}

#[test]
fn a_silent_host_is_lost_in_bounded_time() {
    let words = ["-n", "2", "sh", "-c", FOR_EVER];
    let (mut child, mark) = forked("a,b", &words).start();
    read_until(child.stdout.as_mut().unwrap(), "ready\nready\n");
    // Stopped, an agent can neither speak nor obey, as behind a cable that was cut.
    let frozen = agents(&mark)[0];
    signal(frozen, 19);
    let pid = child.id().cast_signed();
    wait_until("mpirun gives up", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
    let ended = finish(child, &mark);
    assert_eq!(ended.status, 1);
    one_paragraph(&ended, &["was lost", "has not been heard of for 10 s"]);
}

#[test]
fn a_machine_or_an_mpirun_that_stood_still_has_lost_no_host() {
    let start = || {
        let words = ["-s", "all", "-n", "2", "sh", "-c", "echo ready; read x; echo $x"];
        let (mut child, mark) = forked("a,b", &words).with(|c| c.stdin(Stdio::piped())).start();
        read_until(child.stdout.as_mut().unwrap(), "ready\nready\n");
        (child, mark)
    };
    let goes_on = |mut child: Child, mark: &str| {
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"on\n").unwrap();
        drop(child.stdin.take());
        let ended = finish(child, mark);
        assert_eq!((ended.status, ended.err.as_str(), ended.out.as_str()), (0, "", "on\non\n"));
    };
    // Of the second job mpirun alone is stopped, by hand; its agents go on and are not heard.
    let ((child, mark), (alone, alone_mark)) = (start(), start());
    let (pid, agents) = (child.id().cast_signed(), agents(&mark));
    let alone_pid = alone.id().cast_signed();
    for &stopped in agents.iter().chain([&pid, &alone_pid]) {
        signal(stopped, 19);
    }
    // Longer than any silence that is borne.
    std::thread::sleep(std::time::Duration::from_secs(11));
    let turns = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
        line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()
    };
    let before = turns();
    signal(pid, 18);
    wait_until("mpirun has looked around", || turns() > before + 1);
    agents.iter().for_each(|&agent| signal(agent, 18));
    goes_on(child, &mark);
    signal(alone_pid, 18);
    goes_on(alone, &alone_mark);
}

#[test]
fn hosts_in_namespaces() {
    let Some(hosts) = Hosts::make("hosts_in_namespaces", 3, 1).unwrap() else { return };
    let script = "echo $PMI_RANK $(ip -4 -br addr show up scope global | awk '{print $3}')";
    let words = ["--launcher", LAUNCHER, "-H", &hosts.list(2), "-n", "6", "sh", "-c", script];
    let expected = [
        "0 10.77.0.1/24",
        "1 10.77.0.1/24",
        "2 10.77.0.2/24",
        "3 10.77.0.2/24",
        "4 10.77.0.3/24",
        "5 10.77.0.3/24",
    ];
    assert_eq!(sorted(&mpirun(&words).end()), expected);
    let rank = rank_program();
    let words = ["--launcher", LAUNCHER, "-H", &hosts.list(2), "-n", "6", &rank, "exchange"];
    assert_eq!(sorted(&mpirun(&words).end()).len(), 6);
}

/// A real sshd on a host's address, with keys of its own.
struct Sshd {
    process: Child,
    place: tempfile::TempDir,
}

impl Sshd {
    fn start(hosts: &Hosts, host: usize, address: &str) -> Option<Sshd> {
        const SSHD: &str = "/usr/sbin/sshd";
        if !fs::exists(SSHD).unwrap() {
            skipped("a_job_through_ssh", "there is no sshd (openssh-server)").unwrap();
            return None;
        }
        fs::create_dir_all("/run/sshd").unwrap();
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str| place.path().join(name).to_str().unwrap().to_string();
        for name in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            good(
                &keygen
                    .args(["-q", "-t", "ed25519", "-N", "", "-f", &file(name)])
                    .output()
                    .unwrap(),
            );
        }
        let text = format!(
            "ListenAddress {address}\nPort 2222\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\n",
            file("host"),
            file("user.pub")
        );
        fs::write(file("config"), text).unwrap();
        let mut sshd = Command::new("ip");
        sshd.args(["netns", "exec", hosts.name(host), SSHD, "-D", "-e", "-f", &file("config")]);
        let mut process = sshd.stderr(Stdio::piped()).spawn().unwrap();
        read_until(process.stderr.as_mut().unwrap(), "Server listening");
        Some(Sshd { process, place })
    }

    /// ssh as seen from the first host.
    fn command(&self, hosts: &Hosts) -> String {
        let key = self.place.path().join("user");
        format!(
            "ip netns exec {} ssh -p 2222 -i {} -o BatchMode=yes -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o HostName=10.77.0.2",
            hosts.name(0),
            key.display()
        )
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_job_through_ssh() {
    let Some(hosts) = Hosts::make("a_job_through_ssh", 2, 1).unwrap() else { return };
    let Some(sshd) = Sshd::start(&hosts, 1, "10.77.0.2") else { return };
    let ssh = sshd.command(&hosts);
    let over = |arguments: &[&str]| {
        mpirun(&[&["--launcher", &ssh, "-H", "localhost:1,10.77.0.2:2"], arguments].concat())
    };
    let rank = rank_program();
    assert_eq!(sorted(&over(&["-n", "3", &rank, "exchange"]).end()).len(), 3);
    let script = "echo $PMI_RANK \"$X\" $(pwd) $(wc -l)";
    let words = ["-s", "2", "-n", "3", "-wdir", "/", "-env", "X", "a 'b\" $c", "sh", "-c", script];
    let got = sorted(&over(&words).with(|c| c.stdin(Stdio::null())).end());
    assert_eq!(got, ["0 a 'b\" $c / 0", "1 a 'b\" $c / 0", "2 a 'b\" $c / 0"]);
    // Ranks are told by which of its addresses their host was reached, whatever its name.
    let show = ["-n", "3", "sh", "-c", "echo $PMI_RANK $_FERRITE_ROUTE"];
    let named = ["--launcher", &ssh, "-H", "localhost:1,far:2"];
    assert_eq!(
        sorted(&mpirun(&[&named[..], &show].concat()).end()),
        ["0", "1 10.77.0.2", "2 10.77.0.2"]
    );
    let ended = over(&["-n", "3", "sh", "-c", "[ $PMI_RANK = 2 ] && exit 5; sleep 3600"]).end();
    assert_eq!(ended.status, 5);
    one_paragraph(&ended, &["rank 2 on 10.77.0.2 (sh, pid ", "exit status 5"]);
    // A cable that is cut makes no connection end: only the silence tells.
    let (mut child, mark) = over(&["-n", "3", "sh", "-c", FOR_EVER]).start();
    read_until(child.stdout.as_mut().unwrap(), "ready\nready\nready\n");
    hosts.cut(1, 0).unwrap();
    let mut err = child.stderr.take().unwrap();
    let told = read_until(&mut err, "was ended.\n");
    assert!(told.contains("host 10.77.0.2 was lost, and ranks 1, 2 with it"), "{told}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    wait_until("the other host gives up too", || marked(&mark).is_empty());
    // A command that cannot reach its host.
    let ended = over(&["-n", "3", "true"]).end();
    assert_eq!(ended.status, 2);
    one_paragraph(&ended, &["host 10.77.0.2 cannot be used", "exit status 255"]);
}
