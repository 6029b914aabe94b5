//! Processes: ends, kills, and what keeps orphans within reach.

use super::epoll::up_to;
use super::{check, close_all_but};
use libc::{c_int, pid_t};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, set_parent_process_death_signal, setsid,
    wait, waitpid,
};
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    /// By itself, with this exit status.
    Exited(i32),
    /// Killed by a signal, with or without a core file.
    Killed {
        /// The signal.
        signal: c_int,
        /// Whether a core file was written.
        core: bool,
    },
}

/// The version of the C library, such as `2.36`.
pub(crate) fn c_library_version() -> String {
    // SAFETY: the call returns a string that lives as long as the process.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_string_lossy().into_owned()
}

/// Whether a process has a function of its own for this signal.
pub(crate) fn catches(pid: pid_t, signal: c_int) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Makes orphaned descendants children of this process rather than of init.
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Has this process killed when the process `parent` ends. Safe between fork and exec.
pub(crate) fn die_with_parent(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the request: then nobody sends the signal.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// Takes this process out of its terminal's sight.
pub(crate) fn new_session() {
    let _ = setsid();
}

/// Forks a process that runs `watch` with all descriptors closed but `keep`, and then ends.
///
/// The launcher has one thread, so the child may run any code.
pub(crate) fn fork_guard(keep: RawFd, watch: impl FnOnce()) -> io::Result<pid_t> {
    // SAFETY: the process has a single thread, so no lock can be held by one that the child lacks.
    match check(unsafe { libc::fork() })? {
        0 => {
            close_all_but(keep);
            watch();
            // SAFETY: ends the process without running the parent's exit handlers a second time.
            unsafe { libc::_exit(0) }
        }
        pid => Ok(pid),
    }
}

/// Sends a signal to one process; false when it is gone.
pub(crate) fn kill(pid: pid_t, signal: c_int) -> bool {
    let named = process(pid).zip(Signal::from_named_raw(signal));
    named.is_some_and(|(pid, signal)| kill_process(pid, signal).is_ok())
}

/// Sends a signal to all processes of the group that `pid` leads.
pub(crate) fn kill_group(pid: pid_t, signal: c_int) -> bool {
    // That of 1 would be every process.
    let named = process(pid).filter(|pid| !pid.is_init()).zip(Signal::from_named_raw(signal));
    named.is_some_and(|(pid, signal)| kill_process_group(pid, signal).is_ok())
}

/// The process with a number, if it is the number of one.
fn process(pid: pid_t) -> Option<Pid> {
    Pid::from_raw(pid.max(0))
}

/// Stops this process, as its terminal's suspend key would have.
pub(crate) fn stop_self() {
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Waits for the end of one child that has been killed.
pub(crate) fn reap_one(pid: pid_t) {
    if let Some(pid) = process(pid) {
        let _ = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
    }
}

/// Waits until the process `pid` has ended, at most as long as `limit`.
pub(crate) fn await_end(pid: pid_t, limit: Duration) {
    let open = |pid| pidfd_open(pid, PidfdFlags::empty()).ok();
    if let Some(handle) = process(pid).and_then(open) {
        let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&up_to(limit)));
    }
}

/// Whether everybody has closed the other end of a socket.
pub(crate) fn is_hung_up(socket: &OwnedFd) -> bool {
    has_news(socket, PollFlags::RDHUP)
}

/// Whether everybody who could read what is written here has gone.
pub(crate) fn is_unread(to: &OwnedFd) -> bool {
    has_news(to, PollFlags::empty())
}

/// Whether one of these events, an error or a hang-up is there now.
fn has_news(fd: &OwnedFd, events: PollFlags) -> bool {
    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(fd, events)], Some(&AT_ONCE)) == Ok(1)
}

/// Takes note of one child that has ended, if there is one.
pub(crate) fn reap() -> Option<(pid_t, End)> {
    let (pid, status) = wait(WaitOptions::NOHANG).ok().flatten()?;
    Some((pid.as_raw_pid(), end(status)))
}

/// Takes note of the child `pid` if it has ended.
pub(crate) fn reap_now(pid: pid_t) -> Option<End> {
    let (_, status) = waitpid(Some(process(pid)?), WaitOptions::NOHANG).ok().flatten()?;
    Some(end(status))
}

fn end(status: WaitStatus) -> End {
    match status.terminating_signal() {
        Some(signal) => End::Killed { signal, core: libc::WCOREDUMP(status.as_raw()) },
        None => End::Exited(status.exit_status().unwrap_or_default()),
    }
}
