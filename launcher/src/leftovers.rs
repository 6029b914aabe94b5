//! Nothing is left behind: descendants of ranks that outlived them, and whole jobs whose mpirun was
//! itself killed.
//!
//! While mpirun lives, orphans become its children (it is a subreaper) and are found there. When it
//! is killed, the ranks and the commands that reach other hosts die with it, and a guard process looks
//! for what these had started, by a mark in the environment.

use crate::sys;
use crate::way::AGENT;
use launch_wire::address::JOB;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

/// The environment variable that marks the commands that reach other hosts. The mark of the job would tell them a
/// secret.
pub(crate) const REACHES: &str = "_FERRITE_REACHES";

/// How long killed processes may take to disappear; one in an uninterruptible system call may take
/// longer and is then left to the kernel, which has its kill noted.
const DISAPPEAR: Duration = Duration::from_secs(1);

/// How often to look again.
const LOOK: Duration = Duration::from_millis(2);

/// A process that outlives mpirun just long enough to end its job.
#[derive(Debug)]
pub(crate) struct Guard {
    pid: i32,
    /// Closed by the kernel when mpirun ends in whatever way.
    _lifeline: OwnedFd,
}

impl Guard {
    /// Starts the guard of the processes marked `job`.
    pub(crate) fn start(job: &str) -> std::io::Result<Guard> {
        let [end, lifeline] = sys::pipe(1)?;
        let raw = end.as_raw_fd();
        let commands = reaching_mark().to_owned();
        let pid = sys::fork_guard(raw, || {
            sys::new_session();
            let mut byte = [0; 1];
            while !matches!(sys::read(&end, &mut byte), Ok(Some(0)) | Err(_)) {}
            end_marked(&format!("{JOB}={job}"), &format!("{REACHES}={commands}"));
        })?;
        Ok(Guard { pid, _lifeline: lifeline })
    }

    /// Ends the guard: the job has been cleared away.
    pub(crate) fn dismiss(self) {
        sys::kill(self.pid, libc::SIGKILL);
        sys::reap_one(self.pid);
    }
}

/// What marks the commands by which this process reaches other hosts.
pub(crate) fn reaching_mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("{}.{}", std::process::id(), now.as_nanos())
    })
}

/// Kills whatever has one of the two marks in its environment, until nothing has them any more. An agent that a command
/// has started on this host notices itself that nobody gives it orders, and has a guard of its own.
fn end_marked(job: &str, command: &str) {
    let is_left = |pid: &i32| has_mark(*pid, job) || has_mark(*pid, command) && !is_agent(*pid);
    wait_until(DISAPPEAR, || {
        let marked: Vec<i32> = processes().filter(is_left).collect();
        for &pid in &marked {
            sys::kill(pid, libc::SIGKILL);
        }
        marked.is_empty()
    });
}

fn has_mark(pid: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&b| b == 0).any(|entry| entry == mark.as_bytes())
}

/// Whether it is an agent or the guard of one; what starts agents elsewhere has that word behind others.
fn is_agent(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&b| b == 0).nth(1) == Some(AGENT.as_bytes())
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Looks again and again until `done`, but not longer than `most`: the kernel tells nobody that the
/// last of several processes, some of them not our children, is gone.
fn wait_until(most: Duration, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + most;
    while !done() && Instant::now() < deadline {
        sleep(LOOK);
    }
}

/// Ends all children of this process but the guard and those of `kept`, and the children that they
/// leave to us: first by request, after `grace` by force, or as soon as somebody is in a hurry.
pub(crate) fn end_orphans(
    guard: &Guard,
    kept: &[i32],
    grace: Duration,
    is_hurried: impl Fn() -> bool,
) {
    let left = || -> Vec<i32> {
        while sys::reap().is_some() {}
        let ours = |pid: &i32| *pid != guard.pid && !kept.contains(pid);
        children().into_iter().filter(ours).collect()
    };
    let request = |signal: i32| {
        let orphans = left();
        for &pid in &orphans {
            sys::kill(pid, signal);
        }
        orphans.is_empty()
    };
    if request(libc::SIGTERM) {
        return;
    }
    wait_until(grace, || left().is_empty() || is_hurried());
    wait_until(DISAPPEAR, || request(libc::SIGKILL));
}

/// The children of this process.
fn children() -> Vec<i32> {
    let me = std::process::id();
    if let Ok(list) = fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        return list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    }
    let is_ours = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in brackets may hold blanks and brackets; the parent is the second field after.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        fields.split_whitespace().nth(1).and_then(|ppid| ppid.parse().ok()) == Some(me)
    };
    processes().filter(is_ours).collect()
}
