//! Other processes of this host, by their numbers.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{process_vm, wait};

/// A copy of another process's descriptor (Linux 5.6), where the kernel lets this one look into that.
///
/// # Errors
/// The kernel's.
pub fn descriptor_of(pid: i32, fd: i32) -> io::Result<OwnedFd> {
    Ok(pidfd_getfd(handle_of(pid)?, fd, PidfdGetfdFlags::empty())?)
}

/// Whether the process `pid`, whose memory this one may read, has ended, so that no thread of it is in
/// a call of the kernel any more.
pub fn has_ended(pid: i32) -> bool {
    match handle_of(pid) {
        Ok(process) => {
            wait::until_readable([Some(process.as_fd())], Duration::ZERO).unwrap_or(false)
        }
        // It has ended, or the kernel knows no such handles (Linux 5.3) or forbids them.
        Err(_) => process_vm::is_gone(pid),
    }
}

/// A descriptor that stands for the process `pid`, readable once all its threads have ended.
fn handle_of(pid: i32) -> io::Result<OwnedFd> {
    if is_under_valgrind() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // What another process says of itself may be no number of a process.
    let pid = Pid::from_raw(pid.max(0)).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Calls `start` while this thread takes no signals, so that a thread started there never runs a handler.
pub fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut all = before;
    // SAFETY: both sets are ours; the kernel fills `before`.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let started = start();
    // SAFETY: the set was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    started
}

/// Whether this program runs in valgrind, which has loaded a library of its own before all others.
/// It knows no pidfd_open before 3.21 and tells the user of each one that is refused.
fn is_under_valgrind() -> bool {
    let preloaded = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    preloaded.to_string_lossy().contains("/vgpreload_")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn who_lives_is_told_from_who_has_ended_whether_its_parent_has_looked_or_not() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id() as i32;
        assert!(!has_ended(pid) && !process_vm::is_gone(pid));
        drop(child.stdin.take());
        while !has_ended(pid) {
            wait::give_way();
        }
        assert!(process_vm::is_gone(pid), "nobody has waited for it, so it has its number still");
        child.wait().unwrap();
        assert!(has_ended(pid) && process_vm::is_gone(pid));
    }
}
