//! Signals as something to read: blocked, and taken from a descriptor in the event loop.

use super::check;
use libc::c_int;
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Signals that the ranks get when mpirun gets them.
const FORWARDED: [c_int; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGURG,
];

/// The blocked signals, and the mask that was in force before, which the ranks get back.
#[derive(Debug)]
pub(crate) struct Signals {
    fd: OwnedFd,
    old: libc::sigset_t,
}

impl Signals {
    /// Blocks SIGCHLD and what is to be forwarded, and opens the descriptor to read them from. Where SIGCHLD was
    /// ignored when mpirun was started, the kernel would tell nobody how ranks have ended, so that ends here. Who
    /// was started by nohup ignores SIGHUP, and so do the ranks: that stays as it is, since a signal
    /// that is blocked would be heard all the same.
    pub(crate) fn take_over() -> io::Result<Signals> {
        // SAFETY: the default action is no function of ours; sigset_t is plain data; the calls initialise
        // `set` before it is read, and write only into the two sets.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let (mut set, mut old): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGCHLD);
            for signal in FORWARDED {
                if signal != libc::SIGHUP || !is_ignored(signal)? {
                    libc::sigaddset(&mut set, signal);
                }
            }
            check(libc::sigprocmask(libc::SIG_BLOCK, &set, &mut old))?;
            let fd = check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
            Ok(Signals { fd: OwnedFd::from_raw_fd(fd), old })
        }
    }

    /// The mask of before.
    pub(crate) fn old_mask(&self) -> libc::sigset_t {
        self.old
    }

    /// The next signal that has come, if one has.
    pub(crate) fn next(&self) -> Option<c_int> {
        const { assert!(offset_of!(libc::signalfd_siginfo, ssi_signo) == 0) };
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        let n = rustix::io::read(&self.fd, &mut record).ok()?;
        let number = record.first_chunk().filter(|_| n == record.len())?;
        Some(c_int::from_ne_bytes(*number))
    }
}

/// For polling.
impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether this process ignores a signal.
fn is_ignored(signal: c_int) -> io::Result<bool> {
    // SAFETY: an all-zero sigaction is valid; the call only writes into it.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        check(libc::sigaction(signal, std::ptr::null(), &mut action))?;
        Ok(action.sa_sigaction == libc::SIG_IGN)
    }
}

/// The name of a signal, such as `SIGKILL`.
pub(crate) fn signal_name(signal: c_int) -> String {
    const NAMES: [(c_int, &str); 22] = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGVTALRM, "SIGVTALRM"),
        (libc::SIGPROF, "SIGPROF"),
        (libc::SIGIO, "SIGIO"),
        (libc::SIGSYS, "SIGSYS"),
        (libc::SIGSTKFLT, "SIGSTKFLT"),
    ];
    let name = NAMES.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name);
    name.map_or_else(|| format!("signal {signal}"), str::to_string)
}
