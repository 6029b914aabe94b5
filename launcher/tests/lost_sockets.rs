//! Ranks whose sockets were closed by what started them: they reach mpirun by its address, and are
//! the ranks that they would have been.

mod common;

use common::{Ended, finish, mpirun, rank_program, read_until};
use launch_wire::address::{Key, NoAnswer, ask};
use launch_wire::{Address, Datagram};
use std::io::Write;
use std::process::Stdio;

/// Closes both sockets, as many programs do with all files of those that they start.
const CLOSE: &str = "exec {PMI_FD}>&- {_FERRITE_CONTROL}>&-";

/// Two ranks run this script of bash, whose `$1` is the program that speaks to mpirun.
fn two_run(script: &str) -> Ended {
    mpirun(&["-n", "2", "bash", "-c", script, "bash", &rank_program()]).end()
}

fn are_both_ranks(ended: &Ended, times: usize) {
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{}", ended.out);
    for rank in ["rank 0 of 2", "rank 1 of 2"] {
        assert_eq!(ended.out.matches(rank).count(), times, "{}", ended.out);
    }
    assert_eq!(ended.out.lines().count(), 2 * times, "{}", ended.out);
}

#[test]
fn closed_sockets_are_made_up_for() {
    are_both_ranks(&two_run(&format!("{CLOSE}; $1 exchange")), 1);
    // Only one of the two: the other alone is of no use.
    are_both_ranks(&two_run("exec {_FERRITE_CONTROL}>&-; $1 exchange"), 1);
    // The shell still has them, as Python has.
    are_both_ranks(&two_run(&format!("({CLOSE}; exec $1 exchange)")), 1);
}

#[test]
fn each_host_has_an_address() {
    let script = format!("{CLOSE}; $1 exchange");
    let program = ["bash", "-c", &script, "bash", &rank_program()];
    let hosts = ["--launcher", "fork", "-H", "a:1,b:2,localhost:1", "-n", "4"];
    let ended = mpirun(&[&hosts[..], &program].concat()).end();
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{}", ended.out);
    assert!((0..4).all(|rank| ended.out.contains(&format!("rank {rank} of 4"))), "{}", ended.out);
}

#[test]
fn numbers_that_lead_elsewhere_since_are_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    let script = format!(
        "eval \"exec $PMI_FD>>{0} $_FERRITE_CONTROL>>{0}\"; $1 exchange && echo mine >&$PMI_FD",
        file.display()
    );
    are_both_ranks(&two_run(&script), 1);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine\nmine\n");
    // A stranger's socket, which stays open and hears nothing.
    let script = "exec python3 -c \"import os, socket, subprocess, sys
a, b = socket.socketpair()
number = int(os.environ['PMI_FD'])
os.dup2(b.fileno(), number)
subprocess.run([sys.argv[1], 'exchange'], pass_fds=[number], check=True)
b.close()
os.close(number)
assert a.recv(1) == b''\" $1";
    are_both_ranks(&two_run(script), 1);
}

#[test]
fn one_after_another_in_one_place() {
    let once = "$1 exchange";
    are_both_ranks(&two_run(&format!("{CLOSE}; {once}; {once}; {once}")), 3);
    are_both_ranks(&two_run(&format!("{once}; ({CLOSE}; {once}); {once}")), 3);
}

#[test]
fn a_place_is_taken_once() {
    let ended = two_run(&format!("{CLOSE}; $1 start $1 exchange"));
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert_eq!(ended.out.matches("it ended with Some(2)").count(), 2, "{}", ended.out);
    for rank in 0..2 {
        let refused = format!("this process cannot be rank {rank}: another process is connected");
        assert!(ended.err.contains(&refused), "{}", ended.err);
    }
    // The same where the first has inherited its sockets.
    let ended = two_run("$1 start $1 exchange");
    assert_eq!(ended.out.matches("it ended with Some(2)").count(), 2, "{}", ended.out);
    assert!(ended.err.contains("FERRITE_SINGLETON=1"), "{}", ended.err);
}

#[test]
fn who_called_and_dies_is_missed() {
    let ended = two_run(&format!("{CLOSE}; $1 desert; exit 0"));
    assert_ne!(ended.status, 0);
    assert!(ended.err.contains("rank 1"), "{}", ended.err);
}

#[test]
fn strangers_get_no_answer() {
    let script = "echo $_FERRITE_LAUNCHER $_FERRITE_JOB; read line; echo $line";
    let job = mpirun(&["-n", "1", "bash", "-c", script]).with(|c| c.stdin(Stdio::piped()));
    let (mut child, mark) = job.start();
    let said = read_until(child.stdout.as_mut().unwrap(), "\n");
    let (address, job) = said.trim().split_once(' ').unwrap();
    let name = Address::from_text(address).unwrap().name;
    let stranger = Datagram::bind(b"").unwrap();
    // Noise, nothing, and a question by its form, whose signature only the job can make.
    let question = [&b"FerrAsk1"[..], &[0; 4 + 16], &[7; 32]].concat();
    for bytes in [&b"noise"[..], b"", &question, &[1; 4000]] {
        stranger.send_waiting(name.as_bytes(), bytes).unwrap();
    }
    let none = ask(&name, &Key::of(job), 1).unwrap_err();
    assert!(matches!(none, NoAnswer::Refused(_)), "{none:?}");
    // That was answered, and so all that was asked before.
    assert!(stranger.receive_now(&mut [0; 4]).is_err());
    child.stdin.take().unwrap().write_all(b"goes on\n").unwrap();
    let ended = finish(child, &mark);
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (0, "goes on\n", ""));
}
