//! Processes: ends, kills, and what keeps orphans within reach.

use super::{check, close_all_but};
use libc::{c_int, pid_t};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    // SAFETY: prctl with plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Has this process killed when the process `parent` ends. Safe between fork and exec.
pub(crate) fn die_with_parent(parent: pid_t) -> io::Result<()> {
    // SAFETY: prctl and getppid with plain numbers.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
        // The parent may have ended before the request: then nobody sends the signal.
        if libc::getppid() != parent { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

/// Takes this process out of its terminal's sight.
pub(crate) fn new_session() {
    // SAFETY: no memory is touched.
    unsafe { libc::setsid() };
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
    // SAFETY: plain numbers; a positive pid names one process.
    pid > 0 && unsafe { libc::kill(pid, signal) } == 0
}

/// Sends a signal to all processes of the group that `pid` leads.
pub(crate) fn kill_group(pid: pid_t, signal: c_int) -> bool {
    pid > 1 && unsafe_kill_group(pid, signal)
}

fn unsafe_kill_group(pid: pid_t, signal: c_int) -> bool {
    // SAFETY: plain numbers; the caller has checked that this is not "every process".
    unsafe { libc::kill(-pid, signal) == 0 }
}

/// Stops this process, as its terminal's suspend key would have.
pub(crate) fn stop_self() {
    // SAFETY: plain numbers.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Waits for the end of one child that has been killed.
pub(crate) fn reap_one(pid: pid_t) {
    // SAFETY: no status is asked for, so no memory is touched.
    while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// Waits until the process `pid` has ended, at most as long as `limit`.
pub(crate) fn await_end(pid: pid_t, limit: Duration) {
    // SAFETY: plain numbers; the new descriptor is owned below.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let Ok(fd) = check(fd as c_int) else { return };
    // SAFETY: the descriptor is new and belongs to nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = c_int::try_from(limit.as_millis()).unwrap_or(c_int::MAX);
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&mut poll, 1, milliseconds) };
}

/// Whether everybody has closed the other end of a socket.
pub(crate) fn is_hung_up(socket: &OwnedFd) -> bool {
    has_news(socket, libc::POLLRDHUP)
}

/// Whether everybody who could read what is written here has gone.
pub(crate) fn is_unread(to: &OwnedFd) -> bool {
    has_news(to, 0)
}

/// Whether one of these events, an error or a hang-up is there now.
fn has_news(fd: &OwnedFd, events: libc::c_short) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&mut poll, 1, 0) == 1 }
}

/// Takes note of one child that has ended, if there is one.
pub(crate) fn reap() -> Option<(pid_t, End)> {
    reap_any_of(-1)
}

/// Takes note of the child `pid` if it has ended.
pub(crate) fn reap_now(pid: pid_t) -> Option<End> {
    reap_any_of(pid).map(|(_, end)| end)
}

fn reap_any_of(which: pid_t) -> Option<(pid_t, End)> {
    let mut status = 0;
    // SAFETY: `status` is valid for writing.
    let pid = unsafe { libc::waitpid(which, &mut status, libc::WNOHANG) };
    if pid <= 0 {
        return None;
    }
    let end = if libc::WIFSIGNALED(status) {
        End::Killed { signal: libc::WTERMSIG(status), core: libc::WCOREDUMP(status) }
    } else {
        End::Exited(libc::WEXITSTATUS(status))
    };
    Some((pid, end))
}
